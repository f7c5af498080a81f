// Cards are dragged with mouse or pen: to another column to hand them over, up or down in their own to change the
// priority. The menu of each card and keys do the same; touch scrolls.
(() => {
  const all = (s, r = document) => [...r.querySelectorAll(s)];
  const num = card => ({ id: Number(card.id.slice(2)), p: Number(card.dataset.p) });
  let drag = null, dropped = false;

  // The smallest priority change that moves a task between two others; a queue is sorted by priority, then by number.
  const between = (me, above, below, up) => {
    const fits = n => (!above || above.p > n || above.p === n && above.id < me.id) && (!below || n > below.p || n === below.p && me.id < below.id);
    const near = [me.p, below && below.p, below && below.p + 1, above && above.p, above && above.p - 1].filter(Number.isFinite);
    const found = near.sort((a, b) => Math.abs(a - me.p) - Math.abs(b - me.p)).find(fits);
    return found ?? (up ? below.p + 1 : above.p - 1);
  };

  const box = (cls, text) => {
    const el = document.createElement("div");
    el.className = cls;
    el.textContent = text;
    return el;
  };
  const start = () => {
    const { card } = drag, r = card.getBoundingClientRect();
    drag.home = card.closest(".col");
    drag.ghost = card.cloneNode(true);
    [drag.ghost, ...all("[id]", drag.ghost)].forEach(e => e.removeAttribute("id"));
    drag.ghost.removeAttribute("data-row");
    drag.ghost.classList.add("ghost");
    drag.ghost.setAttribute("aria-hidden", "true");
    drag.ghost.inert = true;
    drag.ghost.style.width = `${r.width}px`;
    drag.dx = drag.x - r.left;
    drag.dy = drag.y - r.top;
    document.body.append(drag.ghost);
    document.body.dataset.dragging = "1";
    card.classList.add("drag");
    getSelection().removeAllRanges();
  };
  const others = () => all(".task-card", drag.card.parentElement).filter(c => c !== drag.card);
  const place = e => {
    drag.ghost.style.transform = `translate(${e.clientX - drag.dx}px, ${e.clientY - drag.dy}px)`;
    drag.mark?.remove();
    drag.mark = drag.to = null;
    const col = document.elementFromPoint(e.clientX, e.clientY)?.closest(".col");
    if (!col) return;
    if (col !== drag.home) {
      drag.to = col.dataset.agent;
      drag.mark = box("drop", `Drop to hand off #${num(drag.card).id} to ${drag.to}`);
      (col.querySelector(".subhead") || col.querySelector("header")).after(drag.mark);
      return;
    }
    const list = others(), below = list.find(c => { const r = c.getBoundingClientRect(); return e.clientY < r.top + r.height / 2; });
    drag.below = below;
    drag.above = below ? list[list.indexOf(below) - 1] : list.at(-1);
    drag.mark = box("drop line", "");
    if (below) below.before(drag.mark); else drag.card.parentElement.append(drag.mark);
  };
  const scroll = e => {
    const s = drag.card.closest(".scroll"), r = s.getBoundingClientRect(), edge = 48, step = 16;
    s.scrollBy(e.clientX > r.right - edge ? step : e.clientX < r.left + edge ? -step : 0, e.clientY > r.bottom - edge ? step : e.clientY < r.top + edge ? -step : 0);
  };
  const end = () => {
    drag.mark?.remove();
    drag.ghost?.remove();
    drag.card.classList.remove("drag");
    delete document.body.dataset.dragging;
    drag = null;
    document.dispatchEvent(new Event("taskyard:dropped"));
  };
  const drop = () => {
    const { card, to, home, mark, above, below } = drag, me = num(card);
    end();
    if (!mark || !document.contains(card)) return;
    if (to) { window.taskyard.handOver(card.querySelector("[data-key-move]").href, card, to); return; }
    const list = all(".task-card", home), up = below && list.indexOf(below) < list.indexOf(card);
    const p = above || below ? between(me, above && num(above), below && num(below), up) : me.p;
    if (p !== me.p) window.taskyard.reprioritize(me.id, me.p, p);
  };

  document.addEventListener("dragstart", e => { if (e.target.closest?.(".task-card")) e.preventDefault(); });
  document.addEventListener("pointerdown", e => {
    const card = e.target.closest?.(".board .task-card");
    if (drag && !e.button) end();
    dropped = false;
    if (!card || e.button || e.pointerType === "touch" || e.target.closest(".menu, input") || !document.getElementById("act")) return;
    drag = { card, x: e.clientX, y: e.clientY };
  });
  document.addEventListener("pointermove", e => {
    if (!drag) return;
    if (!(e.buttons & 1)) { end(); return; } // the button was released outside the window
    if (!drag.ghost) {
      if (Math.hypot(e.clientX - drag.x, e.clientY - drag.y) < 6) return;
      start();
    }
    e.preventDefault();
    scroll(e);
    place(e);
  });
  document.addEventListener("pointerup", e => {
    if (!drag?.ghost) { drag = null; return; }
    place(e);
    dropped = true;
    drop();
  });
  addEventListener("pointercancel", () => { if (drag) end(); });
  // Ignore the click that ends a drag.
  addEventListener("click", e => { if (dropped) { dropped = false; e.preventDefault(); e.stopPropagation(); } }, true);
  addEventListener("keydown", e => { if (drag?.ghost && e.key === "Escape") { e.stopPropagation(); end(); dropped = true; } }, true);
})();
