// Elements from plain values. Text is only ever set as text, so that nothing in it can be markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) {
      node.append(child instanceof Node ? child : String(child));
    }
  }
  return node;
}

export function el(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

export function percent(p) {
  if (p === null || p === undefined) return "";
  if (p > 0.9995) return ">99.9%";
  if (p < 0.0005) return "<0.1%";
  return (100 * p).toFixed(p < 0.0995 || p > 0.9 ? 1 : 0) + "%";
}

export function number(x) {
  if (x === null || x === undefined) return "";
  const size = Math.abs(x);
  if (size !== 0 && (size < 0.001 || size >= 1e6)) return x.toExponential(2);
  return x.toFixed(size >= 100 ? 1 : 3);
}

export function bar(share) {
  const inner = el("span", {});
  inner.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return el("span", { class: "bar", "aria-hidden": "true" }, inner);
}

export function table(headings, rows, caption) {
  return el("table", {},
    caption ? el("caption", { class: "hint" }, caption) : null,
    el("thead", {}, el("tr", {}, headings.map((h) =>
      el("th", { scope: "col", class: h.n ? "n" : null }, h.n || h)))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, i) =>
      el("td", { class: headings[i].n ? "n" : "word" }, cell))))));
}
