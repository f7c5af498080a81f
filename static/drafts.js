// Drafts of comments and answers outlive a reload. <textarea data-draft="PERSON:TASK:comment"> keeps its text in this
// browser until the server has taken it: a taken text leads to the address of what was said, #msg-ID.
(() => {
  const prefix = "draft:", sentKey = "draft-sent";
  const store = (kind, fn) => { try { return fn(window[kind]); } catch { return null; } }; // storage may be off or full
  const keyOf = el => prefix + el.dataset.draft;
  const put = (key, text) => store("localStorage", s => (text ? s.setItem(key, text) : s.removeItem(key)));

  // The text that was sent last has done its work if this page shows a message that was not shown before.
  const settle = () => {
    const sent = store("sessionStorage", s => JSON.parse(s.getItem(sentKey) || "null"));
    if (!sent) return;
    store("sessionStorage", s => s.removeItem(sentKey));
    if (location.hash.startsWith("#msg-") && location.hash !== sent.hash && store("localStorage", s => s.getItem(sent.key)) === sent.text) put(sent.key, "");
  };
  const restore = () => document.querySelectorAll("textarea[data-draft]").forEach(el => {
    if (el.dataset.restored === el.dataset.draft) return;
    el.dataset.restored = el.dataset.draft;
    const text = store("localStorage", s => s.getItem(keyOf(el)));
    if (text && !el.value) el.value = text;
  });

  document.addEventListener("input", e => { if (e.target.matches?.("textarea[data-draft]")) put(keyOf(e.target), e.target.value); });
  document.addEventListener("submit", e => {
    if (e.target.getAttribute("action") === "/logout") { // what was typed here is nobody else's business
      store("localStorage", s => Object.keys(s).filter(k => k.startsWith(prefix)).forEach(k => s.removeItem(k)));
      return;
    }
    const el = e.target.querySelector("textarea[data-draft]");
    if (el && !e.defaultPrevented) store("sessionStorage", s => s.setItem(sentKey, JSON.stringify({ key: keyOf(el), text: el.value, hash: location.hash })));
  });
  document.addEventListener("htmx:afterSettle", restore); // a question may come in while one looks
  addEventListener("pageshow", e => { if (e.persisted) settle(); });
  settle();
  restore();
})();
