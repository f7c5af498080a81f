// Behaviour of every page: theme, toasts, times, guarded submits. No inline handlers, no eval.
(() => {
  const root = document.documentElement;
  const q = (s, r = document) => r.querySelector(s);
  const all = (s, r = document) => [...r.querySelectorAll(s)];

  // Morphs keep what a person is typing, and which details are open.
  if (window.Idiomorph) {
    Idiomorph.defaults.ignoreActiveValue = true;
    Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) => !(name === "open" && node.localName === "details");
    // A form with typed text stays as it is, even where the server no longer shows it.
    const typed = n => n.matches?.("form[data-keep]") && (all("textarea, input:not([type=hidden])", n).some(f => f.value !== f.defaultValue) || all("option", n).some(o => o.selected !== o.defaultSelected && (o.defaultSelected || o.index > 0)));
    Idiomorph.defaults.callbacks.beforeNodeMorphed = old => !typed(old);
    Idiomorph.defaults.callbacks.beforeNodeRemoved = old => !typed(old) && !(old.querySelectorAll && all("form[data-keep]", old).some(typed));
  }

  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const setTheme = theme => {
    root.dataset.theme = theme;
    document.cookie = `theme=${theme}; Path=/; Max-Age=31536000; SameSite=Lax`;
  };

  const toast = (text, bad) => {
    const box = q("#toasts");
    if (!box) return;
    const el = document.createElement("div"), p = document.createElement("p"), x = document.createElement("button");
    el.className = bad ? "toast bad" : "toast";
    p.textContent = text;
    x.className = "btn"; x.type = "button"; x.textContent = "Dismiss"; x.dataset.dismiss = "";
    el.append(p, x);
    box.append(el);
    setTimeout(() => el.remove(), bad ? 12000 : 6000);
  };
  window.yard = { toast, switchTheme: () => setTheme(dark() ? "light" : "dark") };
  setTimeout(() => all(".toast:not(.bad, .stay)").forEach(el => el.remove()), 10000); // what the server said with the page

  // A problem answer is JSON or a full page; either way the person reads one sentence and the request id.
  const problem = xhr => {
    const id = xhr.getResponseHeader("X-Request-Id");
    let text = `The server answered ${xhr.status}.`;
    const type = xhr.getResponseHeader("Content-Type") || "";
    if (type.includes("json")) {
      try { const b = JSON.parse(xhr.responseText); text = b.detail || b.message || b.title || text; } catch { /* keep the status */ }
    } else if (type.includes("html")) {
      const m = q("[data-problem]", new DOMParser().parseFromString(xhr.responseText, "text/html"));
      if (m) text = m.textContent.trim();
    }
    return id && xhr.status >= 500 ? `${text} Request ${id}` : text;
  };
  document.addEventListener("htmx:responseError", e => {
    if (e.detail.xhr.status === 401) location.assign("/login");
    else toast(problem(e.detail.xhr), true);
    const form = e.target.closest?.("form[data-tick]");
    if (form) form.reset(); // the box shows what the server holds
  });
  for (const name of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(name, e => { if (e.detail.requestConfig?.verb !== "get") toast("The server cannot be reached. Nothing was changed.", true); });

  // Relative times age while the page stands. The offset takes a wrong clock of the browser out.
  const offset = Number(root.dataset.now || Date.now()) - Date.now();
  const rel = ms => {
    const s = Math.max(0, Math.round(ms / 1000));
    return s < 60 ? `${s}s` : s < 3600 ? `${Math.floor(s / 60)}m` : s < 86400 ? `${Math.floor(s / 3600)}h` : `${Math.floor(s / 86400)}d`;
  };
  const age = () => all("time[data-rel]").forEach(t => {
    const d = Date.now() + offset - Date.parse(t.dateTime);
    const text = d < 0 ? `in ${rel(-d)}` : t.dataset.rel === "short" ? rel(d) : `${rel(d)} ago`;
    if (t.textContent !== text) t.textContent = text;
  });
  setInterval(() => { if (!document.hidden) age(); }, 20000);

  document.addEventListener("click", e => {
    if (e.target.closest("[data-theme-toggle]")) yard.switchTheme();
    e.target.closest("[data-dismiss]")?.closest(".toast")?.remove();
    const copy = e.target.closest("[data-copy]");
    if (copy) navigator.clipboard?.writeText(q(copy.dataset.copy)?.textContent ?? "").then(() => toast("Copied"));
    all("details[data-menu][open]").forEach(d => { if (!d.contains(e.target)) d.open = false; });
  });

  // A plain form is sent once: a double click makes one request.
  document.addEventListener("submit", e => {
    if (e.target.method !== "post" || e.target.hasAttribute("hx-post")) return;
    if (e.target.dataset.sent) e.preventDefault();
    else e.target.dataset.sent = "1";
  });
  addEventListener("pageshow", () => all("form[data-sent]").forEach(f => delete f.dataset.sent));

  // The browser's zone: days begin, and "tomorrow" is, where the person lives.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && !document.cookie.split("; ").includes(`zone=${zone}`)) document.cookie = `zone=${zone}; Path=/; Max-Age=31536000; SameSite=Lax`;
})();
