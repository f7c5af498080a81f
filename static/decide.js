// When a panel for typing opens, its first invalid field gets the focus, or else its first field.
document.addEventListener("toggle", e => {
  if (!e.target.matches?.("details[data-panel]") || e.newState !== "open") return;
  const at = document.activeElement; // the person may already be typing there
  if (!e.target.contains(at) || at.localName === "summary") (e.target.querySelector("[aria-invalid]") || e.target.querySelector("select, textarea, input:not([type=hidden])"))?.focus();
}, true);
document.addEventListener("keydown", e => {
  // Escape closes the panel.
  const open = e.key === "Escape" && document.querySelector("details[data-panel][open]");
  if (open) { open.open = false; open.querySelector("summary").focus(); return; }
  if (e.metaKey || e.ctrlKey || e.altKey || e.target.closest?.("input:not([type=checkbox]),textarea,select") || document.querySelector("dialog[open]")) return;
  // On this page, j and k open the next request: a and r decide on the displayed request, never on a row that merely
  // has the focus.
  const link = { j: "[data-go-next]", k: "[data-go-prev]" }[e.key];
  if (link && document.getElementById("ap-list")) { e.stopImmediatePropagation(); document.querySelector(link)?.click(); }
}, true);
// Show how many runs the button approves.
(() => {
  const words = () => document.querySelectorAll("form[data-bulk-approve]").forEach(f => {
    const n = f.querySelectorAll("input[name=run]:checked").length, b = f.querySelector("button[type=submit]");
    f.querySelector("[data-bulk-words]").textContent = `Approve ${n} read-only ${n === 1 ? "run" : "runs"}`;
    b.disabled = n === 0;
  });
  document.addEventListener("change", e => { if (e.target.closest("form[data-bulk-approve]")) words(); });
  words();
})();
// An approval counts only if the request was visible for 700 ms. Otherwise, a key that is held down, a double click or
// clicking through the queue would approve requests that nobody has seen.
(() => {
  const least = 700, decides = 'form[action$="/approve"], form[action$="/allow"], form[data-bulk-approve]';
  // What a form decides on: its URL and the version that was reviewed. A live update may change both.
  const subject = f => [f.getAttribute("action"), ...[...f.querySelectorAll("input[name=version], input[name=run]")].map(i => i.value)].join(" ");
  const views = new WeakMap(); // form → what it decides on, whether it is visible, and since when
  const watched = new WeakMap(); // button → its form
  const look = new IntersectionObserver(list => list.forEach(e => {
    const v = views.get(watched.get(e.target));
    if (v && v.in !== e.isIntersecting) Object.assign(v, { in: e.isIntersecting, at: performance.now() });
  }));
  const scan = () => document.querySelectorAll(decides).forEach(f => {
    const v = views.get(f), s = subject(f);
    if (v && v.subject === s) return;
    views.set(f, { subject: s, in: v?.in ?? false, at: performance.now() });
    const b = f.querySelector("button[type=submit]");
    if (b && watched.get(b) !== f) { watched.set(b, f); look.observe(b); }
  });
  const seen = f => {
    const v = views.get(f);
    return !!v && v.in && v.subject === subject(f) && !document.hidden && performance.now() - v.at >= least;
  };
  document.addEventListener("visibilitychange", () => document.querySelectorAll(decides).forEach(f => { const v = views.get(f); if (v) v.at = performance.now(); }));
  document.addEventListener("submit", e => {
    if (!e.target.matches(decides) || seen(e.target)) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    taskyard.toast?.("Nothing was decided: this request only just came into view. Look at it first.", true);
  }, true);
  new MutationObserver(scan).observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["action", "value"] });
  scan();
  Object.assign(window.taskyard ??= {}, { seen: s => { const f = document.querySelector(s); return !!f && seen(f); } });
})();
