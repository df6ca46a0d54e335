// Why a part has its label: the features that spoke for it and against it, and the runner-up.

import { bar, el, number, percent } from "./dom.js";

function weighed(items, most, against) {
  return el("ul", { class: "weighed" }, items.map((one) => el("li", { class: against ? "against" : "for" },
    el("span", { class: "feature" }, featureOf(one)),
    el("span", { class: "n" }, (one.product > 0 ? "+" : "") + number(one.product)),
    bar(Math.abs(one.product) / most))));
}

function featureOf(one) {
  const where = one.where ? ` at ${one.where}` : "";
  const value = one.value === 1 || one.value === null ? "" : ` × ${number(one.value)}`;
  if (one.instead !== undefined) {
    return `${one.feature}${value}${where} (${sides(one)})`;
  }
  const own = one.kind === "transition" || one.kind === "rule" || one.kind === "split";
  return own ? `${one.kind} ${one.label}${one.feature === "constant" ? "" : `, ${one.feature}`}${value}`
    : `${one.feature}${value}`;
}

// What a difference is about: the label of the prediction and that of the runner-up, or one of them.
function sides(one) {
  if (!one.instead) return `${one.label}, not in the runner-up`;
  return one.label ? `${one.label} rather than ${one.instead}` : `${one.instead}, in the runner-up`;
}

function contributions(part) {
  const pro = part.contributions.filter((one) => one.product > 0);
  const con = part.contributions.filter((one) => one.product < 0);
  const most = Math.max(...part.contributions.map((one) => Math.abs(one.product)), 1e-300);
  const rest = part.others.count
    ? `${part.others.count} more add ${number(part.others.sum)}. ` : "";
  return [
    el("h3", {}, "Spoke for it"),
    pro.length ? weighed(pro, most, false) : el("p", { class: "hint" }, "No feature."),
    el("h3", {}, "Spoke against it"),
    con.length ? weighed(con, most, true) : el("p", { class: "hint" }, "No feature."),
    el("p", { class: "sum" }, `${rest}Together: ${number(part.score)}.`),
  ];
}

function runnerUp(part) {
  const rival = part.runner_up;
  if (!rival) return [];
  const most = Math.max(...rival.differences.map((one) => Math.abs(one.product)), 1e-300);
  return [el("details", {}, el("summary", {}, `What decided against ${rival.label}`),
    el("p", { class: "hint" }, "Each number is how much more the prediction gets than the "
      + "runner-up; all of them add up to the margin."),
    weighed(rival.differences, most, false))];
}

function one(part) {
  const head = el("p", {}, el("strong", {}, part.label),
    part.probability === null ? null : ` with probability ${percent(part.probability)}`);
  const margin = part.runner_up
    ? el("p", { class: "sum" }, `Runner-up: ${part.runner_up.label}, behind by ${number(part.runner_up.margin)}.`)
    : null;
  return el("div", {}, head, margin, contributions(part), runnerUp(part));
}

export function explanation(parts) {
  if (!parts.length) return el("p", { class: "hint" }, "The model has no label of its own for this input, so there is nothing to explain.");
  if (parts.length === 1) return one(parts[0]);
  return el("div", {}, parts.map((part) => el("details", { open: part === parts[0] },
    el("summary", {}, `${part.text || part.kind}: ${part.label}`), one(part))));
}
