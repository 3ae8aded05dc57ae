// The text of [data-tip] under the pointer, or under a finger.
"use strict";
(() => {
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.className = "fc-tip";
  document.body.append(tip);

  function show(event) {
    const spot = event.target.closest?.("[data-tip]");
    tip.style.display = spot ? "block" : "none";
    if (!spot) return;
    tip.textContent = spot.dataset.tip;
    const { width, height } = tip.getBoundingClientRect();
    const fits = event.clientX + 14 + width < innerWidth;
    tip.style.left = `${Math.max(4, fits ? event.clientX + 14 : event.clientX - 14 - width)}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - height - 4))}px`;
  }
  for (const kind of ["pointermove", "pointerdown"]) document.addEventListener(kind, show);
  document.addEventListener("scroll", () => (tip.style.display = "none"), true);
})();
