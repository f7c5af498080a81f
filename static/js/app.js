// Behavior of every page: theme, relative times, copying, forms that are sent once, filters.
(() => {
  const root = document.documentElement;
  const q = (s, r = document) => r.querySelector(s);
  const all = (s, r = document) => [...r.querySelectorAll(s)];

  // Morphing keeps the field that a person is typing in, and which details are open.
  if (window.Idiomorph) {
    Idiomorph.defaults.ignoreActiveValue = true;
    Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) => !(name === "open" && node.localName === "details");
    // A form that has typed text or shows an error is left unchanged, even if the server no longer renders it.
    const typed = n => n.matches?.("form[data-keep]:not([data-replace])") && (q("[aria-invalid]", n) || all("textarea, input:not([type=hidden])", n).some(f => f.value !== f.defaultValue) || all("option", n).some(o => o.selected !== o.defaultSelected && (o.defaultSelected || o.index > 0)));
    // An empty data-same element means that this part is unchanged. If the page no longer has it, refetch everything.
    const same = n => n.hasAttribute?.("data-same");
    Idiomorph.defaults.callbacks.beforeNodeMorphed = (old, now) => !typed(old) && !same(now);
    // htmx processes every element that a swap returns, which doubles the time on a board: return only what is new.
    let added = [];
    Idiomorph.defaults.callbacks.afterNodeAdded = n => { if (n.nodeType === 1) added.push(n); };
    taskyard.morph = (now, then) => {
      added = [];
      const parts = all("[data-part]", then).map(p => p.id), whole = !then.querySelector("[data-part], [data-same]");
      const list = Idiomorph.morph(now, then, { morphStyle: "outerHTML" });
      return whole ? list : [...added, ...parts.map(id => document.getElementById(id)).filter(Boolean)];
    };
    htmx.defineExtension("morph", {
      isInlineSwap: style => style.startsWith("morph"),
      handleSwap: (style, target, fragment) => style.startsWith("morph") && taskyard.morph(target, fragment.firstElementChild),
    });
    Idiomorph.defaults.callbacks.beforeNodeAdded = n => { if (same(n)) document.dispatchEvent(new Event("taskyard:missed")); return !same(n); };
    Idiomorph.defaults.callbacks.beforeNodeRemoved = old => !typed(old) && !(old.querySelectorAll && all("form[data-keep]", old).some(typed));
  }

  // held returns the versions of the parts on this page, for the header Taskyard-Held.
  taskyard.held = () => all("[data-part]").map(p => p.dataset.part).join(" ");

  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const setTheme = theme => {
    root.dataset.theme = theme;
    document.cookie = `theme=${theme}; Path=${taskyard.prefix || "/"}; Max-Age=31536000; SameSite=Lax`;
  };

  taskyard.switchTheme = () => setTheme(dark() ? "light" : "dark");

  document.addEventListener("htmx:responseError", e => {
    const { xhr } = e.detail;
    taskyard.fault(xhr.status, xhr.getResponseHeader("X-Request-Id"), new DOMParser().parseFromString(xhr.responseText, "text/html"));
    const form = e.target.closest?.("form[data-tick]");
    if (form) form.reset(); // the checkbox shows the state on the server
  });
  // Resend a request of htmx with the same key, then refetch the part that shows its result.
  for (const name of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(name, e => {
    const { verb, path, parameters, elt } = e.detail.requestConfig ?? {};
    if (!verb || verb === "get") return;
    taskyard.post(path, new URLSearchParams(Object.entries(parameters)), { "HX-Request": "true" }).then(() => {
      const part = elt.closest("[data-live]") ?? q("[data-live]:not([data-live-frame])");
      if (part) htmx.trigger(part, "live");
    }, () => { elt.reset?.(); taskyard.unreachable(); });
  });

  // Relative times are updated while the page is open. The offset corrects a wrong clock of the browser.
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

  // Browsers deny access to the clipboard to pages served over plain HTTP by another machine: select the text there.
  const copyText = el => {
    if (!el) return;
    const done = () => taskyard.toast("Copied");
    const select = () => {
      getSelection().selectAllChildren(el);
      if (document.execCommand("copy")) done(); else taskyard.toast("The text is selected: copy it with Ctrl C.");
    };
    if (navigator.clipboard) navigator.clipboard.writeText(el.textContent).then(done, select); else select();
  };

  document.addEventListener("click", e => {
    if (e.target.closest("[data-theme-toggle]")) taskyard.switchTheme();
    const copy = e.target.closest("[data-copy]");
    if (copy) copyText(q(copy.dataset.copy));
    all("details[data-menu][open]").forEach(d => { if (!d.contains(e.target)) d.open = false; });
  });

  // A plain form is sent once: a double click results in one request.
  document.addEventListener("submit", e => {
    if (e.target.method !== "post" || e.target.hasAttribute("hx-post")) return;
    if (e.target.dataset.sent) e.preventDefault();
    else if (!navigator.onLine) { e.preventDefault(); taskyard.offline(); }
    else {
      e.target.dataset.sent = "1";
      setTimeout(() => delete e.target.dataset.sent, 10000); // if loading was stopped, the form may be sent again: its key makes that idempotent
    }
  });
  addEventListener("pageshow", () => all("form[data-sent]").forEach(f => delete f.dataset.sent));

  // A filter applies when it changes: at once with the mouse, after a pause with the keyboard, because arrow keys step
  // through the values in between. Its URL contains only the fields that are set.
  const filter = el => el.form?.matches("[data-filter]") && el.form;
  let pointed = 0, resting = 0;
  document.addEventListener("pointerdown", () => { pointed = Date.now(); }, true);
  document.addEventListener("keydown", () => { pointed = 0; }, true);
  document.addEventListener("change", e => {
    const form = filter(e.target);
    if (!form || !e.target.matches("select, [type=date]") || !e.target.validity.valid) return;
    clearTimeout(resting);
    resting = setTimeout(() => {
      try { sessionStorage.setItem("filtered", e.target.name); } catch { /* private windows */ }
      form.requestSubmit();
    }, pointed ? 0 : 800);
  });
  document.addEventListener("formdata", e => { if (e.target.matches("[data-filter]")) [...e.formData].forEach(([k, v]) => { if (!v) e.formData.delete(k); }); });
  try {
    const name = sessionStorage.getItem("filtered");
    sessionStorage.removeItem("filtered");
    if (name) (q(`[data-filter] [name="${name}"]:not([type=hidden])`) || all(".filters a.chip.active").at(-1))?.focus({ preventScroll: true });
  } catch { /* private windows */ }

  // On phones, tabs and similar strips scroll sideways: scroll to the current item.
  if (matchMedia("(max-width: 760px)").matches) all(":is(.tabs, .docs-toc, .list > nav) [aria-current]").forEach(a => {
    const strip = a.closest(".tabs, .docs-toc, nav");
    strip.scrollLeft += a.getBoundingClientRect().left - strip.getBoundingClientRect().left - 16;
  });

  // The time zone of the browser, so that the server knows when a day begins for this person.
  // Temporal is faster: the first Intl format of a page takes 30 ms in Chromium.
  const zone = window.Temporal?.Now.timeZoneId() ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && !document.cookie.split("; ").includes(`zone=${zone}`)) document.cookie = `zone=${zone}; Path=${taskyard.prefix || "/"}; Max-Age=31536000; SameSite=Lax`;
})();
