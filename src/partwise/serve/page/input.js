// From what is typed to the inputs of a request.

export const MODES = {
  text: {
    label: "Text", code: false,
    hint: "Sentences end at a line break, or at . ! ? before a new sentence.",
  },
  columns: {
    label: "Tokens, one per line", code: true,
    hint: "A blank line ends a sentence.",
  },
  features: {
    label: "Features, one example per line", code: true,
    hint: "number:value pairs as in svmlight files, or all values.",
  },
  names: {
    label: "Named features, one example per line", code: true,
    hint: "Names of features, separated by blanks.",
  },
  json: {
    label: "JSON", code: true,
    hint: "One input, or a list of inputs, as in the API.",
  },
};

export function modesOf(model) {
  const { reads } = model;
  const found = [];
  if (reads.text) found.push("text");
  if (reads.kind === "columns" && reads.columns.length > 1) found.push("columns");
  if (reads.kind === "numbered" && reads.field === "features") found.push("features");
  if (reads.kind === "named" && reads.field === "features") found.push("names");
  if (reads.kind === "columns" && reads.columns.length === 1) found.push("columns");
  found.push("json");
  // Columns first where the words alone would not do.
  if (reads.columns && reads.columns.some((c) => !c.required) && found.includes("columns")) {
    found.sort((a, b) => (a === "columns" ? -1 : b === "columns" ? 1 : 0));
  }
  return found;
}

export function hintOf(model, mode) {
  const { reads } = model;
  if (mode === "columns") {
    const names = reads.columns.map((c) => c.name).join(", ");
    return `Each line: ${names}, separated by blanks or tabs. ${MODES.columns.hint}`;
  }
  if (mode === "features") return `${MODES.features.hint} The model has ${reads.n_features} features.`;
  if (mode === "json") return `${MODES.json.hint} Here ${reads.field}: ${reads.about}.`;
  return MODES[mode].hint;
}

export function written(model, mode) {
  const { sample } = model;
  if (mode === "json") return JSON.stringify(sample);
  if (mode === "columns") {
    const tokens = sample.tokens || sample.text.split(" ");
    const cells = (t) => (Array.isArray(t) ? t.join("\t") : t);
    return tokens.map(cells).join("\n");
  }
  if (mode === "text") {
    return sample.text || sample.tokens.map((t) => (Array.isArray(t) ? t[0] : t)).join(" ");
  }
  const { features } = sample;
  if (Array.isArray(features)) return features.join(" ");
  return Object.entries(features).map(([n, v]) => `${n}:${v}`).join(" ");
}

function conll(fields) {
  return fields.length >= 8 && /^\d+$/.test(fields[0]);
}

function token(line, model) {
  const fields = line.includes("\t") ? line.split("\t") : line.trim().split(/\s+/);
  const names = model.reads.columns.map((c) => c.name);
  if (conll(fields)) {
    const [, form, lemma, cpos, pos, feats] = fields;
    if (names[0] === "form") return { form, lemma, cpos, pos, feats };
    return names.length === 1 ? form : [form, pos === "_" ? cpos : pos];
  }
  const most = names.length;
  // A file may have the label in its last column.
  const own = fields.slice(0, most);
  return own.length === 1 ? own[0] : own;
}

export function columnInputs(text, model) {
  const inputs = [];
  for (const block of text.split(/(?:\r?\n[ \t]*){2,}/)) {
    const lines = block.split(/\r?\n/).filter((line) => line.trim());
    const kept = lines.filter((line) => !/^#\s/.test(line) && !/^\d+[-.]\d+\t/.test(line));
    if (kept.length) inputs.push({ tokens: kept.map((line) => token(line, model)) });
  }
  return inputs;
}

function featureInput(line) {
  const items = line.trim().split(/[\s,]+/);
  const pairs = items.filter((item) => /^\d+:/.test(item));
  if (!pairs.length) return { features: items.map(Number) };
  return { features: Object.fromEntries(pairs.map((item) => {
    const at = item.indexOf(":");
    return [item.slice(0, at), Number(item.slice(at + 1))];
  })) };
}

export function inputsOf(text, model, mode) {
  if (!text.trim()) throw new Error("There is nothing to predict. Type something, or take the example.");
  if (mode === "text") return [{ text }];
  if (mode === "columns") return columnInputs(text, model);
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  if (mode === "features") {
    const inputs = lines.map(featureInput);
    if (JSON.stringify(inputs).includes("null")) throw new Error("One of the values is not a number.");
    return inputs;
  }
  if (mode === "names") return lines.map((line) => ({ features: line.trim().split(/\s+/) }));
  let found;
  try {
    found = JSON.parse(text);
  } catch (error) {
    throw new Error(`This is not JSON: ${error.message}`);
  }
  return Array.isArray(found) ? found : [found];
}
