// Draws every [data-plot] of the page with Plotly, in one style, in the colours of the page.
"use strict";
(() => {
  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";
  const PAPER_WIDTH = 640; // pixels across a sheet of A4 without margins
  const BLUES = {
    light: [[0, "#f5f8fb"], [0.04, "#d9e8f4"], [0.5, "#6baed6"], [1, "#08306b"]],
    dark: [[0, "#222b38"], [0.04, "#2b4a66"], [0.5, "#2f78b0"], [1, "#d6ecff"]],
  };
  // All numbers of an axis have as many decimals as their distance needs: 3.0 beside 3.1.
  const DECIMALS = [0, 1, 2, 3, 4].map((places) => ({
    dtickrange: [places === 4 ? null : 0.999 * 10 ** -places, places ? 0.99 * 10 ** (1 - places) : null],
    value: places ? `.${places}f` : ",.0f",
  }));
  const places = [...document.querySelectorAll("[data-plot]")];

  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const dark = () => document.documentElement.dataset.theme === "dark";

  // Colours too dark to be seen on a dark page become lighter.
  function visible(colour) {
    const parts = /^rgb\((\d+),(\d+),(\d+)\)$/.exec(colour || "");
    if (!parts || !dark()) return colour;
    const rgb = parts.slice(1).map(Number);
    const light = (0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]) / 255;
    if (light > 0.3) return colour;
    const brighter = 225 / Math.max(...rgb, 1);
    return `rgb(${rgb.map((c) => Math.round(Math.min(255, 20 + c * brighter))).join(",")})`;
  }

  function styled(trace) {
    const own = { ...trace };
    if (own.type === "heatmap") own.colorscale = BLUES[dark() ? "dark" : "light"];
    if (own.line) own.line = { ...own.line, color: visible(own.line.color) };
    // Colours of classes stay those of the shapes; a rim shows the dark ones.
    if (own.marker && dark()) own.marker = { ...own.marker, line: { color: "rgba(255,255,255,0.5)", width: own.type === "bar" ? 1 : 0.5 } };
    return own;
  }

  function draw(place, width) {
    const { data, layout } = JSON.parse(document.getElementById(place.dataset.plot).textContent);
    const narrow = (width || place.clientWidth) < 480;
    const ink = variable("--ink");
    const axis = (own) => ({
      gridcolor: variable("--grid"),
      zerolinecolor: variable("--line"),
      linecolor: variable("--axis"),
      automargin: true,
      ...((own || {}).type ? {} : { tickformatstops: DECIMALS }),
      ...own,
      title: { standoff: 8, font: { size: 13 }, ...(own || {}).title },
    });
    const merged = {
      font: { family: FONT, size: narrow ? 12 : 13, color: ink },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 54, r: 16, t: 14, b: 46 },
      hoverlabel: { bgcolor: "#161d29", bordercolor: "#161d29", font: { family: FONT, color: "#fff" }, namelength: -1 },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 12 }, itemsizing: "constant" },
      ...layout,
      xaxis: axis(layout.xaxis),
      yaxis: axis(layout.yaxis),
      ...(width ? { width, autosize: false } : { autosize: true }),
    };
    const options = { responsive: true, displaylogo: false, displayModeBar: false, scrollZoom: false };
    const before = place.layout?.width;
    return Plotly.react(place, data.map(styled), merged, options).then(() => !width && before && Plotly.Plots.resize(place));
  }

  // Plots side by side share the width of a sheet.
  const beside = (place) => {
    const row = place.closest(".row");
    return !row || row.querySelector('.plot[style*="max-width"]') ? 1 : Math.min(2, row.childElementCount);
  };
  const drawAll = (width) => Promise.all(places.map((place) => draw(place, width && (width - 20) / beside(place))));
  window.fieldconvPlots = { ready: false };
  drawAll().then(() => {
    document.getElementById("js-plotly-tester")?.setAttribute("aria-hidden", "true"); // nothing to be read
    window.fieldconvPlots.ready = true;
  });
  window.addEventListener("fieldconv-theme", () => drawAll());
  window.addEventListener("beforeprint", () => drawAll(PAPER_WIDTH));
  window.addEventListener("afterprint", () => drawAll());
})();
