// The description of the API, drawn from /openapi.json.

import { get } from "./api.js";
import { el, table } from "./dom.js";

function typed(schema) {
  if (schema.oneOf) return schema.oneOf.map((one) => one.title).join(" or ");
  if (schema.type === "array") return `list of ${typed(schema.items || {})}`;
  return [].concat(schema.type || "anything").join(" or ");
}

function about(schema) {
  const bounds = [];
  if (schema.minimum !== undefined) bounds.push(`From ${schema.minimum} to ${schema.maximum}.`);
  if (schema.maxItems !== undefined) bounds.push(`At most ${schema.maxItems.toLocaleString("en")}.`);
  return [schema.description || "", bounds.join(" ")].filter(Boolean).join(" ");
}

function fields(schema) {
  const rows = Object.entries(schema.properties || {}).map(([name, one]) =>
    [el("code", {}, name), typed(one), about(one)]);
  return table(["Field", "Type", "Meaning"], rows);
}

function scrolled(node, label) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, node);
}

function code(value, label) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return el("pre", { tabindex: "0", "aria-label": label, role: "region" }, text);
}

function called(path, example) {
  return `curl -s ${window.location.origin}${path} -H 'Content-Type: application/json' -d '`
    + `${JSON.stringify(example).replaceAll("'", "'\\''")}'`;
}

function operation(path, method, one, schemas) {
  const parts = [el("h2", {}, el("span", { class: "method" }, method.toUpperCase()), path),
    el("p", {}, `${one.summary}.`)];
  const content = one.requestBody && one.requestBody.content["application/json"];
  if (content) {
    const schema = schemas[content.schema.$ref.split("/").pop()];
    parts.push(el("h3", {}, "Fields"), scrolled(fields(schema), `Fields of ${path}`));
    const kinds = schema.properties.input.oneOf;
    parts.push(el("h3", {}, "Inputs"), scrolled(table(["Kind", "Fields", "Meaning"], kinds.map((kind) =>
      [kind.title, Object.keys(kind.properties).join(", "), kind.description])), `Inputs of ${path}`));
    for (const [name, example] of Object.entries(content.examples)) {
      parts.push(el("h3", {}, `Example: ${name}`), code(called(path, example.value), `Example for ${name}, ${path}`));
    }
    const refusals = Object.entries(one.responses).filter(([status]) => status !== "200");
    parts.push(el("details", {}, el("summary", {}, "Errors"),
      table(["Status", "Meaning"], refusals.map(([status, held]) => [status, held.description]))));
  }
  return el("section", { class: "card" }, parts);
}

async function start() {
  try {
    const told = await get("/openapi.json");
    const found = [];
    for (const [path, methods] of Object.entries(told.paths)) {
      for (const [method, one] of Object.entries(methods)) {
        found.push(operation(path, method, one, told.components.schemas));
      }
    }
    document.getElementById("paths").replaceChildren(...found);
  } catch (error) {
    document.getElementById("error").textContent = error.message;
    document.getElementById("error").hidden = false;
    document.getElementById("paths").replaceChildren();
  }
}

start();
