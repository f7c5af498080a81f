// Live parts. An element says data-live="topic topic"; when the server names one of its topics, the element
// refetches itself (its own hx-get, hx-trigger="live"). One EventSource serves the whole page.
(() => {
  if (!window.EventSource) return;
  let source, opened = "", dropped = false;
  const due = new Map();
  const parts = () => [...document.querySelectorAll("[data-live]")];
  const topicsOf = el => el.dataset.live.split(/\s+/).filter(Boolean);
  const refetch = el => {
    if (!el.id || due.has(el.id)) return;
    due.set(el.id, setTimeout(() => {
      due.delete(el.id);
      const now = document.getElementById(el.id);
      if (now) htmx.trigger(now, "live");
    }, 100));
  };
  // Every part brings the frame of the page with it, so the frame asks by itself only where it is alone.
  const renew = list => {
    const own = list.filter(el => !el.hasAttribute("data-live-frame"));
    (own.length ? own : list).forEach(refetch);
  };
  let said = ["", ""];
  const pill = (text, kind) => {
    said = [text, kind];
    if (text) document.querySelectorAll("[data-live-pill]").forEach(p => {
      p.hidden = false;
      p.className = "pill hide-s " + kind;
      p.firstElementChild.className = "dot live " + kind;
      p.lastElementChild.textContent = text;
    });
  };
  const close = () => { source?.close(); source = null; opened = ""; };
  const open = () => {
    const topics = [...new Set(parts().flatMap(topicsOf))].sort().join(",");
    if (document.hidden || topics === opened) return;
    close();
    if (!topics) return;
    opened = topics;
    source = new EventSource("/live?topics=" + encodeURIComponent(topics));
    source.onopen = () => { pill("Live", "run"); if (dropped) { dropped = false; renew(parts()); } };
    // What changed between this page and its stream was told to nobody.
    source.addEventListener("hello", e => {
      const root = document.documentElement;
      if (root.dataset.gen !== e.data) { root.dataset.gen = e.data; renew(parts()); }
    });
    source.onerror = () => {
      dropped = true;
      pill("Reconnecting", "warn");
      // A refused stream is closed for good by the browser; try again by ourselves.
      if (source?.readyState === EventSource.CLOSED) { close(); setTimeout(open, 5000); }
    };
    source.onmessage = e => {
      const named = new Set(JSON.parse(e.data));
      renew(parts().filter(el => topicsOf(el).some(t => named.has(t))));
    };
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { close(); dropped = true; pill("Paused", ""); } else open();
  });
  document.addEventListener("htmx:afterSettle", () => { pill(...said); open(); });
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
})();
