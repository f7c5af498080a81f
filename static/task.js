// The page of a task: ticks show at once, steps move by dragging, buttons and keys, entries of the stream are found by
// URL.
(() => {
  const q = (s, r = document) => r.querySelector(s);
  const rows = () => [...document.querySelectorAll("#plan .steps > li")];
  document.documentElement.dataset.scripted = "";

  // --- ticks: the mark changes with the click, and is reverted if the server rejects it ---
  const flying = new Set(); // rows whose tick is pending; older answers do not change them
  if (window.Idiomorph) {
    const calls = Idiomorph.defaults.callbacks, before = calls.beforeNodeMorphed;
    calls.beforeNodeMorphed = (old, now) => !(old.id && flying.has(old.id)) && (!before || before(old, now));
  }
  const count = () => {
    const all = rows(), n = all.filter(r => r.classList.contains("done")).length, bar = q("#plan progress"), said = q("[data-steps-said]");
    if (bar) bar.value = n;
    if (said) said.textContent = `${n} of ${all.length}`;
  };
  const source = e => e.detail.requestConfig?.elt ?? e.detail.elt; // swap events have the target, not the source
  let held = "";
  const giveBack = row => {
    if (held !== row.id) return;
    held = "";
    if (document.activeElement === document.body) setTimeout(() => q(".tick", document.getElementById(row.id) ?? undefined)?.focus());
  };
  const tickOf = e => source(e)?.closest?.("form[data-tick]");
  document.addEventListener("htmx:beforeRequest", e => {
    const form = tickOf(e), row = form?.closest("li");
    if (!row) return;
    flying.add(row.id);
    if (document.activeElement === q(".tick", form)) held = row.id; // a disabled box loses the focus
    row.classList.toggle("done", q(".tick", form).checked);
    count();
  });
  document.addEventListener("htmx:beforeSwap", e => {
    const row = tickOf(e)?.closest("li");
    if (row) flying.delete(row.id);
  });
  const refused = e => {
    const form = tickOf(e), row = form?.closest("li");
    if (row) {
      const box = q(".tick", form);
      flying.delete(row.id);
      box.disabled = false;
      if (e.type === "htmx:responseError") box.checked = box.defaultChecked; // otherwise it is sent again
      row.classList.toggle("done", box.checked);
      count();
      giveBack(row);
    }
    const plan = document.getElementById("plan-form");
    if (plan) delete plan.dataset.busy;
    after = null;
    const wrote = e.detail.requestConfig?.verb !== "get"; // the failed request may be that of the part itself
    if (e.type === "htmx:responseError" && wrote && q("#task")) htmx.trigger(q("#task"), "live"); // see what has changed
  };
  for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout", "htmx:sendAbort"]) document.addEventListener(name, refused);

  // --- the order of the plan: one form handles every change ---
  let after = null; // what to do once the new plan is shown
  const act = (words, then) => {
    const form = document.getElementById("plan-form");
    if (!form || form.dataset.busy) return;
    form.dataset.busy = "1";
    const field = q("input[name=act]", form) || form.appendChild(Object.assign(document.createElement("input"), { type: "hidden", name: "act" }));
    field.value = words;
    after = then;
    htmx.trigger(form, "plan");
  };
  const panel = at => document.getElementById(`panel-${at}`);
  const stepTo = (row, to, then) => {
    const from = rows().indexOf(row);
    if (from >= 0 && to >= 0 && to < rows().length && to !== from) act(`move ${from} ${to} ${row.dataset.mark}`, then);
  };
  const focusTick = at => q(".tick", document.getElementById(`step-${Math.min(at, rows().length - 1)}`) ?? undefined)?.focus();
  // A button in a panel that moved with its step keeps the focus.
  const follow = (from, to, label) => {
    const old = panel(from), now = panel(to);
    if (!now) return;
    const focus = () => ([...now.querySelectorAll("[form=plan-form]")].find(b => b.textContent.trim() === label) || q("summary", now)).focus();
    if (old && old !== now) old.open = false;
    if (now.open) focus();
    else {
      now.addEventListener("toggle", focus, { once: true });
      now.open = true;
    }
  };
  document.addEventListener("submit", e => {
    if (e.target.id !== "plan-form" || !window.htmx) return;
    e.preventDefault();
    const words = e.submitter?.value ?? "", [verb, a, b] = words.split(" "), label = e.submitter?.textContent.trim();
    act(words, () => {
      if (verb === "move" && e.submitter.closest(".step-body")) follow(+a, +b, label);
      else if (verb === "delete") {
        if (panel(a)) panel(a).open = false;
        (q("[data-plan-undo]") || document.body).focus();
      } else focusTick(0);
    });
  });
  // The second click of a double click would hit another step by then.
  document.addEventListener("click", e => {
    if (e.detail > 1 && e.target.closest("[form=plan-form]")) e.preventDefault();
  }, true);
  document.addEventListener("htmx:afterSettle", e => {
    if (flying.size) count();
    const row = tickOf(e)?.closest("li");
    if (row) giveBack(row);
    if (source(e)?.id !== "plan-form" || !after) return;
    const then = after, at = document.activeElement;
    after = null;
    if (!at?.checkVisibility() || at === document.body || at.closest("#plan")) then(); // otherwise the person is doing something else by now
  });
  document.addEventListener("htmx:afterRequest", e => {
    if (source(e)?.id === "plan-form") { const f = document.getElementById("plan-form"); if (f) { delete f.dataset.busy; q("input[name=act]", f)?.remove(); } }
  });

  // --- drag ---
  let dragged = null;
  const clear = () => rows().forEach(r => r.classList.remove("over-top", "over-end"));
  const rowOf = e => e.target.closest?.("#plan .steps > li");
  const lower = (row, e) => { const r = row.getBoundingClientRect(); return e.clientY > r.top + r.height / 2; };
  document.addEventListener("pointerdown", e => { const row = e.target.closest?.("[data-grip]") && rowOf(e); if (row) row.draggable = true; });
  document.addEventListener("pointerup", () => rows().forEach(r => { r.draggable = false; }));
  document.addEventListener("dragstart", e => {
    dragged = rowOf(e);
    if (!dragged?.draggable) { dragged = null; return; }
    e.dataTransfer.effectAllowed = "move";
    e.dataTransfer.setData("text/plain", q(".step-title", dragged)?.textContent ?? "");
    dragged.classList.add("dragged");
  });
  document.addEventListener("dragover", e => {
    const row = dragged && rowOf(e);
    if (!row) return;
    e.preventDefault();
    clear();
    if (row !== dragged) row.classList.add(lower(row, e) ? "over-end" : "over-top");
  });
  document.addEventListener("drop", e => {
    const row = dragged && rowOf(e);
    if (!row) return;
    e.preventDefault();
    const all = rows(), from = all.indexOf(dragged), place = all.indexOf(row) + (lower(row, e) ? 1 : 0), to = place > from ? place - 1 : place;
    stepTo(dragged, to, () => focusTick(to));
  });
  document.addEventListener("dragend", () => {
    clear();
    dragged?.classList.remove("dragged");
    if (dragged) dragged.draggable = false;
    dragged = null;
  });

  // --- keys ---
  document.addEventListener("keydown", e => {
    const row = e.target.closest?.("#plan .steps > li");
    if (row && e.altKey && (e.key === "ArrowUp" || e.key === "ArrowDown")) {
      e.preventDefault();
      const to = rows().indexOf(row) + (e.key === "ArrowUp" ? -1 : 1);
      stepTo(row, to, () => focusTick(to));
    }
  });

  // --- an entry of the stream by its URL: earlier ones are fetched until it is found ---
  let looks = 20;
  const reveal = () => {
    if (!/^#(msg|ev|run)-\d+$/.test(location.hash)) return;
    const el = q(location.hash), more = q("[data-earlier]");
    if (el && !el.matches(":target")) location.replace(location.href); // it was missing when the page was loaded
    if (el) el.scrollIntoView({ block: "center" });
    else if (more && looks-- > 0) more.click();
  };
  document.addEventListener("htmx:afterSettle", e => {
    if (source(e)?.matches?.("[data-earlier]")) {
      const said = q("#said"), more = q("[data-earlier]");
      if (said) said.textContent = "Earlier entries are shown";
      more?.focus({ preventScroll: true });
      reveal();
    }
  });
  addEventListener("load", reveal);
  addEventListener("hashchange", reveal);
})();
