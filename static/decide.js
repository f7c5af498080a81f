// A panel that opens for typing takes the focus into its first field.
document.addEventListener("toggle", e => {
  if (!e.target.matches?.("details[data-panel]") || e.newState !== "open") return;
  const at = document.activeElement; // somebody may be typing there by now
  if (!e.target.contains(at) || at.localName === "summary") e.target.querySelector("textarea, input:not([type=hidden])")?.focus();
}, true);
// Escape closes it again.
document.addEventListener("keydown", e => {
  const open = e.key === "Escape" && document.querySelector("details[data-panel][open]");
  if (open) { open.open = false; open.querySelector("summary").focus(); }
});
