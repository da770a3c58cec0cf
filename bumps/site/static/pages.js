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
      select.addEventListener("change", applyFilters);
    });
  }
  // The script that calls says which bump it is: several may be on their way at once.
  window.showOlderBump = function (html) {
    const wanted = document.currentScript.dataset.bump;
    const opening = Array.from(document.querySelectorAll("details.older")).find((each) => each.dataset.bump === wanted);
    const holder = document.createElement("div");
    // Written by the publisher from an autoescaped template.
    holder.innerHTML = html;
    opening.append(holder);
    holder.querySelectorAll("table.sortable").forEach(makeSortable);
    applyFilters();
  };
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
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  fillFilters();
})();
