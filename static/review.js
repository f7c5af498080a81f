// The review of a result. Without this script, every action is a form or a link to its own page; with it, they work in
// place: comments open below their line, drafts are saved while typing, and a file is updated after each action.
(() => {
  const { taskyard } = window;
  const q = (s, r = document) => r.querySelector(s);
  const all = (s, r = document) => [...r.querySelectorAll(s)];
  const page = url => fetch(url).then(async res => (res.ok ? new DOMParser().parseFromString(await res.text(), "text/html") : null)).catch(() => null);
  const fileOf = el => el.closest?.("[data-file]");
  // A newer result may have been submitted: updates stay on the displayed one.
  const address = () => q("#review-state")?.getAttribute("hx-get") ?? location.pathname + location.search;
  const settled = el => { htmx.process(el); taskyard.restoreDrafts(el); document.dispatchEvent(new Event("taskyard:arrived")); };

  // renew updates a file, or the comments on the result, from the server.
  const renew = async el => {
    const file = fileOf(el), id = file?.id ?? "general";
    const doc = await page(file ? file.dataset.file : address());
    const now = document.getElementById(id), then = doc?.getElementById(id);
    if (!now || !then) { location.reload(); return; }
    const open = now.open;
    taskyard.morph(now, then);
    const fresh = document.getElementById(id);
    if (file) fresh.open = open && !then.querySelector(".pill.ok") || open && now.dataset.keepOpen === "1";
    settled(fresh);
    acts();
  };
  // acts updates the decision forms, which show the number of drafts.
  const acts = async () => {
    const doc = await page(address());
    for (const id of ["review-acts", "drafts-bar", "files-sum"]) {
      const now = document.getElementById(id), then = doc?.getElementById(id);
      if (now && then) { taskyard.morph(now, then); settled(document.getElementById(id)); }
    }
  };

  // send posts a form and returns the URL that the answer leads to, null if it failed.
  const send = async (form, submitter, key) => {
    const body = new URLSearchParams(new FormData(form, submitter));
    if (key) body.set("_key", key);
    const res = await taskyard.post(form.getAttribute("action"), body, { "Taskyard-Send": "1" });
    if (res.status === 204) return res.headers.get("Location");
    const doc = new DOMParser().parseFromString(await res.text(), "text/html");
    const said = q(".review-form [role=alert]", doc)?.textContent.trim();
    if (said) taskyard.toast(said, true); else taskyard.fault(res.status, res.headers.get("X-Request-Id"), doc);
    return null;
  };

  // --- drafts are saved while typing ---
  const timers = new WeakMap(), busy = new WeakMap();
  const say = (form, text) => { const s = q("[data-saved]", form); if (s) s.textContent = text; };
  const store = async form => {
    const field = q("textarea", form);
    if (!field.value.trim() || form.dataset.stored === field.value) return;
    if (busy.get(form)) await busy.get(form);
    const text = field.value;
    say(form, "Saving…");
    const sent = send(form, null, taskyard.newKey()).then(to => {
      const id = to && /#c-(\d+)$/.exec(to)?.[1];
      if (!id) { say(form, ""); return; }
      form.dataset.stored = text;
      taskyard.forgetDrafts(form);
      q(".hint[role=status]", form)?.remove(); // the message that it was not saved
      if (form.getAttribute("action").endsWith("/comments")) {
        form.setAttribute("action", `${form.getAttribute("action")}/${id}`);
        field.dataset.draft = field.dataset.draft.replace(/:review:.*/s, `:review:${id}`);
      }
      if (field.value !== text) field.dispatchEvent(new Event("input", { bubbles: true })); // typed in the meantime
      say(form, "Draft saved");
    }, () => say(form, "Not saved: the server cannot be reached"));
    busy.set(form, sent);
    await sent;
    busy.delete(form);
  };
  document.addEventListener("input", e => {
    const form = e.target.closest?.("form[data-autosave]");
    if (!form || e.target.localName !== "textarea") return;
    clearTimeout(timers.get(form));
    timers.set(form, setTimeout(() => store(form), 800));
  });

  // A decision sends the stored drafts: its answer shows them as comments, in place of their forms.
  document.addEventListener("submit", e => {
    if (!e.target.matches("form[data-review-form]")) all("form[data-autosave]").forEach(f => { if (f.dataset.stored === q("textarea", f).value) f.dataset.replace = ""; });
  }, true);

  // --- forms, in place ---
  document.addEventListener("submit", async e => {
    const form = e.target.closest?.("form[data-review-form]");
    if (!form) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    if (form.dataset.sent) return;
    if (!navigator.onLine) { taskyard.offline(); return; }
    form.dataset.sent = "1";
    clearTimeout(timers.get(form));
    try {
      if (busy.get(form)) await busy.get(form);
      const key = form.dataset.stored ? taskyard.newKey() : "";
      const to = await send(form, e.submitter, key);
      if (to === null) return;
      const place = form.closest("[data-file], #general") ?? form;
      taskyard.forgetDrafts(form);
      form.removeAttribute("data-keep"); // its content is saved: it need not be kept
      form.reset();
      const file = fileOf(place);
      if (file) file.dataset.keepOpen = form.querySelector("[name=viewed]") ? "" : "1";
      if (form.closest("#comment-result")) q("#comment-result").open = false;
      await renew(place);
      const comment = /#(c-\d+)$/.exec(to)?.[1];
      if (comment && !document.getElementById(comment)) { location.assign(to); location.reload(); return; } // it belongs to the newest result
      (comment && document.getElementById(comment) || q("summary", document.getElementById(place.id) ?? document))?.focus();
    } catch { taskyard.unreachable(); }
    finally { delete form.dataset.sent; }
  }, true);

  // --- a comment on a line, or a file ---
  const openForm = async (link, row) => {
    const file = fileOf(link);
    const old = file && q("#c", file);
    // Selecting a second line with Shift extends the open form to a range.
    if (row?.shift && old?.elements.line && old.elements.side.value === link.dataset.line.split(" ")[0]) {
      const n = +link.dataset.line.split(" ")[1], first = +old.elements.line.value;
      old.elements.line.value = Math.min(first, n);
      old.elements.endLine.value = Math.max(first, n);
      q("textarea", old).focus();
      return;
    }
    const doc = await page(link.href);
    const form = doc?.getElementById("c");
    if (!form) { location.assign(link.href); return; }
    const back = q("input[name=back]", form);
    if (back) back.value = location.pathname + location.search;
    all("#c").forEach(f => { if (!q("textarea", f).value.trim()) (f.closest("tr.notes[data-new]") ?? f).remove(); else f.removeAttribute("id"); });
    if (link.dataset.line) {
      const at = link.closest("tr"), tr = document.createElement("tr"), td = document.createElement("td");
      tr.className = "notes";
      tr.dataset.new = "1";
      td.colSpan = [...at.children].reduce((n, cell) => n + cell.colSpan, 0);
      const inner = document.createElement("div");
      inner.className = "notes-in stack-8";
      inner.append(form);
      td.append(inner);
      tr.append(td);
      let last = at;
      while (last.nextElementSibling?.matches("tr.notes")) last = last.nextElementSibling;
      last.after(tr);
    } else {
      if (!file.open) file.open = true;
      q(".rfile-acts", file).after(form);
    }
    settled(form);
    q("textarea", form).focus();
  };
  document.addEventListener("click", e => {
    const link = e.target.closest?.("[data-review] a.plus, [data-review] a[data-file-comment]");
    if (!link || e.ctrlKey || e.metaKey || e.button) return;
    e.preventDefault();
    openForm(link, { shift: e.shiftKey });
  });
  document.addEventListener("keydown", e => {
    if (e.key !== "Escape") return;
    const form = e.target.closest?.("#c");
    if (!form || q("textarea", form).value.trim()) return;
    const row = form.closest("tr.notes[data-new]");
    const back = row ? q("a.plus", row.previousElementSibling) : q("summary", fileOf(form));
    (row ?? form).remove();
    back?.focus();
  });

  // --- keys: arrow keys move between lines, instead of a Tab for each ---
  const roving = table => all("a.plus", table).forEach((a, i) => { a.tabIndex = i ? -1 : 0; });
  const tables = () => all(".difftable:not([data-roving])").forEach(t => { t.dataset.roving = "1"; roving(t); });
  document.addEventListener("htmx:afterSettle", tables);
  document.addEventListener("taskyard:arrived", () => { all(".difftable").forEach(t => t.removeAttribute("data-roving")); tables(); });
  tables();
  document.addEventListener("keydown", e => {
    const link = e.target.closest?.("a.plus");
    if (link && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
      const list = all("a.plus", link.closest(".difftable")), to = list[list.indexOf(link) + (e.key === "ArrowDown" ? 1 : -1)];
      if (!to) return;
      e.preventDefault();
      link.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
      return;
    }
    // C comments on the focused line or file, or else on the whole result; elsewhere it creates a task.
    if (e.key !== "c" || e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.("textarea, input, select, dialog")) return;
    const whole = q("#comment-result");
    const row = e.target.closest?.("[data-row]");
    if (link) link.click();
    else if (!row && whole) { whole.open = true; q("textarea", whole).focus(); }
    else return;
    e.preventDefault();
    e.stopImmediatePropagation();
  }, true);
  // When a decision opens, its first field gets the focus.
  document.addEventListener("toggle", e => {
    if (e.target.matches?.("#changes-menu[open], #accept-menu[open]")) q(e.target.id === "accept-menu" ? "button[type=submit]" : "textarea", e.target).focus();
    else if (e.target.matches?.("#comment-result[open]")) q("textarea", e.target)?.focus();
  }, true);
})();
