// How labels are shown: one function per view. Each calls `why(part, opener, title)` to explain a
// part, where `part` tells the parts of an explanation that are meant.

import { bar, el, number, percent, table } from "./dom.js";
import { arcDrawing } from "./arcs.js";
import { treeDrawing } from "./tree.js";

const UNSURE = 0.5;
const HUES = 8;

// The part of a label that says what it is: NP of B-NP.
function kindOf(label) {
  return String(label).replace(/^[BIESLUM]-/, "");
}

function hue(model, label) {
  const kinds = [...new Set(model.labels.map(kindOf))].filter((kind) => kind !== "O");
  return `hue-${Math.max(0, kinds.indexOf(kindOf(label))) % HUES}`;
}

// What only screen readers say; the rest of the name of a button is what it shows.
function aloud(text) {
  return el("span", { class: "aloud" }, text);
}

function under(label, p) {
  return el("span", { class: "under" }, aloud(": "), label, p === undefined || p === null ? null
    : [aloud(", probability "), el("span", { class: "p" }, percent(p))]);
}

function chance(p) {
  return p === undefined || p === null ? "" : `, probability ${percent(p)}`;
}

function spans(result, model, why) {
  const line = el("p", { class: "line" });
  let t = 0;
  const plain = (upto) => {
    for (; t < upto; t += 1) {
      const at = t;
      const word = result.tokens[t];
      const p = result.probabilities ? result.probabilities[t] : undefined;
      const label = result.labels ? result.labels[t] : "no span";
      line.append(el("button", {
        type: "button", class: "token",
        onclick: (event) => why((part) => covers(part, at, at + 1), event.currentTarget, `“${word}”`),
      }, word, aloud(`: ${label}${chance(p)}`)), " ");
    }
  };
  for (const span of result.spans) {
    plain(span.start);
    const words = result.tokens.slice(span.start, span.end).join(" ");
    line.append(el("button", {
      type: "button",
      class: `span ${hue(model, span.label)} ${span.probability < UNSURE ? "unsure" : ""}`,
      onclick: (event) => why((part) => covers(part, span.start, span.end), event.currentTarget,
        `“${words}”`),
    }, words, under(span.label, span.probability)), " ");
    t = span.end;
  }
  plain(result.tokens.length);
  return line;
}

function covers(part, start, end) {
  const first = part.place[0];
  const last = part.place.length > 1 ? part.place[1] : first + 1;
  return first < end && last > start;
}

function tags(result, model, why) {
  const line = el("p", { class: "line" });
  result.tokens.forEach((word, t) => {
    const label = result.labels[t];
    const p = result.probabilities ? result.probabilities[t] : undefined;
    line.append(el("button", {
      type: "button",
      class: `span tagged ${hue(model, label)} ${label === "O" ? "plain" : ""} ${p < UNSURE ? "unsure" : ""}`,
      onclick: (event) => why((part) => part.place[0] === t && part.place.length === 1,
        event.currentTarget, `“${word}”`),
    }, word, under(label, p)), " ");
  });
  return line;
}

function classes(result, model, why) {
  const best = el("p", { class: "best" }, result.label,
    result.probability === undefined ? null : el("span", { class: "p" }, percent(result.probability)));
  const ask = el("button", {
    type: "button",
    onclick: (event) => why(() => true, event.currentTarget, `“${result.label}”`),
  }, "Why this label?");
  const listed = (result.marginals || []).slice().sort((a, b) => b.probability - a.probability).slice(0, 12);
  const bars = el("ul", { class: "bars", "aria-label": "Probabilities of the labels" },
    listed.map((one) => el("li", {}, el("span", { class: "word" }, one.label), bar(one.probability),
      el("span", { class: "n" }, percent(one.probability)))));
  return el("div", {}, best, listed.length ? bars : null, el("p", {}), ask);
}

function scroller(drawing, about) {
  return el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": about }, drawing);
}

// A table scrolls by itself where the screen is too narrow for its words.
function scrolled(headings, rows, about) {
  return el("div", { class: "scroll", role: "group", tabindex: "0", "aria-label": about }, table(headings, rows));
}

