// Creates a task without leaving the page: a dialog shows the form of the linked page. If the server rejects it, that
// page itself shows the errors and the input. Narrow windows follow the link directly.
(() => {
  const q = (s, r = document) => r.querySelector(s);
  let dialog = null, from = "", asking = false;

  // The IDs of the form must not collide with those of the page.
  const own = form => {
    for (const el of form.querySelectorAll("[id]")) el.id = `new-${el.id}`;
    for (const el of form.querySelectorAll("[for]")) el.htmlFor = `new-${el.htmlFor}`;
    for (const el of form.querySelectorAll("[aria-describedby]")) el.setAttribute("aria-describedby", el.getAttribute("aria-describedby").split(" ").map(id => `new-${id}`).join(" "));
    for (const el of form.querySelectorAll("[list]")) el.setAttribute("list", `new-${el.getAttribute("list")}`);
    return form;
  };
  const fill = form => {
    dialog = document.createElement("dialog");
    dialog.id = "new-task";
    dialog.setAttribute("aria-labelledby", "new-task-h");
    const head = document.createElement("h2");
    head.id = "new-task-h";
    head.textContent = "New task";
    dialog.append(head, own(form));
    document.body.append(dialog);
    htmx.process(dialog);
    window.taskyard.restoreDrafts(dialog);
  };
  const show = () => {
    if (q("dialog[open]")) return; // another dialog was opened in the meantime; the next press shows this form at once
    dialog.showModal();
    q("[name=title]", dialog)?.focus();
  };
  const open = async href => {
    if (dialog && from === href) { show(); return; } // with the typed text
    if (asking) return;
    asking = true;
    try {
      const res = await fetch(href), doc = new DOMParser().parseFromString(await res.text(), "text/html");
      const form = q("form[data-new-form]", doc);
      if (!res.ok || !form) { location.assign(href); return; }
      dialog?.remove();
      from = href;
      fill(document.importNode(form, true));
      show();
    } catch { location.assign(href); }
    finally { asking = false; }
  };
  const fits = () => innerWidth >= 700 && !q("dialog[open]") && window.htmx;

  window.taskyard.newTask = href => { if (fits()) open(href); else location.assign(href); };
  document.addEventListener("click", e => {
    if (e.defaultPrevented || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
    if (e.target.closest("#new-task [data-close]") || e.target === dialog) { e.preventDefault(); dialog.close(); return; }
    const link = e.target.closest("[data-new-task]");
    if (link && fits()) { e.preventDefault(); open(link.getAttribute("href")); }
  });
  // A form that was sent is not shown again.
  addEventListener("pageshow", e => { if (e.persisted) { dialog?.remove(); dialog = null; } });
})();
