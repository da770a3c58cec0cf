"use strict";
// Sorting and filtering of the tables, and older bumps on demand.
(function () {
  function valueOf(row, column) {
    const cell = row.cells[column];
    const value = cell.dataset.value;
    if (value === undefined) return cell.textContent.trim().toLowerCase();
    return value === "" ? null : Number(value);
  }
  function compare(a, b) {
    if (a === null || b === null) return (a === null) - (b === null);
    return typeof a === "number" ? a - b : a.localeCompare(b);
  }
  function makeSortable(table) {
    table.querySelectorAll("thead th").forEach(function (head, column) {
      if ("unsorted" in head.dataset) return;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", function () {
        const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
        const rows = Array.from(table.tBodies[0].rows);
        rows.sort((x, y) => direction * compare(valueOf(x, column), valueOf(y, column)));
        table.tBodies[0].append(...rows);
      });
    });
  }
  function applyFilters() {
    const wanted = Array.from(document.querySelectorAll("[data-filter]")).filter((each) => each.value);
    document.querySelectorAll("tbody tr[data-workload]").forEach(function (row) {
      row.hidden = wanted.some((each) => each.dataset.filter in row.dataset && row.dataset[each.dataset.filter] !== each.value);
    });
  }
  function fillFilters() {
    document.querySelectorAll("select[data-filter]").forEach(function (select) {
      const name = select.dataset.filter;
      const known = new Set(Array.from(select.options, (option) => option.value));
      const found = new Set(Array.from(document.querySelectorAll("tr[data-workload]"), (row) => row.dataset[name] || ""));
      Array.from(found).sort().forEach(function (value) {
        if (known.has(value)) return;
        const option = document.createElement("option");
        option.textContent = option.value = value;
        select.append(option);
      });
    });
  }
  // A link to a row of an older bump opens that bump; when its rows are there, the browser is sent to the row again.
  function reveal() {
    const wanted = location.hash.slice(1);
    const details = Array.from(document.querySelectorAll("details.older")).find((each) => each.dataset.bump === wanted.split("-")[0]);
    if (details && wanted.includes("-")) details.open = true;
  }
  // The script that calls says which bump it is: several may be on their way at once.
  window.showOlderBump = function (html) {
    const wanted = document.currentScript.dataset.bump;
    const opening = Array.from(document.querySelectorAll("details.older")).find((each) => each.dataset.bump === wanted);
    const holder = document.createElement("div");
    // Written by the publisher from an autoescaped template.
    holder.innerHTML = html;
    opening.append(holder);
    makeReady(holder);
    fillFilters();
    applyFilters();
    if (location.hash.startsWith("#" + wanted + "-")) location.replace(location.hash);
  };
  // The largest changes of a table as ratios with their intervals, what the filters hide left out.
  const CHARTED = 30;
  function showForest(button) {
    const scroll = button.parentElement.nextElementSibling;
    const before = button.parentElement.querySelector(".chart");
    button.setAttribute("aria-expanded", String(!before));
    if (before) return before.remove();
    const rows = Array.from(scroll.querySelectorAll("tbody tr")).filter((row) => !row.hidden && row.cells[4].dataset.high);
    const points = rows.map(function (row) {
      return { name: row.cells[1].textContent + " " + row.cells[2].firstChild.textContent.trim(), verdict: row.dataset.verdict,
        ratio: Number(row.cells[3].dataset.value), low: Number(row.cells[4].dataset.value), high: Number(row.cells[4].dataset.high) };
    });
    points.sort((a, b) => Math.abs(Math.log(b.ratio)) - Math.abs(Math.log(a.ratio)));
    const shown = points.slice(0, CHARTED).reverse();
    const chart = document.createElement("div");
    chart.className = "chart forest-chart";
    button.parentElement.append(chart);
    const { colour, text, draw } = window.bumpsChart;
    const inks = { regressed: "worse", improved: "better", ambiguous: "unsure" };
    const symbols = { regressed: "triangle-up", improved: "triangle-down", ambiguous: "diamond" };
    // Names may be alike when they are cut: the position tells rows apart. A phone has no room beside the points.
    const narrow = window.innerWidth < 640;
    const label = (name) => text(name.length > 60 ? "…" + name.slice(narrow ? -45 : -60) : name);
    const trace = {
      mode: "markers", x: shown.map((point) => point.ratio), y: shown.map((point, position) => position), hoverinfo: "text",
      text: shown.map((point) => text(point.name) + ": ×" + point.ratio.toFixed(3) + ", " + point.verdict),
      marker: { size: 9, color: shown.map((point) => colour(inks[point.verdict] || "soft")), symbol: shown.map((point) => symbols[point.verdict] || "circle") },
      error_x: { type: "data", symmetric: false, thickness: 1.5, color: colour("soft"),
        array: shown.map((point) => point.high - point.ratio), arrayminus: shown.map((point) => point.ratio - point.low) },
    };
    draw(chart, [trace], {
      height: 110 + (narrow ? 36 : 22) * shown.length, showlegend: false, margin: { t: 20, r: 20, b: 50, l: 20 },
      xaxis: { title: { text: "new/old, with interval" }, type: "log", tickformat: ".3~r", nticks: 8 },
      yaxis: { tickvals: shown.map((point, position) => position), ticktext: shown.map((point) => label(point.name)),
        range: [-1, shown.length], ticklabelposition: narrow ? "inside top" : "outside", tickfont: { size: 12 } },
      shapes: [{ type: "line", x0: 1, x1: 1, yref: "paper", y0: 0, y1: 1, line: { color: colour("ink"), width: 1 } }],
    }, "Ratios new/old with their intervals of the " + shown.length + " largest changes. The table below has the same figures.");
  }
  function makeReady(root) {
    root.querySelectorAll("table.sortable").forEach(makeSortable);
    root.querySelectorAll("button.forest").forEach((button) => button.addEventListener("click", () => showForest(button)));
  }
  document.querySelectorAll("details.older").forEach(function (details) {
    details.addEventListener("toggle", function () {
      if (!details.open || details.dataset.loaded) return;
      details.dataset.loaded = "yes";
      const script = document.createElement("script");
      script.dataset.bump = details.dataset.bump;
      script.src = "bumps-older/" + details.dataset.bump + ".js";
      script.addEventListener("error", () => details.append("This bump's table is missing."));
      document.head.append(script);
    });
  });
  makeReady(document);
  fillFilters();
  document.querySelectorAll("select[data-filter]").forEach((select) => select.addEventListener("change", applyFilters));
  window.addEventListener("hashchange", reveal);
  reveal();
})();
