// The search field of the reference hides the operations that do not contain every word.
(() => {
  const field = document.querySelector("[data-docs-find]");
  if (!field) return;
  field.parentElement.hidden = false;
  const ops = [...document.querySelectorAll("[data-doc]")], groups = [...document.querySelectorAll("[data-docs-group]")];
  const said = document.querySelector("#said");
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    ops.forEach(op => { op.hidden = !words.every(w => op.dataset.doc.includes(w)); });
    groups.forEach(g => { g.hidden = !g.querySelector("[data-doc]:not([hidden])"); });
    const left = ops.filter(op => !op.hidden && op.localName === "section").length;
    if (said) said.textContent = words.length ? `${left} operations` : "";
  });
})();
