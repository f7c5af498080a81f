// Keyboard shortcuts. The table in the help dialog, which the server renders, says what each key does; this script
// performs it.
(() => {
  const root = document.documentElement;
  const q = (s, r = document) => r.querySelector(s);
  const all = (s, r = document) => [...r.querySelectorAll(s)];
  const typing = el => el?.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
  // AltGr types characters; Ctrl, Alt and Cmd are for commands of the browser.
  const modified = e => (e.ctrlKey || e.altKey || e.metaKey) && !e.getModifierState?.("AltGraph");
  const composing = e => e.isComposing || e.keyCode === 229;

  // This runs before every other listener and stops single keys that are not meant as shortcuts.
  addEventListener("keydown", e => {
    if (!typing(e.target) && !modified(e) && e.key.length === 1 && e.key !== " " && (composing(e) || root.dataset.keys === "off")) e.stopImmediatePropagation();
  }, true);

  const rows = () => all("[data-row]").filter(r => r.offsetParent);
  const rowOf = el => el?.closest?.("[data-row]");
  const focusRow = step => {
    const list = rows(), at = list.findIndex(r => r.contains(document.activeElement));
    const r = list[Math.max(0, Math.min(list.length - 1, at + step))];
    if (r) (r.matches("a") ? r : q(".title a, a.title, summary.title, .tick", r) || q("a", r))?.focus();
  };
  const focusComment = step => {
    const list = all("[data-comment]").filter(r => r.offsetParent), here = document.activeElement;
    const after = list.findIndex(r => here !== document.body && (r.contains(here) || r.compareDocumentPosition(here) & Node.DOCUMENT_POSITION_PRECEDING));
    const own = list[after]?.contains(here);
    const at = step > 0 ? (after < 0 ? (here === document.body ? 0 : list.length - 1) : after + (own ? 1 : 0)) : (after < 0 ? list.length : after) - 1;
    list[Math.max(0, Math.min(list.length - 1, at))]?.focus();
  };
  const searchField = () => all("main .search input").find(i => i.offsetParent);

  const table = () => all("#keys [data-cmd]");
  const does = {
    next: () => focusRow(1), previous: () => focusRow(-1),
    search: () => { const f = searchField(); if (f) f.focus(); else taskyard.palette?.(); },
    help: () => { const d = q("#keys"); if (d && !d.open) { d.showModal(); q("h2", d).focus(); } },
    theme: () => taskyard.switchTheme(),
    nextComment: () => focusComment(1), previousComment: () => focusComment(-1),
  };
  // The keys of a row apply to the focused row.
  const target = cmd => {
    const row = rowOf(document.activeElement);
    for (const s of cmd.dataset.press.split(", ").filter(Boolean)) {
      const el = row && q(s, row) || all(s).find(e => !rowOf(e));
      if (el) return el;
    }
    return null;
  };
  const run = cmd => {
    const el = target(cmd), { href, do: name } = cmd.dataset;
    if (el) el.click();
    else if (cmd.dataset.keys === "c") taskyard.newTask(href);
    else if (href) location.assign(href);
    else if (name) does[name]?.();
    return el || href || name;
  };
  // An element of a row may declare its keys: data-key="a r".
  const ofRow = key => {
    const el = all("[data-key]", rowOf(document.activeElement) ?? document.createElement("i")).find(e => e.dataset.key.split(" ").includes(key));
    if (!el) return false;
    if (el.localName === "textarea") el.focus(); else el.click();
    if (el.localName === "summary") q("form button", el.parentElement)?.focus();
    return true;
  };

  let lead = "", since = 0; // the first key of two
  document.addEventListener("keydown", e => {
    if (composing(e) || e.defaultPrevented) return;
    if (e.key === "Escape") all("details[data-menu][open]").forEach(d => { d.open = false; q("summary", d)?.focus(); });
    if (typing(e.target)) {
      if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) e.target.form?.requestSubmit();
      return;
    }
    if (modified(e) || e.key.length !== 1 || q("dialog[open]")) return;
    // A key that is held down only repeats movement.
    if (e.repeat && !table().some(c => c.dataset.keys === e.key && /^(next|previous)$/.test(c.dataset.do))) { lead = ""; return; }
    const pressed = lead && e.timeStamp - since < 1500 ? `${lead} ${e.key}` : e.key;
    lead = "";
    if (pressed === e.key && ofRow(e.key)) { e.preventDefault(); return; }
    const cmd = table().find(c => c.dataset.keys === pressed);
    if (cmd) { if (run(cmd)) e.preventDefault(); return; }
    if (table().some(c => c.dataset.keys.startsWith(`${e.key} `))) { lead = e.key; since = e.timeStamp; }
  });

  document.addEventListener("click", e => {
    if (e.target.closest("[data-help]")) does.help();
    const d = e.target.closest("dialog");
    if (d && (e.target === d && d.matches("#keys, #palette") || e.target.closest("#keys [data-close]"))) d.close();
  });
  const mac = /mac|iphone|ipad/i.test(navigator.userAgentData?.platform ?? navigator.platform);
  if (mac) all("[data-mod]").forEach(k => { k.textContent = "⌘K"; });
  window.taskyard.commands = { table, target, run };
})();
