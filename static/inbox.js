// The inbox: the next row gets the focus after an action.
(() => {
  const rows = () => [...document.querySelectorAll("main [data-row]")].filter(r => r.offsetParent);
  const store = {
    get: k => { try { return sessionStorage.getItem(k); } catch { return null; } },
    set: (k, v) => { try { v ? sessionStorage.setItem(k, v) : sessionStorage.removeItem(k); } catch { /* private windows */ } },
  };
  addEventListener("submit", e => {
    const row = e.target.closest("[data-row]");
    if (!row) return;
    // The row itself is removed; try the following ones first, then the preceding ones.
    const list = rows(), at = list.indexOf(row);
    store.set("focus", [...list.slice(at + 1), ...list.slice(0, at).reverse()].map(r => r.id).slice(0, 30).join(" "));
  }, true);

  const refocus = () => {
    const next = store.get("focus");
    store.set("focus", "");
    if (next === null) return;
    const row = next.split(" ").map(id => id && document.getElementById(id)).find(r => r?.offsetParent);
    (row?.querySelector("a.title") ?? document.querySelector("main"))?.focus();
  };
  document.addEventListener("taskyard:arrived", refocus);
  refocus();
})();
