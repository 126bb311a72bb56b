// Shows the OpenAPI document of the Server. Every text is set as text, never as markup.
"use strict";

function element(name, text, parent, className) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (className) made.className = className;
  if (parent) parent.append(made);
  return made;
}

function typeOf(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" | ");
  if (schema.type === "array") return `list of ${typeOf(schema.items) || "any"}`;
  return Array.isArray(schema.type) ? schema.type.join(" | ") : schema.type || "any";
}

function table(parent, heading, rows) {
  if (!rows.length) return;
  const made = element("table", "", parent);
  const head = element("tr", "", made);
  heading.forEach((text) => element("th", text, head));
  rows.forEach((cells) => {
    const row = element("tr", "", made);
    cells.forEach((text) => element("td", text, row));
  });
}

function examples(content) {
  return Object.entries(content || {}).flatMap(([media, one]) => {
    const named = Object.entries(one.examples || {}).map(([name, each]) => [`${media}, ${name}`, each.value]);
    return one.example === undefined ? named : [[media, one.example], ...named];
  });
}

function showExamples(parent, content) {
  for (const [title, value] of examples(content)) {
    element("p", title, parent);
    element("pre", typeof value === "string" ? value : JSON.stringify(value, null, 2), parent);
  }
}

function operation(parent, path, verb, one) {
  const box = element("details", "", parent);
  box.dataset.text = `${verb} ${path} ${one.operationId} ${one.description || ""}`.toLowerCase();
  const line = element("summary", "", box);
  element("span", verb.toUpperCase(), line, "verb");
  element("code", path, line);
  element("span", one["x-role"] || "", line, "role");
  const inside = element("div", "", box);
  element("p", one.description, inside);
  table(inside, ["parameter", "in", "type", "meaning"], (one.parameters || []).map((each) =>
    [each.name + (each.required ? " *" : ""), each.in, typeOf(each.schema), each.description || ""]));
  const body = (one.requestBody || {}).content || {};
  for (const [media, each] of Object.entries(body)) {
    element("p", `Body: ${media}, ${typeOf(each.schema)}`, inside);
    const required = (each.schema || {}).required || [];
    table(inside, ["field", "type"], Object.entries((each.schema || {}).properties || {}).map(([key, schema]) =>
      [key + (required.includes(key) ? " *" : ""), typeOf(schema)]));
  }
  showExamples(inside, body);
  table(inside, ["status", "content", "meaning"], Object.entries(one.responses).map(([status, each]) =>
    [status, Object.values(each.content || {}).map((media) => typeOf(media.schema)).join(", "), each.description]));
  Object.entries(one.responses).filter(([status]) => status < "400")
    .forEach(([, each]) => showExamples(inside, each.content));
}

function show(made) {
  const operations = document.getElementById("operations");
  operations.textContent = "";
  const tags = new Map();
  for (const [path, verbs] of Object.entries(made.paths)) {
    for (const [verb, one] of Object.entries(verbs)) {
      const tag = (one.tags || ["other"])[0];
      if (!tags.has(tag)) tags.set(tag, []);
      tags.get(tag).push([path, verb, one]);
    }
  }
  for (const [tag, ones] of tags) {
    element("h2", tag, operations);
    ones.forEach(([path, verb, one]) => operation(operations, path, verb, one));
  }
  const schemas = document.getElementById("schemas");
  element("h2", "schemas", schemas);
  for (const [name, schema] of Object.entries(made.components.schemas)) {
    const box = element("details", "", schemas);
    box.dataset.text = name.toLowerCase();
    element("summary", name, box);
    const inside = element("div", "", box);
    element("p", schema.description, inside);
    table(inside, ["field", "type", "meaning"], Object.entries(schema.properties || {}).map(([key, each]) =>
      [key, typeOf(each), each.description || ""]));
  }
}

async function load() {
  try {
    const answer = await fetch(`${location.origin}/api/v1/openapi.json`);
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    show(await answer.json());
    const login = await (await fetch(`${location.origin}/api/v1/login`)).json();
    document.getElementById("login").textContent = `Login: ${login.label}, ${login.role}`;
  } catch (error) {
    document.getElementById("operations").textContent = `The document can't be loaded: ${error.message}`;
  }
}

document.getElementById("filter").addEventListener("input", (event) => {
  const wanted = event.target.value.toLowerCase();
  document.querySelectorAll("details").forEach((box) => {
    box.classList.toggle("hidden", !box.dataset.text.includes(wanted));
  });
});
load();
