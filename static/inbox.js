// The inbox: the next row gets the focus after an act, half-written answers outlive the page.
(() => {
  const rows = () => [...document.querySelectorAll("main [data-row]")].filter(r => r.offsetParent);
  const store = {
    get: k => { try { return sessionStorage.getItem(k); } catch { return null; } },
    set: (k, v) => { try { v ? sessionStorage.setItem(k, v) : sessionStorage.removeItem(k); } catch { /* private windows */ } },
  };
  const draft = el => `draft:${el.id}`;
  document.addEventListener("input", e => { if (e.target.matches("[data-draft]")) store.set(draft(e.target), e.target.value); });
  document.addEventListener("submit", e => {
    const own = e.target.querySelector("[data-draft]"), row = e.target.closest("[data-row]");
    if (own) store.set(draft(own), "");
    if (!row) return;
    // The row itself goes; the ones after it are tried first, then those before.
    const list = rows(), at = list.indexOf(row);
    store.set("focus", [...list.slice(at + 1), ...list.slice(0, at).reverse()].map(r => r.id).slice(0, 30).join(" "));
  });

  for (const el of document.querySelectorAll("[data-draft]")) {
    const text = store.get(draft(el));
    if (text && !el.value) el.value = text;
  }
  const next = store.get("focus");
  store.set("focus", "");
  if (next !== null) {
    const row = next.split(" ").map(id => id && document.getElementById(id)).find(r => r?.offsetParent);
    (row?.querySelector("a.title") ?? document.querySelector("main"))?.focus();
  }
})();
