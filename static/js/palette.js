// The command palette: one field that opens pages, agents and tasks and performs the actions of the page. Commands come
// from the table of shortcuts, actions from the page, tasks and agents from the search page of the server.
(() => {
  const q = (s, r = document) => r.querySelector(s);
  const all = (s, r = document) => [...r.querySelectorAll(s)];
  const dialog = q("#palette");
  if (!dialog) return;
  const field = q("input", dialog), list = q("#pal-list"), none = q(".palette-none", dialog), status = q("[role=status]", dialog);
  const commands = taskyard.commands;
  let at = 0, asked = "", found = [], timer = 0, request = null;

  const fits = (text, words) => words.every(w => text.toLowerCase().includes(w));
  const words = () => field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const nameOf = el => (el.getAttribute("aria-label") || [...el.childNodes].filter(n => !n.matches?.("kbd, .sr-only")).map(n => n.textContent).join(" ")).replace(/\s+/g, " ").trim();

  // The actions of the page: buttons and links of its bar and menus, except those in the table.
  const acts = () => {
    const known = new Set(commands.table().map(commands.target).filter(Boolean)), seen = new Set();
    return all("main .bar :is(a.btn, button[type=submit], .sheet :is(a, button)), main .decide button[type=submit]")
      .filter(el => !known.has(el) && !el.disabled && !el.closest("[hidden], [data-row]") && (el.checkVisibility() || el.closest(".menu")))
      .map(el => ({ name: nameOf(el), icon: q("svg.icon", el), go: () => el.click() }))
      .filter(a => a.name && !seen.has(a.name) && seen.add(a.name));
  };
  const ofTable = kind => commands.table().filter(c => c.dataset.kind === kind && (kind !== "act" || commands.target(c))).map(c => ({
    name: c.dataset.cmd, icon: q("svg", c), keys: all("kbd", c), href: kind === "place" ? c.dataset.href : "", go: () => commands.run(c),
  }));
  const groups = () => {
    const w = words(), own = [
      ["This page", [...ofTable("act"), ...acts()].filter(o => fits(o.name, w))],
      ["Go to", ofTable("place").filter(o => fits(o.name, w))],
      ["Commands", ofTable("command").filter(o => fits(o.name, w))],
    ];
    if (!w.length) own[1][1] = own[1][1].filter(o => o.keys.length);
    return (w.length ? [...found, ...own] : own).filter(([, l]) => l.length);
  };

  let shown = [];
  const option = (o, i) => {
    const el = document.createElement("div"), name = document.createElement("span");
    el.id = `pal-${i}`;
    el.role = "option";
    el.dataset.i = i;
    name.textContent = o.name;
    if (o.icon) el.append(o.icon.cloneNode(true));
    el.append(name);
    if (o.note) { const n = document.createElement("small"); n.textContent = o.note; el.append(n); }
    o.keys?.forEach(k => el.append(k.cloneNode(true)));
    return el;
  };
  const mark = (i, look = true) => {
    at = Math.max(0, Math.min(shown.length - 1, i));
    all("[role=option]", list).forEach((el, n) => el.setAttribute("aria-selected", n === at));
    const el = document.getElementById(`pal-${at}`);
    if (el) field.setAttribute("aria-activedescendant", el.id); else field.removeAttribute("aria-activedescendant");
    if (look) el?.scrollIntoView({ block: "nearest" });
  };
  const draw = keep => {
    const was = keep && shown[at]?.name;
    shown = [];
    list.replaceChildren(...groups().map(([title, options], g) => {
      const box = document.createElement("div"), h = document.createElement("div");
      box.role = "group";
      h.id = `pal-g${g}`;
      h.className = "group-title";
      h.role = "presentation";
      h.textContent = title;
      box.setAttribute("aria-labelledby", h.id);
      box.append(h, ...options.map(o => option(o, shown.push(o) - 1)));
      return box;
    }));
    none.hidden = shown.length > 0 || asked !== field.value.trim();
    mark(Math.max(0, was ? shown.findIndex(o => o.name === was) : 0));
  };

  // Tasks and agents: requested after a pause in typing; outdated requests are aborted.
  const read = html => all("#found [data-found]", new DOMParser().parseFromString(html, "text/html")).map(s => [q("h2", s).textContent, all("a", s).map(a => ({
    name: a.children[1].textContent.trim(), icon: q("svg, .avatar", a), note: q(".ml-auto", a)?.textContent, href: a.getAttribute("href"),
  }))]);
  let released = null; // the list is not rendered between mousedown and click: an answer waits
  const search = async text => {
    request?.abort();
    const mine = request = new AbortController();
    try {
      const res = await fetch(`${window.taskyard.prefix}/search?q=${encodeURIComponent(text)}`, { signal: mine.signal, headers: { "HX-Request": "true" } });
      if (!res.ok || new URL(res.url).pathname === `${window.taskyard.prefix}/login`) throw new Error(res.status);
      found = read(await res.text());
    } catch (err) {
      if (err.name === "AbortError" || request !== mine) return;
      found = [];
      status.textContent = "The server cannot be reached";
    }
    await released;
    if (request !== mine) return;
    asked = text;
    draw(at > 0);
    status.textContent = shown.length === 1 ? "1 result" : `${shown.length} results`;
  };
  const ask = () => {
    clearTimeout(timer);
    const text = field.value.trim();
    if (!text) { request?.abort(); found = []; asked = ""; draw(); return; }
    draw();
    timer = setTimeout(() => search(text), 120);
  };

  const choose = (i, apart) => {
    const o = shown[i];
    if (!o) return;
    if (o.href && apart) { window.open(o.href, "_blank", "noopener"); return; }
    dialog.close(); // restores the focus: actions apply to the focused row
    if (o.href) location.assign(o.href); else o.go();
  };
  taskyard.palette = () => {
    if (dialog.open) { dialog.close(); return; }
    if (q("dialog[open]")) return;
    field.value = asked = "";
    found = [];
    status.textContent = "";
    draw();
    dialog.showModal();
    field.focus();
  };
  dialog.addEventListener("close", () => { if (!dialog.open) { clearTimeout(timer); request?.abort(); } });
  field.addEventListener("input", ask);
  field.addEventListener("keydown", e => {
    if (e.isComposing || e.keyCode === 229) return;
    const size = shown.length, to = { ArrowDown: (at + 1) % size, ArrowUp: (at + size - 1) % size, PageDown: Math.min(size - 1, at + 7), PageUp: Math.max(0, at - 7) }[e.key];
    if (to !== undefined && size) { e.preventDefault(); mark(to); }
    if (e.key === "Enter") {
      e.preventDefault();
      e.stopPropagation();
      const text = field.value.trim(), apart = e.ctrlKey || e.metaKey;
      // Enter was pressed before the answer: open the task with that number, or else the first result.
      if (text && asked !== text && (!shown.length || /^#?\d+$/.test(text))) {
        clearTimeout(timer);
        search(text).then(() => { if (dialog.open && asked === text && field.value.trim() === text) choose(0, apart); });
      } else choose(at, apart);
    }
  });
  list.addEventListener("click", e => { const o = e.target.closest("[role=option]"); if (o) choose(Number(o.dataset.i), e.ctrlKey || e.metaKey); });
  list.addEventListener("mousedown", e => e.preventDefault()); // the field keeps the focus
  list.addEventListener("pointerdown", () => {
    released = new Promise(done => { for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, () => setTimeout(done), { once: true }); });
  });
  list.addEventListener("mousemove", e => { const o = e.target.closest("[role=option]"); if (o && Number(o.dataset.i) !== at) mark(Number(o.dataset.i), false); });

  document.addEventListener("keydown", e => {
    if ((e.metaKey || e.ctrlKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === "k") { e.preventDefault(); taskyard.palette(); }
  });
  document.addEventListener("click", e => {
    const link = e.target.closest("[data-palette]");
    if (!link || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    const menu = link.closest("details[data-menu]");
    if (menu) menu.open = false;
    taskyard.palette();
  });
})();
