"use strict";
// Charts on demand: plotly is loaded when the first one is asked for.
(function () {
  let loading = null;
  function load() {
    loading = loading || new Promise(function (resolve, reject) {
      const script = document.createElement("script");
      script.src = "bumps-static/plotly.min.js";
      script.addEventListener("load", resolve);
      script.addEventListener("error", () => reject(new Error("the chart library is missing")));
      document.head.append(script);
    });
    return loading;
  }
  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  }
  // What a name holds is text: plotly reads some of HTML in its labels.
  function text(value) {
    return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  }
  function draw(holder, traces, layout, description) {
    holder.setAttribute("role", "img");
    holder.setAttribute("aria-label", description);
    return load().then(function () {
      const axis = { gridcolor: colour("line"), zerolinecolor: colour("line"), automargin: true };
      return window.Plotly.newPlot(holder, traces, {
        paper_bgcolor: colour("paper"), plot_bgcolor: colour("paper"), font: { color: colour("ink"), size: 13 },
        margin: { t: 30, r: 20, b: 50, l: 60 }, legend: { orientation: "h", y: 1.12 }, ...layout,
        xaxis: { ...axis, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis },
      }, { displayModeBar: false, responsive: true });
    }, function (error) { holder.textContent = "No chart: " + error.message + "."; });
  }
  window.bumpsChart = { draw, colour, text };
})();
