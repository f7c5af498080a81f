// The editor of a definition: numbered lines below the text follow the input and show the problems of the check.
(() => {
  const area = document.querySelector("#text"), list = document.querySelector(".editor-lines");
  if (!area || !list) return;
  const mark = () => {
    const bad = new Map();
    document.querySelectorAll("#check [data-line]").forEach(p => {
      if (p.classList.contains("bad") || !bad.has(p.dataset.line)) bad.set(p.dataset.line, p.classList.contains("bad") ? "bad" : "warn");
    });
    [...list.children].forEach((li, i) => { li.className = bad.get(String(i + 1)) ?? ""; });
  };
  const draw = () => {
    const lines = area.value.split("\n");
    while (list.children.length > Math.max(1, lines.length)) list.lastChild.remove();
    lines.forEach((text, i) => {
      let li = list.children[i];
      if (!li) {
        li = document.createElement("li");
        li.id = "L" + (i + 1);
        li.append(document.createElement("span"));
        list.append(li);
      }
      if (li.firstChild.textContent !== text) li.firstChild.textContent = text;
    });
  };
  area.addEventListener("input", draw);
  document.addEventListener("htmx:afterSettle", mark);
  addEventListener("pageshow", () => { draw(); mark(); }); // going back restores the text
  // A problem links to its line.
  document.addEventListener("click", e => {
    const link = e.target.closest("[data-line-link]");
    if (!link) return;
    e.preventDefault();
    const lines = area.value.split("\n"), n = Math.min(Number(link.dataset.lineLink), lines.length) || 1;
    const at = lines.slice(0, n - 1).reduce((sum, l) => sum + l.length + 1, 0);
    area.focus({ preventScroll: true });
    area.setSelectionRange(at, at + lines[n - 1].length);
    list.children[n - 1]?.scrollIntoView({ block: "center" });
  });
  // The button checks without leaving the page, one check at a time.
  let checking = false;
  document.addEventListener("submit", e => {
    if (!e.submitter?.hasAttribute("data-check")) return;
    e.preventDefault();
    delete e.target.dataset.sent;
    if (checking) return;
    checking = true;
    htmx.ajax("POST", e.submitter.getAttribute("formaction"), { source: area, target: "#check", select: "#check", swap: "morph:outerHTML" }).catch(() => {}).finally(() => { checking = false; });
  });
})();
