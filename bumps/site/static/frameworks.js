"use strict";
// Any release of one framework beside any of the other: bumps/site/beside.py writes the figures and has the formulas.
(function () {
  const form = document.getElementById("choose");
  if (!form) return;
  const setting = JSON.parse(document.getElementById("setting").textContent);
  const table = document.getElementById("beside");
  const status = document.getElementById("beside-status");
  const chart = document.getElementById("history");
  const FRAMEWORKS = ["torch", "jax"];
  const FIELDS = ["workload", "mode", "pass", "precision", "size"];
  // What an interval is too wide for to be read as one: two or three processes cannot say how much they spread.
  const WIDEST = 100;
  const TOO_FEW = "too few processes";
  const places = new Map();
  const wanted = new URLSearchParams(location.hash.slice(1));
  let data = null;
  let opener = null;

  function quantile(freedom) {
    const known = setting.quantiles;
    return known[Math.min(Math.max(Math.floor(freedom), 1), known.length) - 1];
  }
  function compare(torch, jax) {
    const shift = jax.centre - torch.centre;
    if (torch.freedom <= 0 || jax.freedom <= 0) return { ratio: Math.exp(shift), low: null, high: null };
    const variance = torch.error ** 2 + jax.error ** 2;
    const freedom = variance ? variance ** 2 / (torch.error ** 4 / torch.freedom + jax.error ** 4 / jax.freedom) : 1;
    const half = quantile(freedom) * Math.sqrt(variance);
    return { ratio: Math.exp(shift), low: Math.exp(shift - half), high: Math.exp(shift + half) };
  }
  function within(figure) {
    const half = quantile(figure.freedom) * figure.error;
    return figure.freedom > 0 ? [Math.exp(figure.centre - half), Math.exp(figure.centre + half)] : null;
  }
  function isWide([low, high]) {
    return !(high / low <= WIDEST);
  }
  function seconds(value) {
    const [scale, unit] = value < 1e-6 ? [1e9, "ns"] : value < 1e-3 ? [1e6, "μs"] : value < 1 ? [1e3, "ms"] : [1, "s"];
    return (value * scale).toPrecision(3) + " " + unit;
  }
  function element(name, content, attributes) {
    const made = document.createElement(name);
    if (content !== undefined) made.append(content);
    Object.entries(attributes || {}).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  }
  function fill(select, values, chosen) {
    select.replaceChildren(...values.map(([value, label]) => element("option", label, { value })));
    if (values.some(([value]) => value === chosen)) select.value = chosen;
  }
  function figures(framework, release) {
    const found = new Map();
    const position = data.releases[framework].indexOf(release);
    (data.figures[framework][position] || []).forEach(function ([step, centre, error, freedom, peak, flags]) {
      found.set(step, { centre, error, freedom, peak, flags: flags.map((flag) => data.flags[flag]) });
    });
    return found;
  }
  function numberCell(name, text, value) {
    return element("td", text, { class: "number", "data-name": name, "data-value": value === null ? "" : value });
  }
  function timeCell(name, figure, isWinner) {
    if (!figure) return numberCell(name, "–", null);
    const cell = numberCell(name, "", Math.exp(figure.centre));
    cell.classList.add("time");
    cell.append(element(isWinner ? "strong" : "span", seconds(Math.exp(figure.centre))));
    const interval = within(figure);
    if (interval) cell.append(" ", element("span", isWide(interval) ? TOO_FEW : interval.map(seconds).join(" – "), { class: "interval" }));
    figure.flags.forEach(function (flag) {
      const meaning = setting.flags[flag] || flag;
      cell.append(" ", element("span", flag, { class: "flag", tabindex: "0", title: meaning, "aria-label": flag + ": " + meaning }));
    });
    return cell;
  }
  function row(number, torch, jax, counts) {
    const [workload, mode, pass, precision, size, others, flops] = data.steps[number];
    const found = torch && jax ? compare(torch, jax) : { ratio: null, low: null, high: null };
    const winner = found.low === null ? null : found.low > 1 ? "torch" : found.high < 1 ? "jax" : null;
    counts[winner || (found.ratio === null ? "alone" : "unclear")] += 1;
    const made = element("tr");
    made.append(element("th", workload, { scope: "row" }), element("td", mode), element("td", pass), element("td", precision),
      element("td", [size, others].filter(Boolean).join(", ")), timeCell("torch", torch, winner === "torch"), timeCell("jax", jax, winner === "jax"),
      numberCell("jax/torch", found.ratio === null ? "–" : "×" + found.ratio.toFixed(3), found.ratio),
      numberCell("interval", found.low === null ? "–" : isWide([found.low, found.high]) ? TOO_FEW : found.low.toFixed(3) + "–" + found.high.toFixed(3), found.low),
      element("td", winner || (found.ratio === null ? "–" : "not clear"), { "data-name": "faster" }));
    [torch, jax].forEach(function (figure, position) {
      const rate = figure && flops ? flops / Math.exp(figure.centre) : null;
      made.append(numberCell("TFLOP/s " + FRAMEWORKS[position], rate === null ? "–" : String(Number((rate / 1e12).toPrecision(3))), rate));
      const share = rate !== null && figure.peak ? rate / figure.peak : null;
      made.append(numberCell("of peak " + FRAMEWORKS[position], share === null ? "–" : (100 * share).toFixed(1) + " %", share));
    });
    if (chart) {
      const name = [workload, mode, pass, precision, size, others].filter(Boolean).join(", ");
      const button = element("button", "Chart", { type: "button", "aria-label": "Chart over the releases: " + name });
      button.addEventListener("click", function () {
        opener = button;
        showHistory(number, name);
      });
      made.append(element("td", button));
    }
    return made;
  }
  function show() {
    const shown = { torch: figures("torch", form.elements.torch.value), jax: figures("jax", form.elements.jax.value) };
    const counts = { torch: 0, jax: 0, unclear: 0, alone: 0 };
    // Of several versions of a benchmark the newest that both have, else the newest that one has: the newest come first.
    const chosen = new Map();
    data.steps.forEach(function (step, number) {
      const sides = FRAMEWORKS.map((name) => shown[name].get(number));
      if (!sides.some(Boolean)) return;
      if (FIELDS.some((field, position) => form.elements[field].value && form.elements[field].value !== step[position])) return;
      const name = JSON.stringify(step.slice(0, 6));
      if (!chosen.has(name) || (sides.every(Boolean) && !chosen.get(name).sides.every(Boolean))) chosen.set(name, { number, sides });
    });
    const rows = Array.from(chosen.values(), ({ number, sides }) => row(number, ...sides, counts));
    table.tBodies[0].replaceChildren(...rows);
    table.querySelectorAll("thead th").forEach((head) => head.removeAttribute("aria-sort"));
    table.closest(".scroll").hidden = rows.length === 0;
    const releases = FRAMEWORKS.map((name) => name + " " + (form.elements[name].value || "(not measured)"));
    status.textContent = releases.join(" and ") + ": " + rows.length + " steps; torch faster in " + counts.torch +
      ", jax faster in " + counts.jax + ", not clear in " + counts.unclear + (counts.alone ? ", measured in one alone " + counts.alone : "") + ".";
    const kept = new URLSearchParams();
    ["place", ...FRAMEWORKS, ...FIELDS].forEach(function (name) {
      const select = form.elements[name];
      if (select.value) kept.set(name, name === "place" ? select.selectedOptions[0].textContent : select.value);
    });
    history.replaceState(null, "", "#" + kept);
  }
  function open(content) {
    data = content;
    const before = (name) => form.elements[name].value || wanted.get(name);
    FRAMEWORKS.forEach(function (name) {
      const newestFirst = data.releases[name].slice().reverse();
      const chosen = before(name);
      fill(form.elements[name], newestFirst.length ? newestFirst.map((release) => [release, release]) : [["", "not measured"]], chosen);
    });
    FIELDS.forEach(function (name, position) {
      const values = Array.from(new Set(data.steps.map((step) => step[position]))).filter(Boolean).sort();
      fill(form.elements[name], [["", "all"], ...values.map((value) => [value, value])], before(name));
    });
    show();
  }
  function load(place) {
    if (places.has(place)) return open(places.get(place));
    const script = document.createElement("script");
    script.src = "frameworks-data/" + place + ".js";
    script.addEventListener("error", () => { status.textContent = "The figures of this machine are missing."; });
    document.head.append(script);
  }
  window.showPlace = function (place, content) {
    places.set(String(place), content);
    if (form.elements.place.value === String(place)) open(content);
  };
  function showHistory(number, name) {
    const traces = FRAMEWORKS.map(function (framework, position) {
      const points = data.releases[framework].map(function (release, index) {
        const figure = figures(framework, release).get(number);
        const interval = figure && within(figure);
        return figure && { x: data.dates[framework][index], release, figure, interval: interval && !isWide(interval) ? interval : null };
      }).filter(Boolean);
      const dated = points.filter((point) => point.x).sort((a, b) => (a.x < b.x ? -1 : 1));
      const middle = (point) => Math.exp(point.figure.centre);
      return {
        name: framework, mode: "lines+markers", x: dated.map((point) => point.x), y: dated.map(middle),
        text: dated.map((point) => framework + " " + point.release + ": " + seconds(middle(point))), hoverinfo: "text",
        error_y: { type: "data", symmetric: false, thickness: 1,
          array: dated.map((point) => (point.interval ? point.interval[1] - middle(point) : 0)),
          arrayminus: dated.map((point) => (point.interval ? middle(point) - point.interval[0] : 0)) },
        marker: { symbol: position ? "diamond" : "circle", size: 8, color: window.bumpsChart.colour(framework) },
        line: { dash: position ? "dash" : "solid", color: window.bumpsChart.colour(framework) },
      };
    });
    chart.hidden = false;
    document.getElementById("history-title").textContent = name;
    window.bumpsChart.draw(document.getElementById("history-chart"), traces, {
      showlegend: true,
      xaxis: { title: { text: "Release date" }, type: "date" },
      yaxis: { title: { text: "Seconds a step" }, type: "log", exponentformat: "SI" },
    }, "Seconds a step over the releases of both frameworks: " + name + ". The table above has the figures of the chosen releases.");
    chart.scrollIntoView({ block: "nearest" });
    document.getElementById("history-close").focus();
  }
  if (chart) document.getElementById("history-close").addEventListener("click", function () {
    chart.hidden = true;
    opener.focus();
  });
  form.elements.place.addEventListener("change", () => load(form.elements.place.value));
  [...FRAMEWORKS, ...FIELDS].forEach((name) => form.elements[name].addEventListener("change", show));
  form.addEventListener("submit", (event) => event.preventDefault());
  const asked = Array.from(form.elements.place.options).find((option) => option.textContent === wanted.get("place"));
  if (asked) form.elements.place.value = asked.value;
  load(form.elements.place.value);
})();
