// z takes back the last act, while its toast offers that. The browser's zone goes into a cookie: days begin, and
// "tomorrow" is, where the person lives.
(() => {
  document.addEventListener("keydown", e => {
    if (e.key !== "z" || e.metaKey || e.ctrlKey || e.altKey || e.target.closest?.("input:not([type=checkbox]),textarea,select") || document.querySelector("dialog[open]")) return;
    document.querySelector("[data-undo]")?.click();
  });
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && !document.cookie.split("; ").includes(`zone=${zone}`)) document.cookie = `zone=${zone}; Path=/; Max-Age=31536000; SameSite=Lax`;
})();
