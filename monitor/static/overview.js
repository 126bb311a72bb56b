// The first page: its table follows filter, order and groups, which are in the address, so that they can be shared.

import { now } from "./clock.js";
import { toggleWide } from "./columns.js";
import { toggle } from "./details.js";
import { direction, explained, matches, ordered, parse } from "./filtering.js";
import { grouped } from "./groups.js";
import { hint } from "./hints.js";
import { bind } from "./keys.js";
import { places } from "./live.js";
import { arrange } from "./morph.js";
import { adopt, rows, update } from "./rows.js";

const SORTED_MS = 5000; // rows that change places each second can't be read
const PROBLEM = "is:problem";

const table = document.querySelector("table.tasks");
const filter = document.getElementById("filter");
const trouble = document.getElementById("trouble");
const group = document.getElementById("group");

let sort = table.dataset.sort;
let sortedAt = -Infinity;
let placed = "";

function showFound(shown) {
  const words = explained(parse(filter.value));
  const text = filter.value.trim() ? `${shown} of ${rows.size} tasks${words ? `: ${words}` : ""}. ` : "";
  const place = document.getElementById("found");
  if (place.dataset.text === text) return;
  place.dataset.text = text;
  place.textContent = text;
  if (!text) return;
  const all = document.createElement("a");
  all.href = "/";
  all.dataset.filter = "";
  all.textContent = "Show all";
  place.append(all);
}

// Rows in their order; those that the filter does not show are hidden, not gone.
function choose(force = false) {
  const terms = parse(filter.value);
  const moment = now();
  let shown = 0;
  for (const { element, facts } of rows.values()) {
    const match = matches(terms, facts, moment);
    if (element.hidden === match) element.hidden = !match;
    shown += match ? 1 : 0;
  }
  if (force || !sort || performance.now() - sortedAt >= SORTED_MS) {
    sortedAt = performance.now();
    const byFacts = new Map([...rows.values()].map((one) => [one.facts, one]));
    const sorted = ordered(byFacts.keys(), sort).map((facts) => byFacts.get(facts));
    const wanted = grouped(sorted, group.value);
    const names = wanted.map((element) => element.dataset.key).join("\n");
    if (names !== placed) arrange(table, wanted, table.tHead);
    placed = names;
  }
  showFound(shown);
  trouble.setAttribute("aria-pressed", String(filter.value.split(/\s+/).includes(PROBLEM)));
  document.getElementById("no-match").hidden = !rows.size || shown > 0;
  table.setAttribute("aria-rowcount", String(shown + 1));
}

function address() {
  const asked = new URLSearchParams();
  if (filter.value.trim()) asked.set("q", filter.value.trim());
  if (sort) asked.set("sort", sort);
  if (group.value) asked.set("group", group.value);
  return asked.size ? `/?${asked}` : "/";
}

// What was typed replaces the address, what was chosen is a step that the browser can go back.
function changed(step) {
  choose(true);
  const next = address();
  if (next !== location.pathname + location.search) history[step ? "pushState" : "replaceState"](null, "", next);
}

function setFilter(query) {
  filter.value = query;
  changed(true);
}

function sortBy(column) {
  sort = sort === column ? `-${column}` : column;
  showSort();
  changed(true);
}

function showSort() {
  const [column, descending] = direction(sort);
  for (const head of table.tHead.rows[0].cells) {
    if (head.dataset.by === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
}

function toggleTrouble() {
  const words = filter.value.split(/\s+/).filter(Boolean);
  const without = words.filter((word) => word !== PROBLEM);
  setFilter((without.length < words.length ? without : [...words, PROBLEM]).join(" "));
}

function read() {
  const asked = new URLSearchParams(location.search);
  filter.value = asked.get("q") ?? "";
  sort = direction(asked.get("sort") ?? "")[0] ? asked.get("sort") : "";
  const wanted = asked.get("group") ?? "";
  if (wanted.startsWith("label:") && ![...group.options].some((option) => option.value === wanted)) {
    group.add(new Option(`by label ${wanted.slice("label:".length)}`, wanted));
  }
  group.value = wanted;
  if (group.selectedIndex < 0) group.value = "";
  showSort();
  choose(true);
}

function offerLabels() {
  const known = new Set([...group.options].map((option) => option.value));
  const keys = new Set([...rows.values()].flatMap(({ facts }) => facts.labels.map((label) => label.split("=", 1)[0])));
  for (const key of [...keys].sort()) if (!known.has(`label:${key}`)) group.add(new Option(`by label ${key}`, `label:${key}`));
}

function move(step) {
  const names = [...table.querySelectorAll("tbody.task:not([hidden]) .to")];
  if (!names.length) return;
  const at = names.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : names.length - 1) : Math.min(Math.max(at + step, 0), names.length - 1);
  names[next].focus();
}

bind("/", () => { filter.focus(); filter.select(); });
bind("j", () => move(1));
bind("k", () => move(-1));
bind("o", () => { const row = document.activeElement.closest("tbody.task"); if (row) toggle(row); });
bind("e", toggleTrouble);
bind("w", toggleWide);
for (const head of table.tHead.querySelectorAll("[data-key-letter]")) bind(head.dataset.keyLetter, () => sortBy(head.dataset.by));

table.tHead.addEventListener("click", (event) => {
  const link = event.target.closest(".sort");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  sortBy(link.closest("th").dataset.by);
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-filter]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  setFilter(link.dataset.filter);
  if (link.dataset.sort !== undefined && sort !== link.dataset.sort) sortBy(link.dataset.sort);
  document.getElementById("h-tasks").scrollIntoView({ block: "nearest" });
});
document.getElementById("finder").addEventListener("submit", (event) => event.preventDefault());
filter.addEventListener("input", () => { hint(); changed(false); });
filter.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  event.preventDefault();
  setFilter("");
  filter.blur();
});
group.addEventListener("change", () => changed(true));
trouble.addEventListener("click", toggleTrouble);
addEventListener("popstate", read);

adopt(table);
places("tasks", (keys, html) => {
  update(keys, html);
  offerLabels();
  choose();
});
read();
