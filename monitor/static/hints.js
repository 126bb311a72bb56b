// Completions of the filter: keys, and values that tasks have, for the word that is typed.

import { NUMBERS, TEXTS } from "./filtering.js";
import { rows } from "./rows.js";

const MOST = 30;
const filter = document.getElementById("filter");
const list = document.getElementById("hints");

const VALUES = {
  state: (task) => task.states,
  host: (task) => [task.host],
  standby: (task) => task.standby,
  label: (task) => task.labels,
  group: (task) => [task.group],
  code: (task) => task.codes,
  version: (task) => [task.version],
  name: (task) => [task.name],
  source: (task) => [task.source.split(", ").at(-1).split(" ").at(-1)],
  sink: (task) => [task.sink.split(", ").at(-1).split(" ").at(1)],
  is: () => ["problem"],
};

function completions(word) {
  const [, not, key, value] = /^(!*)(?:([a-z]+):)?(.*)$/.exec(word);
  if (!key) {
    const keys = [...TEXTS.map((name) => `${name}:`), ...NUMBERS.map((name) => `${name}>`)];
    return keys.filter((name) => value && name.startsWith(value)).map((name) => not + name);
  }
  const values = new Set();
  for (const one of rows.values()) for (const text of VALUES[key]?.(one.facts) ?? []) if (text) values.add(text);
  const typed = value.slice(value.lastIndexOf(",") + 1);
  const kept = value.slice(0, value.length - typed.length);
  return [...values].filter((text) => text.includes(typed)).sort().slice(0, MOST).map((text) => `${not}${key}:${kept}${text}`);
}

export function hint() {
  const at = filter.value.lastIndexOf(" ") + 1;
  const head = filter.value.slice(0, at);
  const options = completions(filter.value.slice(at).toLowerCase()).map((text) => {
    const option = document.createElement("option");
    option.value = head + (/\s/.test(text) ? text.replace(/^(!*[a-z]+:)?(.*)$/, '$1"$2"') : text);
    return option;
  });
  list.replaceChildren(...options);
}