function arcs(result, model, why) {
  const word = (head) => (head === 0 ? "root" : result.tokens[head - 1]);
  const relation = (t) => (result.relations ? result.relations[t] : "");
  const ask = (t, opener) => why((part) => part.place[0] === t + 1, opener, `the head of “${result.tokens[t]}”`);
  const rows = result.tokens.map((text, t) => [
    el("button", { type: "button", onclick: (event) => ask(t, event.currentTarget) }, text),
    word(result.heads[t]), relation(t), percent(result.probabilities && result.probabilities[t]),
  ]);
  const headings = ["Word", "Head", "Relation", { n: "Probability" }];
  return el("div", {},
    scroller(arcDrawing(result, ask, UNSURE), "Drawing of the tree; the table below says the same"),
    el("details", { open: result.tokens.length <= 12 }, el("summary", {}, "As a table"), scrolled(headings, rows, "Words and heads")));
}

function tree(result, model, why) {
  const ask = (i, opener) => {
    const node = result.nodes[i];
    const words = result.tokens.slice(node.start, node.end).join(" ");
    why((part) => covers(part, node.start, node.end) && part.label === node.label
      && part.place[0] === node.start && (part.place.length === 1 || part.place[1] === node.end),
    opener, `${node.label} over “${words}”`);
  };
  const rows = result.nodes.map((node, i) => [node, i]).filter(([node]) => !node.word).map(([node, i]) => [
    el("button", { type: "button", onclick: (event) => ask(i, event.currentTarget) }, node.label),
    result.tokens.slice(node.start, node.end).join(" "),
    percent(result.probabilities && result.probabilities[i]),
  ]);
  return el("div", {},
    scroller(treeDrawing(result, ask), "Drawing of the tree; the table below says the same"),
    el("details", {}, el("summary", {}, "As a table"),
      scrolled(["Phrase", "Words", { n: "Probability" }], rows, "Phrases")));
}

// A label of which the server knows no more than its parts.
function text(label) {
  return typeof label === "object" ? JSON.stringify(label) : label;
}

function whole(result, model, why) {
  const rows = (result.parts || []).map((part) => [
    el("button", {
      type: "button",
      onclick: (event) => why((one) => one.kind === part.kind && String(one.place) === String(part.place),
        event.currentTarget, `${part.kind} ${part.place.join("-")}`),
    }, part.label), `${part.kind} ${part.place.join("-")}`,
  ]);
  const best = el("p", { class: "best" }, text(result.label),
    result.probability === undefined ? null : el("span", { class: "p" }, percent(result.probability)));
  const ask = el("button", {
    type: "button", onclick: (event) => why(() => true, event.currentTarget, "the label"),
  }, "Why this label?");
  return el("div", {}, best, rows.length ? scrolled(["Label", "Part"], rows, "Parts of the label") : null, ask);
}

const VIEWS = { spans, tags, label: classes, arcs, tree, vertices: tags, whole };

export function view(result, model, why) {
  return VIEWS[model.view](result, model, why);
}

// Alternatives: what is different from the best.

function differences(one, best) {
  if (one.tree !== undefined) return one.tree;
  if (one.label !== undefined) return text(one.label);
  const words = best.tokens;
  const named = (label, t) => el("span", {}, el("mark", {}, `${words[t]}: ${label}`), " ");
  if (one.heads) {
    const found = one.heads.map((head, t) => {
      const own = one.relations ? one.relations[t] : "";
      const theirs = best.relations ? best.relations[t] : "";
      if (head === best.heads[t] && own === theirs) return null;
      return named(`${head === 0 ? "root" : words[head - 1]} ${own}`, t);
    });
    return found.filter(Boolean);
  }
  if (one.labels) {
    return one.labels.map((label, t) => (label === best.labels[t] ? null : named(label, t))).filter(Boolean);
  }
  return one.spans.map((span) => `${words.slice(span.start, span.end).join(" ")}: ${span.label}`).join("; ");
}

export function alternatives(result) {
  const listed = result.alternatives || [];
  if (listed.length < 2) return null;
  const rows = listed.map((one, i) => [
    String(i + 1),
    i === 0 && one.tree === undefined && one.label === undefined ? "the one above" : differences(one, result),
    percent(one.probability), number(one.score),
  ]);
  return el("details", {}, el("summary", {}, `${listed.length} best alternatives`),
    scrolled(["Rank", "What is different", { n: "Probability" }, { n: "Score" }], rows, "Alternatives"));
}
