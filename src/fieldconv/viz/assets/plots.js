// Draws every [data-plot] of the page with Plotly, in one style.
"use strict";
(() => {
  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";
  const AXIS = { gridcolor: "#e6e9ed", zerolinecolor: "#cfd5dc", linecolor: "#9aa4b1", automargin: true, title: { standoff: 8, font: { size: 13 } } };

  const axis = (own) => ({ ...AXIS, ...own, title: { ...AXIS.title, ...(own || {}).title } });

  function draw(place) {
    const { data, layout } = JSON.parse(document.getElementById(place.dataset.plot).textContent);
    const narrow = place.clientWidth < 480;
    const merged = {
      font: { family: FONT, size: narrow ? 12 : 13, color: "#1a2230" },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 54, r: 16, t: 14, b: 46 },
      hoverlabel: { bgcolor: "#161d29", bordercolor: "#161d29", font: { family: FONT, color: "#fff" }, namelength: -1 },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 12 }, itemsizing: "constant" },
      ...layout,
      xaxis: axis(layout.xaxis),
      yaxis: axis(layout.yaxis),
    };
    return Plotly.newPlot(place, data, merged, { responsive: true, displaylogo: false, displayModeBar: false, scrollZoom: false });
  }

  window.fieldconvPlots = { ready: false };
  Promise.all([...document.querySelectorAll("[data-plot]")].map(draw)).then(() => (window.fieldconvPlots.ready = true));
})();
