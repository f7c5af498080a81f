// Boards and lists of tasks: actions without leaving the page, selection, the hand-over dialog, focus. Every action is
// a form of the page. Its answer is the page that the form leads to, of which only the changes are used.
(() => {
  const q = (s, r = document) => r.querySelector(s);
  const all = (s, r = document) => [...r.querySelectorAll(s)];
  const area = () => q("[data-rows]");
  const say = text => { const s = q("#said"); if (s) s.textContent = text; };
  const taskyard = window.taskyard;

  // If a change removes the focused element, the focus stays in its row: on the same control, or else on the row's
  // link; if the row is removed, it moves to the next. It is never taken from another element, because answers and the
  // close event of a dialog may be late.
  const controls = ["[data-key-up]", "[data-key-down]", "[data-pick]", "summary"];
  const marked = id => {
    const at = document.activeElement, row = id ? document.getElementById(id) : at?.closest?.("[data-row]");
    if (!row) return null;
    const list = all("[data-row]").map(r => r.id);
    return { id: row.id, on: controls.find(s => row.contains(at) && at.matches(s)), after: list.slice(list.indexOf(row.id) + 1) };
  };
  const lost = () => { const at = document.activeElement; return !at || at === document.body || !at.checkVisibility(); };
  const refocus = mark => {
    if (!mark || q("dialog[open]") || !lost()) return;
    const row = document.getElementById(mark.id);
    const same = row && mark.on && q(mark.on, row);
    if (same?.checkVisibility()) return same.focus();
    const next = row || mark.after.map(id => document.getElementById(id)).find(Boolean);
    ((next && q(".title a, a.title", next)) || q("main h1"))?.focus();
  };

  // Selection survives live updates.
  let picked = new Set();
  const count = () => {
    const n = picked.size, whole = q("[data-pick-matching]")?.checked, box = q("[data-picked]");
    const text = whole ? "All that match" : `${n} selected`;
    if (box && box.textContent !== text) box.textContent = text;
    all("[data-pick-all]").forEach(b => { b.hidden = false; b.checked = n > 0 && n === all("[data-pick]").length; });
  };
  const restore = () => {
    const here = new Set();
    all("[data-pick]").forEach(b => { if ((b.checked = picked.has(b.value))) here.add(b.value); });
    picked = here;
    count();
  };
  document.addEventListener("change", e => {
    const b = e.target;
    if (b.matches("[data-pick-all]")) all("[data-pick]").forEach(p => { p.checked = b.checked; });
    if (!b.matches("[data-pick], [data-pick-all], [data-pick-matching]")) return;
    picked = new Set(all("[data-pick]:checked").map(p => p.value));
    count();
    say(b.matches("[data-pick-matching]") && b.checked ? "All that match are selected" : `${b.matches("[data-pick]") ? `#${b.value} ${b.checked ? "" : "not "}selected, ` : ""}${picked.size} in all`);
  });
  document.addEventListener("reset", e => { if (e.target.id === "bulk") setTimeout(() => { picked.clear(); count(); say("Nothing is selected"); }); });

  // Live updates keep the focus.
  let mark = null;
  document.addEventListener("htmx:beforeSwap", e => { if (e.target === area()) mark = marked(); });
  document.addEventListener("htmx:afterSwap", () => { restore(); refocus(mark); mark = null; });
  const renew = () => { if (area()) htmx.trigger(area(), "live"); };

  // take updates this page with the differences of an answered page.
  const take = (doc, id) => {
    const m = marked(id);
    for (const part of [area().id, "nav", "sum", "bulk-all"]) {
      const now = document.getElementById(part), then = doc.getElementById(part);
      if (now && then) taskyard.morph(now, then).forEach(el => htmx.process(el));
    }
    all("#toasts > .toast", doc).forEach(t => {
      all("#toasts > .toast").forEach(old => old.remove());
      q("#toasts").append(document.importNode(t, true));
    });
    restore();
    refocus(m);
  };

  const ask = async (url, body) => {
    const res = await (body ? taskyard.post(url, body, { "Taskyard-Held": taskyard.held() }) : fetch(url));
    if (new URL(res.url).pathname === `${taskyard.prefix}/login`) { location.assign(res.url); return null; }
    return { res, doc: new DOMParser().parseFromString(await res.text(), "text/html") };
  };
  const busy = new Set();
  let crossed = false; // concurrent answers may arrive in any order: the last may be outdated
  // post sends a form once, even if it is submitted again in the meantime.
  const post = async (action, body, id, refused, done) => {
    if (busy.has(action)) return;
    if (busy.size) crossed = true;
    busy.add(action);
    body.set("_key", taskyard.newKey());
    try {
      const a = await ask(action, body);
      if (!a) return;
      if (a.res.ok && a.doc.getElementById(area().id)) { q("dialog[open]")?.close(); done?.(); take(a.doc, id); return; }
      if (!refused?.(a)) taskyard.fault(a.res.status, a.res.headers.get("X-Request-Id"), a.doc);
      renew();
    } catch { taskyard.unreachable(); }
    finally {
      busy.delete(action);
      if (crossed && !busy.size) { crossed = false; renew(); }
    }
  };

  taskyard.reprioritize = (id, was, to) => {
    const body = new URLSearchParams(new FormData(q("#act")));
    body.set("change", `${was} ${to}`);
    return post(`${taskyard.prefix}/tasks/${id}/priority`, body, `t-${id}`);
  };

  // The dialog contains the inner part of the linked page.
  const dialog = () => {
    let d = q("#act-dialog");
    if (!d) {
      d = document.createElement("dialog");
      d.id = "act-dialog";
      d.setAttribute("aria-labelledby", "act-title");
      document.body.append(d);
      d.addEventListener("close", () => refocus(d.mark));
    }
    return d;
  };
  const fill = (d, doc) => {
    const part = q("[data-dialog]", doc);
    if (!part) return false;
    const h = document.createElement("h2");
    h.id = "act-title";
    h.textContent = doc.title.split(" · ")[0].replace(/^\(\d+\) /, "");
    d.replaceChildren(h, document.importNode(part, true));
    taskyard.restoreDrafts(d);
    if (!d.open) d.showModal();
    (q("[role=alert]", d) || q("[aria-invalid]", d) || (q("select", d)?.value ? q("textarea", d) : q("select", d)))?.focus();
    return true;
  };
  let asked = null;
  taskyard.handOver = async (href, row, to) => {
    const url = new URL(href, location.href), d = dialog(), mine = asked = {};
    if (to) url.searchParams.set("to", to);
    try {
      const a = await ask(url);
      if (!a || mine !== asked || q("dialog[open]")) return; // another one was requested since, or is open
      d.mark = { id: row.id, after: [] };
      if (!fill(d, a.doc)) location.assign(href);
    } catch { taskyard.toast("The server cannot be reached.", true); }
  };

  document.addEventListener("click", e => {
    if (e.target.closest("#act-dialog [data-close]")) { e.preventDefault(); dialog().close(); return; }
    const link = e.target.closest("[data-row] [data-key-move]");
    if (!link || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    link.closest("details").open = false;
    taskyard.handOver(link.href, link.closest("[data-row]"));
  });
  // Run before the guard of plain forms, because these may be sent repeatedly.
  document.addEventListener("submit", e => {
    const f = e.target, b = e.submitter;
    if (!area() || !(f.id === "act" || f.matches("#act-dialog form, form:has([data-undo])"))) return;
    e.preventDefault();
    e.stopPropagation();
    const row = b?.closest("[data-row]")?.id, d = f.closest("dialog");
    const action = b?.getAttribute("formaction") || f.getAttribute("action"), id = row || d?.mark.id || `t-${action.slice(taskyard.prefix.length).split("/")[2]}`;
    f.closest(".toast")?.remove();
    post(action, new URLSearchParams(new FormData(f, b)), id, d && (a => fill(d, a.doc)), () => taskyard.forgetDrafts(f));
  }, true);

  addEventListener("pageshow", () => { picked = new Set(all("[data-pick]:checked").map(p => p.value)); count(); });
  count();
})();
