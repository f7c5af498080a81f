// Forms of typed text are sent without leaving the page until they are taken, and what is typed outlives a reload.
// Every form has a key, under which the server does an act once: an answer that was lost is asked for again.
(() => {
  const { taskyard } = window;
  const wait = ms => new Promise(done => setTimeout(done, ms));
  const patience = 60000; // for an answer, while the line is down
  const checking = "Connection lost. Checking…", away = "The server cannot be reached.";

  // newKey makes the key of another act.
  taskyard.newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map(b => b.toString(16).padStart(2, "0")).join("");

  // post sends an act until an answer comes, and rejects when none does for a minute.
  taskyard.post = async (url, body, headers = {}) => {
    const begin = Date.now();
    for (let pause = 500; ; pause = Math.min(pause * 2, 8000)) {
      try {
        const res = await fetch(url, { method: "POST", body, headers, signal: AbortSignal.timeout(20000) });
        // Without an id of the request it is a proxy that speaks, not the server.
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

  // --- drafts: data-draft="PERSON:PLACE" keeps a field's text in this browser until the server has taken it ---
  const prefix = "draft:";
  const store = fn => { try { return fn(localStorage); } catch { return null; } }; // storage may be off or full
  const drafted = root => [...root.querySelectorAll("[data-draft]")];
  const put = (el, text) => store(s => (text ? s.setItem(prefix + el.dataset.draft, text) : s.removeItem(prefix + el.dataset.draft)));
  taskyard.restoreDrafts = root => drafted(root).forEach(el => {
    if (el.dataset.restored === el.dataset.draft) return;
    el.dataset.restored = el.dataset.draft;
    const text = store(s => s.getItem(prefix + el.dataset.draft));
    if (text && !el.value) el.value = text;
  });
  document.addEventListener("input", e => { if (e.target.matches?.("[data-draft]")) put(e.target, e.target.value); });

  // --- forms ---
  const show = doc => {
    for (const part of ["main", "#nav"]) {
      const now = document.querySelector(part), then = doc.querySelector(part);
      if (!now || !then) return false;
      taskyard.morph(now, then);
      htmx.process(now);
    }
    document.title = doc.title;
    document.querySelectorAll("#toasts > .toast").forEach(t => t.remove());
    doc.querySelectorAll("#toasts > .toast").forEach(t => document.querySelector("#toasts").append(document.importNode(t, true)));
    return true;
  };
  // arrive shows the page that the answer leads to: this one in place, with the focus where it was.
  const arrive = async (to, form) => {
    const url = new URL(to, location.href), here = url.pathname + url.search === location.pathname + location.search;
    if (!here || form.closest("dialog")) { location.assign(url); return; }
    // Who adds or says something may have more: the field keeps the focus, but opens no keyboard on a screen by itself.
    const text = form.matches(".add-line, .composer") && form.querySelector("textarea, input:not([type=hidden])");
    const field = text && (document.activeElement === text || !matchMedia("(pointer: coarse)").matches) && text.name;
    form.reset();
    const res = await fetch(url).catch(() => null);
    if (!res) { // it was done; the live parts show it when the server is back
      if (form.elements._key) form.elements._key.value = taskyard.newKey();
      return;
    }
    form.dataset.replace = ""; // also where it says what was wrong before
    if (!res.ok || !show(new DOMParser().parseFromString(await res.text(), "text/html"))) { location.reload(); return; }
    if (!form.matches(".add-line")) form.closest("details")?.removeAttribute("open"); // more is added, but edited once
    history.replaceState(history.state, "", url); // to go to the hash would take the focus away
    if (url.hash) document.querySelector(url.hash)?.scrollIntoView({ block: "nearest" });
    if (field && form.isConnected) form.elements[field]?.focus({ preventScroll: true });
    document.dispatchEvent(new Event("taskyard:arrived"));
  };
  // refused shows what is wrong in place, where the answer is this page with its form.
  const refused = (form, doc) => {
    if (form.closest("dialog") || ![...doc.forms].some(f => f.getAttribute("action") === form.getAttribute("action"))) return false;
    form.dataset.replace = "";
    if (!show(doc)) return false;
    document.querySelector("main [aria-invalid], main [role=alert]")?.focus();
    document.dispatchEvent(new Event("taskyard:arrived"));
    return true;
  };
  const send = async (form, submitter) => {
    const action = submitter?.getAttribute("formaction") || form.getAttribute("action");
    form.dataset.sent = "1";
    form.setAttribute("aria-busy", "true");
    try {
      const res = await taskyard.post(action, new URLSearchParams(new FormData(form, submitter)), { "Taskyard-Send": "1" });
      if (res.status === 204) {
        drafted(form).forEach(el => put(el, ""));
        await arrive(res.headers.get("Location"), form);
      } else if (res.status === 401 || res.status === 429 || res.status >= 500) {
        taskyard.fault(res.status, res.headers.get("X-Request-Id"), new DOMParser().parseFromString(await res.text(), "text/html"));
      } else if (!refused(form, new DOMParser().parseFromString(await res.text(), "text/html"))) {
        delete form.dataset.sent;
        form.dataset.native = "1"; // what is wrong is told by the page that the form leads to
        form.requestSubmit(submitter);
        delete form.dataset.native;
      }
    } catch { taskyard.unreachable(); }
    finally {
      delete form.dataset.sent;
      form.removeAttribute("aria-busy");
    }
  };
  document.addEventListener("submit", e => {
    const form = e.target;
    if (form.getAttribute("action").endsWith("/logout")) { // what was typed here is nobody else's business
      store(s => Object.keys(s).filter(k => k.startsWith(prefix)).forEach(k => s.removeItem(k)));
      return;
    }
    if (e.defaultPrevented || form.method !== "post" || !form.matches("[data-keep]:not([hx-post], [data-native])")) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    if (form.dataset.sent) return;
    if (navigator.onLine) send(form, e.submitter); else taskyard.offline();
  });
  document.addEventListener("htmx:afterSettle", () => taskyard.restoreDrafts(document)); // a question may come in while one looks
  taskyard.restoreDrafts(document);
})();
