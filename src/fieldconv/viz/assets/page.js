// Light and dark, and paper.
"use strict";
(() => {
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;

  function show() {
    const theme = chosen || (prefersDark.matches ? "dark" : "light");
    if (root.dataset.theme === theme) return;
    root.dataset.theme = theme;
    button.textContent = theme === "dark" ? "Light" : "Dark";
    window.dispatchEvent(new Event("fieldconv-theme"));
  }

  const button = document.createElement("button");
  button.type = "button";
  button.className = "fc-toggle fc-theme";
  button.title = "Show the page in light or dark colours";
  button.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    show();
  });
  document.querySelector("main").prepend(button);
  prefersDark.addEventListener("change", show);
  show();

  // Paper is light, and what is folded away would be missing on it.
  let opened = [];
  let before = null;
  window.addEventListener("beforeprint", () => {
    [before, chosen] = [chosen, "light"];
    show();
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const part of opened) part.open = true;
  });
  window.addEventListener("afterprint", () => {
    chosen = before;
    show();
    for (const part of opened) part.open = false;
  });
})();
