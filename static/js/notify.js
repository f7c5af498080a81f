// Desktop notifications: enabled in Settings, for this browser only. While no tab is visible, one hidden tab holds the
// stream of the inbox and notifies when the number of waiting items grows.
(() => {
  const section = document.querySelector("[data-notify]"), { prefix } = window.taskyard;
  const seenLock = `taskyard-seen${prefix}`; // other instances may be at other paths of the same host
  if (!window.Notification || !navigator.locks) {
    if (section) section.querySelector("[data-notify-off]").hidden = false;
    return;
  }
  const wanted = () => localStorage.getItem("notify") === "on" && Notification.permission === "granted";
  const show = () => {
    if (!section) return;
    section.querySelector("[data-notify-on]").hidden = wanted();
    section.querySelector("[data-notify-stop]").hidden = !wanted();
    section.querySelector("[data-notify-denied]").hidden = Notification.permission !== "denied";
  };
  document.addEventListener("click", async e => {
    if (e.target.closest("[data-notify-on]")) {
      if (await Notification.requestPermission() === "granted") localStorage.setItem("notify", "on");
      show();
    }
    if (e.target.closest("[data-notify-stop]")) { localStorage.removeItem("notify"); show(); }
  });
  show();

  const seen = async () => (await navigator.locks.query()).held.some(l => l.name === seenLock);
  const waiting = async () => {
    const r = await fetch(`${prefix}/api/inbox`, { headers: { Accept: "application/json" } });
    if (!r.ok) return null;
    const b = await r.json();
    const newest = [...b.questions, ...b.approvals, ...b.permissions, ...b.stuck, ...b.blockerCanceled, ...b.notices].map(i => i.title ?? i.taskTitle);
    return { n: Object.values(b.totals).reduce((a, c) => a + c, 0), titles: newest };
  };
  const listen = (stop, over) => {
    let before = null;
    const look = async () => {
      const now = await waiting().catch(() => null);
      if (!now) return;
      if (before && now.n > before.n && wanted() && !await seen()) {
        const fresh = now.titles.filter(t => !before.titles.includes(t));
        const note = new Notification(now.n === 1 ? "1 thing waits for you" : `${now.n} things wait for you`, { body: fresh.slice(0, 3).join("\n"), tag: `taskyard-inbox${prefix}` });
        note.onclick = () => { window.focus(); location.assign(`${prefix}/`); note.close(); };
      }
      before = now;
    };
    const source = new EventSource(`${prefix}/live?topics=inbox`);
    source.onopen = look;
    source.onmessage = look;
    stop.addEventListener("abort", () => source.close());
    return over;
  };

  // Each turn ends the previous one, whether or not its lock has been granted.
  let last = null;
  const turn = () => {
    last?.abort();
    last = new AbortController();
    const { signal } = last, over = new Promise(done => { signal.addEventListener("abort", done); });
    const hold = (name, mode, fn) => navigator.locks.request(name, { mode, signal }, () => (signal.aborted ? null : fn())).catch(() => { /* over before its turn */ });
    if (!document.hidden) hold(seenLock, "shared", () => over); // visible tabs hold this lock
    else if (wanted()) hold(`taskyard-notify${prefix}`, "exclusive", () => listen(signal, over));
  };
  document.addEventListener("visibilitychange", turn);
  turn();
})();
