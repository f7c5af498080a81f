// What was decided just now can be undone until data-until: z presses the button, and the toast goes when it is over.
(() => {
  const offset = Number(document.documentElement.dataset.now || Date.now()) - Date.now();
  const toast = document.querySelector(".toast[data-until]");
  if (!toast) return;
  const tick = () => {
    const left = Math.ceil((Number(toast.dataset.until) - Date.now() - offset) / 1000);
    if (left <= 0) { toast.remove(); clearInterval(timer); return; }
    toast.querySelector("[data-left]").textContent = `Undo (${left} s)`;
  };
  const timer = setInterval(tick, 250);
  tick();
  document.addEventListener("keydown", e => {
    if (e.key !== "z" || e.metaKey || e.ctrlKey || e.altKey || e.target.closest?.("input:not([type=checkbox]),textarea,select")) return;
    const b = document.querySelector("[data-undo-decision]");
    if (b) { e.stopImmediatePropagation(); b.click(); }
  }, true);
})();
