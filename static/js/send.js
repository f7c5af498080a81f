// Forms are sent without leaving the page, and typed text survives a reload. Every form has an idempotency key: if an
// answer is lost, the form is sent again and takes effect once.
(() => {
  const { taskyard } = window;
  const wait = ms => new Promise(done => setTimeout(done, ms));
  // patience is how long to wait for an answer, in ms.
  const patience = 60000;
  const checking = "Connection lost. Checking…", away = "The server cannot be reached.";

  // newKey returns a new idempotency key.
  taskyard.newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map(b => b.toString(16).padStart(2, "0")).join("");

  // post sends a form until it is answered, and rejects after a minute without an answer.
  taskyard.post = async (url, body, headers = {}) => {
    const begin = Date.now();
    for (let pause = 500; ; pause = Math.min(pause * 2, 8000)) {
      try {
        const res = await fetch(url, { method: "POST", body, headers, signal: AbortSignal.timeout(20000) });
        // An error without a request ID comes from a proxy, not from the server.
        if (res.headers.has("X-Request-Id") || res.status < 502 || res.status > 504) { taskyard.untoast(checking); return res; }
      } catch { /* no answer, or half of one */ }
      taskyard.untoast(away);
      if (Date.now() - begin > patience) break;
      taskyard.toast(checking, true, { remedy: "What you did is sent again until the server answers. It counts once." });
      await wait(pause);
    }
    taskyard.untoast(checking);
    throw new Error("no answer");
  };
  taskyard.offline = () => taskyard.toast("You are offline. Nothing was sent, and what you typed is still here.", true);
  taskyard.unreachable = () => taskyard.toast(away, true, { remedy: "Whether it was done is not known. Do it again when the server is back: it counts once." });

  // --- drafts: typed text stays in this browser until the server has accepted it. Its key consists of the person, the
  // form, the field and a hash of the original text. data-draft="PERSON:PLACE" is for a text whose form is in several
  // places. ---
  const prefix = `draft${taskyard.prefix}:`, person = document.documentElement.dataset.user;
  const store = fn => { try { return fn(localStorage); } catch { return null; } }; // storage may be off or full
  const month = 30 * 24 * 3600 * 1000; // older drafts are removed
  const aged = s => Object.keys(s).filter(k => k.startsWith(prefix) && !(Date.now() - parseInt(s.getItem(k), 36) < month)).forEach(k => s.removeItem(k));
  const drop = which => store(s => Object.keys(s).filter(k => k.startsWith(prefix) && which(k)).forEach(k => s.removeItem(k)));
  const place = form => `${prefix}${person}:${form.getAttribute("action")}:`;
  const hash = text => { let h = 0; for (const c of text) h = Math.imul(h, 31) + c.codePointAt(0) | 0; return (h >>> 0).toString(36); };
  const own = form => person && form?.method === "post" && !form.matches("[hx-post]");
  const keeps = form => own(form) && !form.matches("[data-autosave]"); // review.js sends those
  const text = el => el.matches("textarea:not([hidden]), input:is([type=text], [type=number], [type=url], :not([type]))") && el.form.contains(el);
  const drafted = form => own(form) ? [...form.elements].filter(el => text(el) && (el.dataset.draft || keeps(form))) : [];
  const begun = new Map(); // field → original text, even after the server has shown the form again with errors
  const field = el => `${place(el.form)}${el.id.replace(/^new-/, "") || el.name}:`; // the dialog and the page of a new task share drafts
  const origin = el => begun.get(field(el)) ?? begun.set(field(el), el.defaultValue).get(field(el));
  const key = el => el.dataset.draft ? prefix + el.dataset.draft : field(el) + hash(origin(el));
  const put = (el, value) => store(s => (value === origin(el) ? s.removeItem(key(el)) : s.setItem(key(el), `${Date.now().toString(36)} ${value}`)));
  const forget = form => {
    drafted(form).forEach(el => { store(s => s.removeItem(key(el))); begun.delete(field(el)); });
    drop(k => k.startsWith(place(form)));
  };
  // offer notes that a field contains an unsaved draft, and adds a button that discards it.
  const offer = el => {
    const note = document.createElement("p"), b = document.createElement("button");
    note.className = "hint";
    note.setAttribute("role", "status");
    b.type = "button";
    b.className = "btn small";
    b.textContent = "Discard";
    note.append("Not saved: you typed this before. ", b);
    b.addEventListener("click", () => {
      el.value = el.defaultValue;
      note.remove();
      el.dispatchEvent(new Event("input", { bubbles: true }));
      el.focus();
    });
    (el.closest(".editor") ?? el).after(note);
    el.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const restore = el => {
    if (el.value !== el.defaultValue) return;
    if (!el.form.querySelector("[aria-invalid], [role=alert]")) begun.delete(field(el)); // someone else may have changed it
    if (el.dataset.restored === key(el)) return;
    el.dataset.restored = key(el);
    const draft = store(s => s.getItem(key(el)))?.replace(/^\S+ /, ""); // without its time
    if (draft === undefined || draft === el.value) return;
    el.value = draft;
    if (el.defaultValue) offer(el);
  };
  taskyard.restoreDrafts = root => (root.matches?.("form") ? [root] : root.querySelectorAll("form")).forEach(form => drafted(form).forEach(restore));
  taskyard.forgetDrafts = forget;
  document.addEventListener("input", e => { if (e.target.form && drafted(e.target.form).includes(e.target)) put(e.target, e.target.value); });

  // --- forms ---
  // busy contains the forms that are being sent. An attribute would be removed by a live update.
  let busy = new WeakSet();
  addEventListener("pageshow", () => { busy = new WeakSet(); });
  // keepFocus runs a change of the page and restores the focus: to the same element, its menu, what its data-then
  // selects, or the next control.
  const keepFocus = (change, form) => {
    const had = document.activeElement, list = [...document.querySelectorAll("main :is(a[href], button, input, select, textarea, summary)")];
    const after = list.includes(had) ? list.slice(list.indexOf(had) + 1) : [];
    // Morphing skips the focused element, so a saved field would keep its old text.
    if (had?.closest("button") || form?.contains(had) && !form.matches(".add-line, .composer")) had.blur();
    const whole = change(), now = document.activeElement;
    if (!had || had === document.body || now !== document.body && now?.checkVisibility()) return whole;
    const menu = had?.isConnected && had.closest("details:not([open])")?.querySelector("summary");
    const then = had.dataset.then && document.querySelector(had.dataset.then);
    const to = [had, menu, then, ...after].find(el => el?.isConnected && el.checkVisibility()) ?? document.querySelector("main");
    to.focus({ preventScroll: to === had });
    return whole;
  };
  const show = (doc, form) => keepFocus(() => {
    for (const part of ["main", "#nav"]) {
      const now = document.querySelector(part), then = doc.querySelector(part);
      if (!now || !then) return false;
      taskyard.morph(now, then);
      htmx.process(now);
    }
    document.title = doc.title;
    for (const name of ["theme", "density", "motion", "keys"]) { // the form may have changed these preferences
      const v = doc.documentElement.dataset[name];
      if (v === undefined) delete document.documentElement.dataset[name]; else document.documentElement.dataset[name] = v;
    }
    if (form && !form.matches(".add-line")) form.closest("details")?.removeAttribute("open"); // forms that add entries stay open
    document.querySelectorAll("#toasts > .toast").forEach(t => t.remove());
    doc.querySelectorAll("#toasts > .toast").forEach(t => document.querySelector("#toasts").append(document.importNode(t, true)));
    taskyard.restoreDrafts(document);
    return true;
  }, form);
  // arrive shows the page that the answer leads to. The current page is updated in place and keeps the focus. It returns
  // true if the browser leaves this page.
  const arrive = async (to, form) => {
    const url = new URL(to, location.href), here = url.pathname + url.search === location.pathname + location.search;
    if (url.pathname === `${taskyard.prefix}/login`) drop(() => true);
    if (!here || form.closest("dialog")) {
      location.assign(url);
      if (here && url.hash) location.reload();
      return true;
    }
    // The person may want to add more: keep the focus in the field, unless that opens an on-screen keyboard.
    const text = () => form.matches(".add-line, .composer") && form.querySelector("textarea, input:not([type=hidden])");
    const more = text() && (document.activeElement === text() || !matchMedia("(pointer: coarse)").matches);
    form.reset();
    const res = await fetch(url).catch(() => null);
    if (!res) { // the action was performed; live parts show it when the server is reachable again
      if (form.elements._key) form.elements._key.value = taskyard.newKey();
      return;
    }
    form.dataset.replace = ""; // even if the form shows errors
    if (!res.ok || !show(new DOMParser().parseFromString(await res.text(), "text/html"), form)) { location.reload(); return; }
    history.replaceState(history.state, "", url); // navigating to the hash would move the focus
    if (url.hash) document.querySelector(url.hash)?.scrollIntoView({ block: "nearest" });
    if (more && form.isConnected) text()?.focus({ preventScroll: true });
    document.dispatchEvent(new Event("taskyard:arrived"));
  };
  // refused shows the errors in place if the answer is this page with the form. It reports whether it did.
  const refused = (form, doc) => {
    if (form.closest("dialog") || !form.isConnected || ![...doc.forms].some(f => f.getAttribute("action") === form.getAttribute("action"))) return false;
    form.dataset.replace = "";
    // The server does not send passwords back.
    const body = new FormData(form);
    if (!show(doc)) return false;
    form.querySelectorAll("[type=password]:not([aria-invalid])").forEach(el => { el.value = body.get(el.name); });
    document.querySelector("main :is([aria-invalid], [role=alert][tabindex])")?.focus();
    document.dispatchEvent(new Event("taskyard:arrived"));
    return true;
  };
  const send = async (form, submitter) => {
    const action = submitter?.getAttribute("formaction") || form.getAttribute("action");
    let leaves = false;
    busy.add(form);
    form.setAttribute("aria-busy", "true");
    try {
      const res = await taskyard.post(action, new URLSearchParams(new FormData(form, submitter)), { "Taskyard-Send": "1" });
      if (res.status === 204) {
        forget(form);
        leaves = await arrive(res.headers.get("Location"), form);
      } else if (res.ok) { // the answer is a page: with a new token, or the form with another row
        if (!submitter?.formNoValidate) forget(form);
        form.dataset.replace = "";
        if (!show(new DOMParser().parseFromString(await res.text(), "text/html"))) location.reload();
        const fresh = document.querySelector("main [autofocus]"); // the token, which is shown once above its form, or the new row
        fresh?.focus();
        fresh?.scrollIntoView({ block: fresh.matches(".fresh") ? "start" : "nearest" });
        document.dispatchEvent(new Event("taskyard:arrived"));
      } else {
        const doc = new DOMParser().parseFromString(await res.text(), "text/html"), apart = res.status === 401 || res.status === 429 || res.status >= 500;
        if (!apart && refused(form, doc)) return;
        if (apart || !form.isConnected) taskyard.fault(res.status, res.headers.get("X-Request-Id"), doc); // a form that a live update removed cannot be submitted
        else {
          form.dataset.native = "1"; // the page that the form leads to shows the errors
          form.requestSubmit(submitter);
          delete form.dataset.native;
        }
      }
    } catch { taskyard.unreachable(); }
    finally {
      const over = () => { busy.delete(form); form.removeAttribute("aria-busy"); };
      if (leaves) setTimeout(over, 10000); else over(); // a double click must not load the next page twice: its message is shown once
    }
  };
  document.addEventListener("submit", e => {
    const form = e.target;
    if (form.getAttribute("action").endsWith("/logout")) { drop(() => true); return; } // the next person must not see these drafts
    if (e.defaultPrevented || !keeps(form) || form.matches("[data-native]") || e.submitter?.matches("[data-check]")) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    if (busy.has(form)) return;
    if (navigator.onLine) send(form, e.submitter); else taskyard.offline();
  });
  document.addEventListener("htmx:afterSettle", () => taskyard.restoreDrafts(document)); // a question may arrive while the page is open
  store(aged);
  taskyard.restoreDrafts(document);
})();
