// What pages ask of this browser: its time zone, and whether single keys count.
(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
  if (/^[\w+/-]{1,64}$/.test(zone) && !document.cookie.split("; ").includes(`tz=${zone}`)) {
    document.cookie = `tz=${zone}; Path=/; Max-Age=31536000; SameSite=Lax`;
  }
  // Off means off for every script: the key reaches the fields and the browser, and nobody else.
  addEventListener("keydown", e => {
    if (document.documentElement.dataset.keys !== "off" || e.key.length !== 1 || e.key === " " || e.ctrlKey || e.metaKey || e.altKey) return;
    e.stopImmediatePropagation();
  }, true);
})();
