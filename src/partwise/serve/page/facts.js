// What is known about a model, and its certificate.

import { el, number } from "./dom.js";

const CHIPS = 16;

function certificate(model) {
  const { converged, relative_gap: gap, dual, objective, verdict } = model.certificate;
  if (model.origin) {
    return el("div", { class: "certificate open" }, el("strong", {}, "Not certified"),
      el("p", {}, `Another program trained it, for ${model.origin}.`));
  }
  if (gap === null) {
    return el("div", { class: "certificate open" }, el("strong", {}, "Not certified"), el("p", {}, verdict));
  }
  const words = `No weights have an objective below ${number(dual)}; these have ${number(objective)}, `
    + `at most ${(100 * gap).toPrecision(2)}% above the best.`;
  return el("div", { class: `certificate ${converged ? "" : "open"}` },
    el("strong", {}, converged ? "Certified" : "Stopped before its tolerance"), el("p", {}, words));
}

export function facts(model) {
  const rows = [
    ["Task", `${model.task}: ${model.summary}`],
    ["Structure", model.structure],
    ["Features", model.n_features.toLocaleString("en")],
    ["Weights", model.n_weights.toLocaleString("en")],
    ["Loss", `${model.loss}, l2 = ${model.l2}${model.l1 ? `, l1 = ${model.l1}` : ""}`],
    ["Longest input", `${model.max_length.toLocaleString("en")}`],
  ];
  const more = model.n_labels - CHIPS;
  return el("div", {}, el("p", {}, el("strong", { class: "word" }, model.name)), certificate(model),
    el("dl", {}, rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    model.n_labels > 0 ? el("h3", {}, `${model.n_labels} labels`) : null,
    model.n_labels > 0 ? el("ul", { class: "chips" },
      model.labels.slice(0, CHIPS).map((label) => el("li", {}, label)),
      more > 0 ? el("li", {}, `and ${more} more`) : null) : null);
}
