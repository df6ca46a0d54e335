// A phrase-structure tree, root on top and each word below its tag.

import { percent, svg } from "./dom.js";

const LEVEL = 46;
const GAP = 18;

export function treeDrawing(result, ask) {
  const { tokens, nodes, probabilities } = result;
  const context = document.createElement("canvas").getContext("2d");
  context.font = `15px ${getComputedStyle(document.body).fontFamily}`;
  const children = nodes.map(() => []);
  const depth = nodes.map(() => 0);
  nodes.forEach((node, i) => {
    if (node.parent !== null) {
      children[node.parent].push(i);
      depth[i] = depth[node.parent] + 1;
    }
  });
  const deepest = Math.max(...depth);
  const at = nodes.map(() => 0);
  let x = 12;
  nodes.forEach((node, i) => {
    if (!node.word) return;
    const own = Math.max(context.measureText(tokens[node.start]).width,
      context.measureText(node.label).width, 22);
    at[i] = x + own / 2;
    x += own + GAP;
  });
  // Children come after their parents, so that going backwards they are placed first.
  for (let i = nodes.length - 1; i >= 0; i -= 1) {
    if (!nodes[i].word) {
      const own = children[i];
      at[i] = (at[own[0]] + at[own[own.length - 1]]) / 2;
    }
  }
  // A word hangs right below its phrase, so that no line crosses a label.
  const y = (i) => 22 + depth[i] * LEVEL;
  const lines = nodes.map((node, i) => (node.parent === null ? null
    : svg("path", { class: "branch", d: `M${at[node.parent]},${y(node.parent) + (probabilities ? 18 : 6)} L${at[i]},${y(i) - 14}` })));
  const marks = nodes.map((node, i) => {
    const p = probabilities && !node.word ? percent(probabilities[i]) : "";
    const group = svg("g", { class: "node hit" },
      svg("text", { x: at[i], y: y(i), "text-anchor": "middle" }, node.label),
      p ? svg("text", { x: at[i], y: y(i) + 14, "text-anchor": "middle", class: "small" }, p) : null);
    group.addEventListener("click", () => ask(i, group));
    return group;
  });
  const words = nodes.map((node, i) => (node.word
    ? svg("text", { x: at[i], y: y(i) + 19, "text-anchor": "middle" }, tokens[node.start]) : null));
  const height = 22 + deepest * LEVEL + 30;
  return svg("svg", {
    class: "drawing", role: "img", width: Math.ceil(x), height,
    viewBox: `0 0 ${Math.ceil(x)} ${height}`, "aria-label": `Tree over ${tokens.length} words`,
  }, lines, marks, words);
}
