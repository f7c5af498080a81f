// Two keys lead to a page of the navigation: g, then its letter, within a second and a half. Listens before the keys
// of a page, which know some of the same letters.
(() => {
  const pages = { i: "/", a: "/approvals", q: "/queues", t: "/tasks", h: "/history", n: "/insights", s: "/scheduler" };
  let since = -Infinity; // when g was pressed, in the time of this page
  addEventListener("keydown", e => {
    if (e.metaKey || e.ctrlKey || e.altKey || e.target.closest?.("input:not([type=checkbox]),textarea,select,[contenteditable]") || document.querySelector("dialog[open]")) return;
    const going = e.timeStamp - since < 1500, link = going && pages[e.key] && document.querySelector(`nav a[href="${pages[e.key]}"]`);
    since = e.key === "g" && !going ? e.timeStamp : -Infinity;
    if (!link) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    link.click();
  }, true);
})();
