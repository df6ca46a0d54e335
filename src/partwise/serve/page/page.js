// The page to try models on.

import { get, post, ServerError } from "./api.js";
import { el } from "./dom.js";
import { explanation } from "./explanation.js";
import { facts } from "./facts.js";
import { hintOf, inputsOf, MODES, modesOf, written } from "./input.js";
import { alternatives, view } from "./views.js";

const $ = (id) => document.getElementById(id);
const state = { models: [], model: null, limits: {}, turn: 0, opener: null };

function say(text, busy) {
  $("status").textContent = text;
  $("status").classList.toggle("busy", Boolean(busy));
  $("predict").setAttribute("aria-busy", busy ? "true" : "false");
}

function fail(error) {
  say("");
  const where = error instanceof ServerError && error.where
    ? [" (", el("code", {}, error.where), ")"] : [];
  $("error").replaceChildren(error.message, ...where);
  $("error").hidden = false;
}

function choose(name) {
  const { model } = state;
  state.model = state.models.find((one) => one.name === name) || state.models[0];
  if (model === state.model) return;
  $("model").value = state.model.name;
  $("facts").replaceChildren(facts(state.model));
  const modes = modesOf(state.model);
  $("mode").replaceChildren(...modes.map((mode) => el("option", { value: mode }, MODES[mode].label)));
  const odds = state.model.probabilities;
  $("result-hint").textContent = `Choose a part to see why. ${odds ? "Percentages are probabilities."
    : "The hinge loss has no probabilities."}`;
  reset();
  show(modes[0]);
  $("given").value = "";
  $("given").placeholder = "";
}

function show(mode) {
  $("mode").value = mode;
  $("given-label").textContent = MODES[mode].label;
  $("given").classList.toggle("code", MODES[mode].code);
  $("hint").textContent = hintOf(state.model, mode);
}

function reset() {
  state.turn += 1;
  say("");
  $("error").hidden = true;
  $("result").hidden = true;
  $("empty").hidden = false;
  closeWhy(false);
}

async function predict() {
  reset();
  const { model, turn } = state;
  try {
    const inputs = inputsOf($("given").value, model, $("mode").value);
    say("Predicting", true);
    $("empty").hidden = true;
    const k = Number($("k").value);
    const asked = { model: model.name, inputs, notes: true };
    if (k) asked.k = k;
    if (model.probabilities) asked.probabilities = true;
    if (model.probabilities && model.view === "label") asked.marginals = true;
    const answer = await post("/predict", asked);
    if (turn !== state.turn) return;
    draw(answer, inputs);
  } catch (error) {
    if (turn !== state.turn) return;
    $("empty").hidden = false;
    fail(error);
  }
}

function draw(answer, inputs) {
  const { model } = state;
  const items = answer.results.map((result) => {
    const given = inputs[result.input];
    const input = given.text === undefined ? given : { tokens: result.tokens };
    const ask = explainer(input, result);
    return el("li", {}, view(result, model, ask), alternatives(result));
  });
  $("results").replaceChildren(...items);
  $("notes").textContent = (answer.notes || []).join(" ");
  $("notes").hidden = !(answer.notes || []).length;
  $("result").hidden = false;
  const n = answer.results.length;
  say(n === 1 ? "1 result" : `${n} results`);
  $("result-title").focus();
}

// Explanations are fetched once per result.
function explainer(input, result) {
  let known = null;
  const size = (result.tokens || []).length;
  const runners = size <= (state.limits.max_explained_length || 0);
  return async (wanted, opener, title) => {
    const { model, turn } = state;
    mark(opener);
    openWhy(`Why ${title}?`, el("p", { class: "status busy" }, "Explaining"));
    try {
      known = known || post("/explain", { model: model.name, input, runners_up: runners, top: 8 });
      const answer = await known;
      if (turn !== state.turn || state.opener !== opener) return;
      openWhy(`Why ${title}?`, explanation(answer.results[0].parts.filter(wanted)));
    } catch (error) {
      known = null;
      if (state.opener === opener) openWhy(`Why ${title}?`, el("p", { class: "error" }, error.message));
    }
  };
}

function mark(opener) {
  for (const old of document.querySelectorAll("[aria-pressed], .chosen")) {
    old.removeAttribute("aria-pressed");
    old.classList.remove("chosen");
  }
  state.opener = opener;
  if (!opener) return;
  if (opener instanceof HTMLElement) opener.setAttribute("aria-pressed", "true");
  else opener.classList.add("chosen");
}

function openWhy(title, body) {
  const fresh = $("why").hidden || $("why-title").textContent !== title;
  $("why-title").textContent = title;
  $("why-body").replaceChildren(body);
  $("why").hidden = false;
  if (fresh) $("why-title").focus();
}

function closeWhy(back) {
  const { opener } = state;
  $("why").hidden = true;
  mark(null);
  if (back && opener && opener.focus) opener.focus();
}

async function take(file) {
  if (!file) return;
  const most = state.limits.max_inflated || 1e6;
  if (file.size > most) {
    fail(new Error(`The file is larger than ${most.toLocaleString("en")} bytes. Take a part of it.`));
    return;
  }
  const text = await file.text();
  const modes = modesOf(state.model);
  const looks = /\.jsonl?$/i.test(file.name) ? "json"
    : /\.(txt|md)$/i.test(file.name) && modes.includes("text") && !/^\S+[ \t]\S+$/m.test(text.slice(0, 2000))
      ? "text" : modes[0];
  show(modes.includes(looks) ? looks : modes[0]);
  $("given").value = looks === "json" && /\.jsonl$/i.test(file.name)
    ? `[${text.trim().split(/\r?\n/).join(",\n")}]` : text;
  reset();
  say(`${file.name} is in the box. Press Predict.`);
  $("predict").focus();
}

function listen() {
  $("form").addEventListener("submit", (event) => { event.preventDefault(); predict(); });
  $("given").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); predict(); }
  });
  $("model").addEventListener("change", () => {
    window.location.hash = encodeURIComponent($("model").value);
    choose($("model").value);
  });
  $("mode").addEventListener("change", () => { show($("mode").value); $("given").value = ""; });
  $("sample").addEventListener("click", () => {
    $("given").value = written(state.model, $("mode").value);
    predict();
  });
  $("clear").addEventListener("click", () => { $("given").value = ""; reset(); $("given").focus(); });
  $("file").addEventListener("change", () => { take($("file").files[0]); $("file").value = ""; });
  $("why-close").addEventListener("click", () => closeWhy(true));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !$("why").hidden) closeWhy(true);
  });
  const drop = $("drop");
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    take(event.dataTransfer.files[0]);
  });
}

async function start() {
  try {
    const told = await get("/models");
    state.models = told.models;
    state.limits = told.limits;
    $("model").replaceChildren(...told.models.map((one) =>
      el("option", { value: one.name }, `${one.name} (${one.summary})`)));
    listen();
    choose(decodeURIComponent(window.location.hash.slice(1)));
  } catch (error) {
    fail(error);
    $("facts").replaceChildren();
  }
}

start();
