// Live parts. An element declares data-live="topic topic"; when the server names one of its topics, the element
// refetches itself (its own hx-get, hx-trigger="live"). All tabs of a browser share one stream, because browsers open
// at most six connections to a server: the tab that holds the lock has the stream and forwards its events. Hidden tabs
// leave, and compare the generation of the page when they are visible again.
(() => {
  if (!window.EventSource) return;
  // A stream has at most maxTopics.
  const root = document.documentElement, maxTopics = 300;
  const me = Math.random().toString(36).slice(2);
  // Neither is available over plain HTTP, except on this machine.
  const shared = navigator.locks && window.BroadcastChannel;
  // Other instances may be at other paths of the same host.
  const name = `taskyard-tabs${window.taskyard.prefix}`;
  const bus = shared && new BroadcastChannel(name);
  const store = { get: () => { try { return sessionStorage.getItem("live"); } catch { return null; } }, set: v => { try { sessionStorage.setItem("live", v); } catch { /* private windows */ } } };
  let stopped = store.get() === "paused", wanted = "", missed = false, state = "";

  // --- the parts of this page ---
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
  // The answer for a part includes the frame of the page, so the frame is refetched separately only if it is the only part.
  const renew = list => {
    const own = list.filter(el => !el.hasAttribute("data-live-frame"));
    (own.length ? own : list).forEach(refetch);
  };
  // The server omits parts that are unchanged.
  document.addEventListener("htmx:configRequest", e => {
    if (e.detail.triggeringEvent?.type === "live") e.detail.headers["Taskyard-Held"] = taskyard.held();
  });
  document.addEventListener("taskyard:missed", () => {
    document.querySelectorAll("[data-part]").forEach(p => p.removeAttribute("data-part"));
    renew(parts());
  });
  // Nothing is swapped between pointerdown and pointerup, because a click on a replaced element would be lost.
  const maxPress = 2000; // releasing a scroll bar fires no event
  const deferred = new Set();
  let pressed = 0;
  const pressing = () => document.body.dataset.dragging || Date.now() - pressed < maxPress;
  const released = () => {
    if (pressing()) return;
    const ids = [...deferred];
    deferred.clear();
    ids.map(id => document.getElementById(id)).filter(Boolean).forEach(refetch);
  };
  document.addEventListener("pointerdown", () => { pressed = Date.now(); setTimeout(released, maxPress + 50); }, true);
  for (const end of ["pointerup", "pointercancel", "taskyard:dropped"]) document.addEventListener(end, () => setTimeout(() => { pressed = 0; released(); }), true);
  document.addEventListener("htmx:beforeSwap", e => {
    if (e.detail.requestConfig?.triggeringEvent?.type !== "live" || !pressing()) return;
    e.detail.shouldSwap = false;
    deferred.add(e.target.id);
  });
  const kinds = { Live: "run", Paused: "", Reconnecting: "warn", Offline: "bad" };
  const pill = text => {
    state = text;
    if (text) document.querySelectorAll("[data-live-pill]").forEach(p => {
      if (!p.hidden && p.lastElementChild.textContent === text) return; // writing the same text would still repaint it
      p.hidden = false;
      p.className = `pill hide-sm ${kinds[text]}`;
      p.setAttribute("aria-pressed", String(stopped));
      p.firstElementChild.className = `dot ${text === "Live" ? "live" : ""} ${kinds[text]}`;
      p.lastElementChild.textContent = text;
    });
  };

  // handle takes a message of the stream, from this tab or the leading one.
  const handle = m => {
    if (!wanted) return;
    if (m.lost) {
      missed = true;
      pill(m.lost);
      if (m.refused) renew(parts()); // the answers say why
      return;
    }
    if (m.named) {
      const named = new Set(m.named);
      renew(parts().filter(el => topicsOf(el).some(t => named.has(t))));
    }
    // A stream opened before this page does not include its topics; wait for the next one.
    if (!wanted.split(",").every(t => m.topics.includes(t))) return;
    pill("Live");
    if (!m.named && (missed || root.dataset.gen !== m.gen)) renew(parts()); // changes in the meantime were not announced
    root.dataset.gen = m.gen;
    missed = false;
  };

  // --- the stream, in the leading tab ---
  const members = new Map();
  let leading = false, release = null, source = null, since = 0, timer = 0;
  const minPause = 5000, maxPause = 60000; // ms until a refused stream is opened again
  let pause = minPause;
  const broadcast = m => { handle(m); bus?.postMessage({ message: m }); };
  const close = () => { clearTimeout(timer); timer = 0; source?.close(); source = null; };
  const lost = refused => {
    since ||= Date.now();
    broadcast({ lost: navigator.onLine && Date.now() - since < 15000 ? "Reconnecting" : "Offline", refused });
  };
  const open = () => {
    timer = 0;
    source?.close();
    const topics = [...new Set([...members.values()].flatMap(t => t.split(",")))].filter(Boolean).sort().slice(0, maxTopics);
    source = null;
    if (!leading || !topics.length) return;
    const mine = source = new EventSource(`${window.taskyard.prefix}/live?topics=` + encodeURIComponent(topics.join(",")));
    mine.addEventListener("hello", e => { if (mine === source) { since = 0; pause = minPause; broadcast({ topics, gen: e.data }); } });
    mine.onmessage = e => { if (mine === source) broadcast({ topics, named: JSON.parse(e.data), gen: e.lastEventId }); };
    mine.onerror = () => {
      if (mine !== source) return;
      const refused = mine.readyState === EventSource.CLOSED; // closed by the browser, which does not retry
      lost(refused);
      if (refused) { source = null; timer = setTimeout(open, pause); pause = Math.min(pause * 2, maxPause); }
    };
  };
  const reopen = () => { clearTimeout(timer); timer = setTimeout(open, 40); };
  const setMember = (tab, topics) => {
    if (topics) members.set(tab, topics); else members.delete(tab);
    if (topics || !members.size) reopen(); // topics of a tab that left are harmless
  };
  const lead = () => { leading = true; members.clear(); setMember(me, wanted); bus?.postMessage({ request: true }); };
  let queue = null;
  const join = () => {
    if (!shared) { if (!leading) lead(); else setMember(me, wanted); return; }
    bus.postMessage({ tab: me, topics: wanted });
    if (leading) setMember(me, wanted);
    if (queue) return;
    queue = new AbortController();
    navigator.locks.request(name, { signal: queue.signal }, () => new Promise(done => { release = done; lead(); })).catch(() => { /* left before it was our turn */ });
  };
  const leave = () => {
    if (!wanted) return;
    wanted = "";
    close();
    leading = false;
    bus?.postMessage({ tab: me, topics: "" });
    if (release) release(); else queue?.abort();
    release = queue = null;
  };
  if (bus) bus.onmessage = ({ data: m }) => {
    if (m.message) handle(m.message);
    else if (m.request) { if (wanted) bus.postMessage({ tab: me, topics: wanted }); }
    else if (leading) setMember(m.tab, m.topics);
  };

  // --- when the page subscribes ---
  const update = () => {
    const topics = [...new Set(parts().flatMap(topicsOf))].sort().join(",");
    if (document.hidden || stopped || !topics) {
      leave();
      if (topics) { missed = true; pill("Paused"); }
    } else if (topics !== wanted) {
      wanted = topics;
      join();
    }
  };
  document.addEventListener("click", e => {
    if (!e.target.closest("[data-live-pill]")) return;
    stopped = !stopped;
    store.set(stopped ? "paused" : "");
    update();
    const s = document.querySelector("#said");
    if (s) s.textContent = stopped ? "Live updates are paused" : "Live updates resumed";
  });
  document.addEventListener("visibilitychange", update);
  document.addEventListener("htmx:afterSettle", () => { if (state) pill(state); update(); });
  addEventListener("offline", () => { if (leading) lost(); });
  addEventListener("online", () => { if (leading) reopen(); });
  addEventListener("pagehide", leave);
  addEventListener("pageshow", update);
})();
