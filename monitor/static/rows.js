// The rows of the tasks table: elements and facts by key, whether they are shown or not.

import { fill, valuesOf } from "./cells.js";
import { morph, morphAttributes, parseAll } from "./morph.js";

const NOTHING = {
  states: [], state: "", trouble: 0, host: "", pid: 0, standby: [], labels: [], group: "", source: "", sink: "", codes: [],
  notes: [], version: "", standbys: 0, epoch: 0, config: 0, takeover: 0,
};
const UNKNOWN = { lag: null, behind: null, transactions: null, rate: null, headroom: null, event: 0, checkpoint: 0, position: "" };

export const rows = new Map(); // by key, in the order of the server

function factsOf(element) {
  return { ...NOTHING, ...JSON.parse(element.dataset.facts) };
}

function entry(element) {
  return { element, lasting: factsOf(element), values: null, spark: "", facts: null };
}

// Rows that came with the page, whose cells have their values already.
export function adopt(table) {
  for (const element of table.querySelectorAll(":scope > [data-key]")) {
    const one = entry(element);
    one.facts = { ...UNKNOWN, ...one.lasting };
    rows.set(element.dataset.key, one);
  }
}

function renew(html) {
  const changed = Object.keys(html).filter((key) => key.startsWith("tasks:"));
  for (const element of parseAll(changed.map((key) => html[key]))) {
    const one = rows.get(element.dataset.key);
    if (!one) {
      rows.set(element.dataset.key, entry(element));
      continue;
    }
    if (one.values) fill(element, one.values, one.spark);
    one.lasting = factsOf(element);
    one.facts = { ...one.lasting, ...(one.values?.facts ?? UNKNOWN) };
    morphAttributes(one.element, element);
    morph(one.element.rows[0], element.rows[0]);
  }
}

// Takes what has changed: rows, their values, their sparklines; `keys` are those that there are.
export function update(keys, html) {
  renew(html);
  const present = new Set(keys);
  for (const key of rows.keys()) if (!present.has(key)) rows.delete(key);
  for (const [key, one] of rows) {
    const name = key.slice("tasks:".length);
    const values = html[`values:${name}`];
    const spark = html[`sparks:${name}`];
    if (values !== undefined) one.values = valuesOf(values);
    if (spark !== undefined) one.spark = spark;
    if (one.values && (values !== undefined || spark !== undefined)) {
      one.facts = { ...one.lasting, ...one.values.facts };
      fill(one.element, one.values, one.spark);
    }
    one.facts ??= { ...one.lasting, ...UNKNOWN };
  }
}
