// A dependency tree as arcs over the words.

import { percent, svg } from "./dom.js";

const GAP = 26;
const STEP = 34;

function width(text, context) {
  return context.measureText(text).width;
}

export function arcDrawing(result, ask, unsure) {
  const { tokens, heads, relations, probabilities } = result;
  const context = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.body).fontFamily;
  context.font = `15px ${family}`;
  const labelOf = (t) => [heads[t] === 0 ? "root" : relations ? relations[t] : "",
    percent(probabilities ? probabilities[t] : null)].filter(Boolean).join(" ");
  const centres = [];
  let x = 14;
  tokens.forEach((word, t) => {
    const own = Math.max(width(word, context), 18);
    // The label of an arc between neighbours must fit between them.
    const joined = t > 0 && (heads[t] === t ? t : heads[t - 1] === t + 1 ? t - 1 : null);
    const room = joined === false || joined === null ? 0 : width(labelOf(joined), context) * 0.85 + 24;
    const centre = Math.max(x + own / 2, t > 0 ? centres[t - 1] + room : 0);
    centres.push(centre);
    x = centre + own / 2 + GAP;
  });
  // An arc is above all arcs that it encloses.
  const arcs = heads.map((head, t) => ({ t, head, a: Math.min(head - 1, t), b: Math.max(head - 1, t) }));
  const inner = arcs.filter((arc) => arc.head > 0).sort((p, q) => (p.b - p.a) - (q.b - q.a));
  for (const arc of inner) {
    arc.level = 1;
    for (const other of inner) {
      const inside = other.level && other !== arc && other.a >= arc.a && other.b <= arc.b;
      const crossing = other.level && other.a < arc.b && other.b > arc.a && other !== arc;
      if (inside || crossing) arc.level = Math.max(arc.level, other.level + 1);
    }
  }
  const top = Math.max(1, ...inner.map((arc) => arc.level));
  const base = 22 + (top + 1) * STEP;
  const height = base + 14;
  const groups = arcs.map((arc) => drawn(arc));

  function drawn({ t, head, level }) {
    const end = centres[t];
    const p = probabilities ? probabilities[t] : null;
    const from = head === 0 ? null : centres[head - 1] + (head - 1 < t ? 5 : -5);
    const y = head === 0 ? 16 : base - 14 - level * STEP;
    const bend = from === null ? 0 : Math.min(14, Math.abs(end - from) / 3) * Math.sign(end - from);
    const path = from === null ? `M${end},${y} V${base - 20}`
      : `M${from},${base - 18} V${y + Math.abs(bend)} Q${from},${y} ${from + bend},${y} H${end - bend}`
        + ` Q${end},${y} ${end},${y + Math.abs(bend)} V${base - 20}`;
    const middle = from === null ? end : (from + end) / 2;
    const shown = labelOf(t);
    context.font = `600 12px ${family}`;
    const wide = width(shown, context) + 6;
    const group = svg("g", { class: `arc hit ${p !== null && p < unsure ? "unsure" : ""}` },
      svg("path", { d: path }),
      svg("path", { class: "head", d: `M${end - 4},${base - 24} L${end + 4},${base - 24} L${end},${base - 16} Z` }),
      svg("rect", { class: "back", x: middle - wide / 2, y: y - 8, width: wide, height: 16 }),
      svg("text", { x: middle, y: y + 4, "text-anchor": "middle" }, shown));
    group.addEventListener("click", () => ask(t, group));
    return group;
  }

  const words = tokens.map((word, t) => {
    const text = svg("text", { x: centres[t], y: base + 4, "text-anchor": "middle", class: "hit" }, word);
    text.addEventListener("click", () => ask(t, groups[t]));
    return text;
  });
  // Long arcs first, so that the labels of short ones lie above their lines.
  const order = arcs.map((_, i) => i).sort((i, j) => (arcs[j].level || 99) - (arcs[i].level || 99));
  return svg("svg", {
    class: "drawing", role: "img", width: Math.ceil(x), height,
    viewBox: `0 0 ${Math.ceil(x)} ${height}`, "aria-label": `Dependency tree of ${tokens.length} words`,
  }, order.map((i) => groups[i]), words);
}
