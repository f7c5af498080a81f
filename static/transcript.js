// The live transcript of a run. <ol id="transcript" data-stream="URL" data-after="ID" data-live="run:ID"> grows by
// what URL?after=ID answers: list items alone, in order. It goes on where it stopped, adds nothing twice, and moves
// the page only for a reader who stands at its end.
(() => {
  const near = 80; // pixels that still count as the end
  const pollEvery = 10000;
  let busy = false, again = false;
  const list = () => document.getElementById("transcript");
  const scroller = el => {
    for (let p = el.parentElement; p; p = p.parentElement) {
      if (p.scrollHeight > p.clientHeight && /auto|scroll/.test(getComputedStyle(p).overflowY)) return p;
    }
    return document.scrollingElement;
  };
  const atEnd = box => box.scrollHeight - box.scrollTop - box.clientHeight < near;
  const following = () => document.querySelector("[data-follow]")?.checked ?? true;

  // Returns how many items were new. Known ids are passed over, and the cursor moves past them all the same.
  const append = (ol, html) => {
    const items = new DOMParser().parseFromString(`<ol>${html}</ol>`, "text/html").querySelectorAll("body > ol > li[id]");
    const box = scroller(ol), stay = atEnd(box) && following();
    let fresh = 0;
    for (const li of items) {
      const last = Number(li.dataset.last);
      if (last > Number(ol.dataset.after)) ol.dataset.after = String(last);
      if (document.getElementById(li.id)) continue;
      ol.append(document.importNode(li, true));
      fresh++;
    }
    if (fresh) {
      ol.hidden = false;
      document.getElementById("transcript-empty")?.remove();
      if (stay) box.scrollTop = box.scrollHeight;
    }
    return items.length;
  };
  const pull = async () => {
    const ol = list();
    if (!ol?.dataset.stream || document.hidden) return;
    if (busy) { again = true; return; }
    busy = true;
    try {
      for (let more = true; more;) {
        const url = new URL(ol.dataset.stream, location.href);
        url.searchParams.set("after", ol.dataset.after || "0");
        const res = await fetch(url, { headers: { Accept: "text/html" }, redirect: "error" });
        const before = ol.dataset.after;
        more = res.ok && append(ol, await res.text()) > 0 && ol.dataset.after !== before;
      }
    } catch { /* the server is away: the next word of it, or the next round, goes on from here */ }
    busy = false;
    if (again) { again = false; pull(); }
  };
  document.addEventListener("live", e => { if (e.target.id === "transcript") pull(); });
  document.addEventListener("visibilitychange", pull);
  addEventListener("pageshow", pull);
  setInterval(() => { if (document.querySelector("[data-run-open]")) pull(); }, pollEvery);
})();
