// Toasts: they stack, and disappear after 10 s unless they are hovered or focused. Errors show the request ID and a
// remedy, and stay until they are dismissed.
(() => {
  const box = document.querySelector("#toasts"), said = document.querySelector("#said");
  const life = 10000, most = 4, step = 250;
  const el = (name, text, cls) => { const e = document.createElement(name); e.textContent = text ?? ""; if (cls) e.className = cls; return e; };
  const left = new WeakMap();
  const stays = t => t.matches(".bad, .stay, [data-until]");
  const all = () => [...box?.querySelectorAll(".toast") ?? []];

  const close = t => {
    const had = t.contains(document.activeElement);
    t.remove();
    if (had) (box.querySelector("[data-dismiss]") ?? document.querySelector("main"))?.focus({ preventScroll: true });
  };
  const toast = (text, bad, more) => {
    if (!box) return;
    const old = all().find(t => t.dataset.text === text), t = el("div", "", bad ? "toast bad" : "toast"), msg = el("div", "", "message"), x = el("button", "Dismiss", "btn");
    t.dataset.text = text;
    msg.append(el("p", text));
    if (more?.remedy) msg.append(el("p", more.remedy, "small"));
    if (more?.id) { const p = el("p", "Request ", "small"); p.append(el("code", more.id)); msg.append(p); }
    x.type = "button";
    x.dataset.dismiss = "";
    t.append(msg);
    if (more?.href) { const a = el("a", more.label, "btn"); a.href = more.href; t.append(a); }
    t.append(x);
    // A message is shown once; a toast that is equal is not replaced, because someone may be about to click it.
    if (old) left.delete(old);
    if (!old) box.append(t);
    else if (!old.isEqualNode(t)) old.replaceWith(t);
  };
  const prefix = document.documentElement.dataset.prefix ?? ""; // of all URLs of the server
  const ended = "Your session has ended. What you typed is still here.";
  // fault shows why a request failed: the error page contains the problem and its remedy.
  const fault = (status, id, doc) => {
    const text = name => doc?.querySelector(`[data-${name}]`)?.textContent.trim();
    if (status === 401) {
      const next = location.pathname.slice(prefix.length) + location.search;
      toast(ended, true, { href: `${prefix}/login?next=${encodeURIComponent(next)}`, label: "Sign in" });
      return;
    }
    toast(text("problem") ?? `The server answered ${status}.`, true, { remedy: text("remedy") ?? (status >= 500 ? "Try again in a moment." : ""), id: status >= 500 ? id : "" });
  };
  const untoast = text => all().filter(t => t.dataset.text === text).forEach(close);
  document.addEventListener("htmx:afterRequest", e => { if (e.detail.successful) untoast(ended); }); // signed in again in another tab
  Object.assign(window.taskyard ??= {}, { toast, untoast, fault, prefix });
  if (!box) return;

  // A decision can be undone until data-until, also with the key z.
  const offset = Number(document.documentElement.dataset.now || Date.now()) - Date.now();
  const countDown = t => {
    const s = Math.ceil((Number(t.dataset.until) - Date.now() - offset) / 1000);
    const left = t.querySelector("[data-left]"), text = `Undo (${s} s)`;
    if (s <= 0) close(t); else if (left.textContent !== text) left.textContent = text;
  };
  const timed = () => all().filter(t => t.dataset.until).forEach(countDown);
  timed();
  document.addEventListener("keydown", e => {
    if (e.key !== "z" || e.metaKey || e.ctrlKey || e.altKey || e.target.closest?.("input:not([type=checkbox]),textarea,select")) return;
    const b = document.querySelector("[data-undo-decision]");
    if (b) { e.stopImmediatePropagation(); b.click(); }
  }, true);

  const paused = () => document.hidden || box.matches(":hover") || box.contains(document.activeElement);
  setInterval(() => {
    timed();
    const list = all();
    if (!list.length || paused()) return; // checking :hover forces a layout
    for (const t of list) {
      if (stays(t)) continue;
      left.set(t, (left.get(t) ?? life) - step);
      if (left.get(t) <= 0) t.remove();
    }
  }, step);
  new MutationObserver(() => {
    const list = all();
    list.slice(0, Math.max(0, list.length - most)).forEach(t => t.remove());
  }).observe(box, { childList: true });
  document.addEventListener("click", e => {
    const x = e.target.closest("[data-dismiss]"), t = x?.closest(".toast");
    if (t) { e.preventDefault(); close(t); }
  });
  // Toasts rendered with the page are not announced by screen readers: repeat the text in the live region.
  const first = all().map(t => t.querySelector("p")?.textContent).filter(Boolean).join(". ");
  if (first && said) {
    setTimeout(() => { said.textContent = first; }, 400);
    setTimeout(() => { if (said.textContent === first) said.textContent = ""; }, 2000);
  }
  addEventListener("offline", () => toast("You are offline. What you see may be old.", true));
  addEventListener("online", () => all().filter(t => t.dataset.text?.startsWith("You are offline")).forEach(t => t.remove()));
})();
