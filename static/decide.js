// A panel that opens for typing takes the focus into its first field, or into the first that is wrong.
document.addEventListener("toggle", e => {
  if (!e.target.matches?.("details[data-panel]") || e.newState !== "open") return;
  const at = document.activeElement; // somebody may be typing there by now
  if (!e.target.contains(at) || at.localName === "summary") (e.target.querySelector("[aria-invalid]") || e.target.querySelector("textarea, input:not([type=hidden])"))?.focus();
}, true);
document.addEventListener("keydown", e => {
  // Escape closes it again.
  const open = e.key === "Escape" && document.querySelector("details[data-panel][open]");
  if (open) { open.open = false; open.querySelector("summary").focus(); return; }
  if (e.metaKey || e.ctrlKey || e.altKey || e.target.closest?.("input:not([type=checkbox]),textarea,select") || document.querySelector("dialog[open]")) return;
  // Here j and k move to the next request itself: a and r decide on what is shown, never on a row that only has the focus.
  const link = { j: "[data-go-next]", k: "[data-go-prev]" }[e.key];
  if (link && document.getElementById("ap-list")) { e.stopImmediatePropagation(); document.querySelector(link)?.click(); }
}, true);
// How many runs the button will approve.
(() => {
  const words = () => document.querySelectorAll("form[data-bulk-approve]").forEach(f => {
    const n = f.querySelectorAll("input[name=run]:checked").length, b = f.querySelector("button[type=submit]");
    f.querySelector("[data-bulk-words]").textContent = `Approve ${n} read-only ${n === 1 ? "run" : "runs"}`;
    b.disabled = n === 0;
  });
  document.addEventListener("change", e => { if (e.target.closest("form[data-bulk-approve]")) words(); });
  words();
})();
