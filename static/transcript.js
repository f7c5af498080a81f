// The live transcript of a run. <ol id="transcript" data-stream="URL" data-after="ID" data-live="run:ID"> is extended
// with the answer of URL?after=ID, which consists of list items in order. It continues where it stopped, adds nothing
// twice, and scrolls only if the reader is at the end. Everything else here also works with links.
(() => {
  const near = 80; // pixels that still count as the end
  const pollEvery = 10000;
  let busy = false, again = false, unseen = 0;
  const id = name => document.getElementById(name);
  const list = () => id("transcript");
  const scroller = el => {
    for (let p = el.parentElement; p; p = p.parentElement) {
      if (p.scrollHeight > p.clientHeight && /auto|scroll/.test(getComputedStyle(p).overflowY)) return p;
    }
    return document.scrollingElement;
  };
  const atEnd = box => box.scrollHeight - box.scrollTop - box.clientHeight < near;
  const following = () => document.querySelector("[data-follow]")?.checked ?? true;

  // The link to the end, if the reader is elsewhere.
  const jump = () => {
    const b = id("tr-newest"), ol = list();
    if (!b || !ol) return;
    b.hidden = !ol.dataset.stream || id("tr-end").getBoundingClientRect().top <= innerHeight;
    if (b.hidden) unseen = 0;
    b.querySelector("span").textContent = unseen ? `${unseen} new ${unseen === 1 ? "line" : "lines"}` : "Jump to newest";
  };

  // A result that arrives after its call is moved into the call, with its ID.
  const joined = li => {
    const calls = li.dataset.answers ? [...list().querySelectorAll("li[data-call]")].filter(c => c.dataset.call === li.dataset.answers) : [];
    const into = calls.at(-1)?.querySelector("details"), from = li.querySelector("details");
    if (!into || !from) return false;
    const part = document.createElement("div");
    part.id = li.id;
    part.append(...from.querySelector(".content").childNodes);
    into.querySelector(".content").append(part);
    into.querySelector(".note").textContent = from.querySelector(".note").textContent;
    if (from.classList.contains("bad")) { into.classList.add("bad"); into.open = true; }
    delete calls.at(-1).dataset.call;
    return true;
  };
  const items = html => new DOMParser().parseFromString(`<ol>${html}</ol>`, "text/html").querySelectorAll("body > ol > li[id]");

  // Returns the number of new items. Known IDs are skipped, but also advance the cursor.
  const append = (ol, html) => {
    const came = items(html), box = scroller(ol), stay = atEnd(box) && following();
    let fresh = 0;
    for (const li of came) {
      const last = Number(li.dataset.last);
      if (last > Number(ol.dataset.after)) ol.dataset.after = String(last);
      if (id(li.id)) continue;
      fresh++;
      const own = document.importNode(li, true);
      if (!joined(own)) ol.append(own);
    }
    if (fresh) {
      ol.hidden = false;
      id("transcript-empty")?.remove();
      if (stay) box.scrollTop = box.scrollHeight; else unseen += fresh;
      jump();
    }
    return came.length;
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
        const res = await fetch(url, { headers: { Accept: "text/html" }, redirect: "error", signal: AbortSignal.timeout(20000) });
        const before = ol.dataset.after;
        more = res.ok && append(ol, await res.text()) > 0 && ol.dataset.after !== before;
      }
    } catch { /* the server is away: the next word of it, or the next round, continues from here */ }
    busy = false;
    if (again) { again = false; pull(); }
  };
  const load = async link => {
    const res = await fetch(link.href, { headers: { Accept: "text/html" } });
    if (!res.ok) throw new Error(res.status);
    return new DOMParser().parseFromString(await res.text(), "text/html");
  };

  // Earlier lines are added at the top without moving what the reader sees.
  const earlier = async link => {
    const page = await load(link), ol = list(), box = scroller(ol), height = box.scrollHeight, first = ol.firstElementChild;
    for (const li of page.querySelectorAll("#transcript > li[id]")) if (!id(li.id)) first.before(document.importNode(li, true));
    id("tr-earlier").replaceWith(document.importNode(page.getElementById("tr-earlier"), true));
    box.scrollTop += box.scrollHeight - height;
    (id("tr-earlier").querySelector("a") || first.querySelector("summary, a"))?.focus({ preventScroll: true });
  };
  const whole = async link => {
    const page = await load(link), cut = link.closest("[data-cut]"), all = document.importNode(page.querySelector("[data-whole]"), true);
    cut.replaceWith(all);
    all.querySelector("pre")?.focus();
  };
  const said = text => { const el = id("said"); if (el) el.textContent = text; };
  document.addEventListener("click", e => {
    if (e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey) return;
    const link = e.target.closest?.("a");
    const instead = fn => { e.preventDefault(); Promise.resolve(fn(link)).catch(() => location.assign(link.href)); };
    if (link?.matches("[data-earlier]")) instead(earlier);
    else if (link?.matches("[data-show-all]")) instead(whole);
    else if (link?.matches("[data-copy-link]") && navigator.clipboard) instead(async () => {
      await navigator.clipboard.writeText(link.href);
      history.replaceState(null, "", link.hash);
      said("Link copied");
      link.dataset.copied = link.dataset.copied || link.textContent;
      link.textContent = "Copied";
      setTimeout(() => { link.textContent = link.dataset.copied; }, 1500);
    });
    else if (link?.id === "tr-newest") instead(() => { id("tr-end").scrollIntoView({ block: "end" }); jump(); });
  });
  addEventListener("scroll", jump, { capture: true, passive: true });

  // Expand the line in the URL.
  const unfold = () => {
    const el = /^#m\d+$/.test(location.hash) && id(location.hash.slice(1));
    if (!el) return;
    (el.closest("details") || el.querySelector("details"))?.setAttribute("open", "");
    (el.querySelector("mark") || el).scrollIntoView({ block: "center" });
  };
  addEventListener("hashchange", unfold);
  document.addEventListener("live", e => { if (e.target.id === "transcript") pull(); });
  document.addEventListener("visibilitychange", pull);
  addEventListener("pageshow", () => { unfold(); jump(); pull(); });
  setInterval(() => { if (document.querySelector("[data-run-open]")) pull(); }, pollEvery);
})();
