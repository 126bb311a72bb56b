// Keeps the page live: takes fragments from the event stream (or polls), puts them in place without losing focus,
// counts times on, and makes figures grey, with their age, as soon as they are old.
"use strict";

const root = document.documentElement;
const lostBanner = document.getElementById("lost");
const outage = document.querySelector('[data-fragment="outage"]');
const filter = document.getElementById("filter");
const trouble = document.getElementById("trouble");

const SILENT_MS = 5000;
const QUIET_MS = 3000; // a stream that works has a message every 2.5 s
const POLL_MS = 2000;
const RETRY_STREAM_MS = 30000;

const pageOf = root.dataset.pageOf; // the task of a page of one

let version = root.dataset.version;
let serverNow = Number(root.dataset.now);
let readMs = Number(root.dataset.read); // when the figures were read, 0: never
let freshMs = Number(root.dataset.fresh); // the age up to which they count as current
let stale = root.dataset.stale !== undefined; // what the Monitor itself says of them
let heardAt = performance.now();
let source = null;
let polling = false;

// ---- placing fragments

// Attributes that belong to the browser, not to the server.
const OWN = new Set(["data-open", "aria-expanded", "hidden", "open"]);

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

function morph(old, fresh) {
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !OWN.has(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (!OWN.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const before = [...old.childNodes];
  const after = [...fresh.childNodes];
  after.forEach((node, index) => {
    const current = before[index];
    if (!current) old.append(node);
    else if (current.nodeType !== node.nodeType || current.nodeName !== node.nodeName) current.replaceWith(node);
    else if (node.nodeType === Node.TEXT_NODE) {
      if (current.data !== node.data) current.data = node.data;
    } else if (!current.isEqualNode(node)) morph(current, node);
  });
  before.slice(after.length).forEach((node) => node.remove());
}

function placeRows(list, keys, html) {
  const container = document.querySelector(`[data-list="${list}"]`);
  if (!container) return; // not on this page
  const present = new Map();
  for (const row of container.querySelectorAll(":scope > [data-key]")) present.set(row.dataset.key, row);
  let last = list === "tasks" ? container.tHead : null;
  for (const key of keys) {
    let row = present.get(key);
    if (html[key] !== undefined) {
      const fresh = parse(html[key]);
      if (row) morph(row, fresh);
      else row = fresh;
    }
    if (!row) continue;
    present.delete(key);
    const next = last ? last.nextElementSibling : container.firstElementChild;
    if (row !== next) moveBefore(container, row, next);
    last = row;
  }
  for (const row of present.values()) row.remove();
}

function moveBefore(container, row, next) {
  const focused = row.contains(document.activeElement) ? document.activeElement : null;
  container.insertBefore(row, next);
  if (focused) focused.focus({ preventScroll: true });
}

function apply(update) {
  version = update.version;
  serverNow = update.now_ms;
  readMs = update.read_ms;
  heardAt = performance.now();
  freshMs = update.fresh_ms;
  stale = update.stale;
  for (const name of ["outage", "notice", "tiles", "status", "footer"]) {
    const place = document.querySelector(`[data-fragment="${name}"]`);
    if (place && update.html[name] !== undefined) morph(place, parse(update.html[name]));
  }
  for (const [list, keys] of Object.entries(update.order)) {
    placeRows(list, keys, update.html);
    const none = document.getElementById(`no-${list}`);
    if (none) none.hidden = keys.length > 0 || !readMs;
  }
  for (const element of document.querySelectorAll(".unread")) element.hidden = readMs > 0;
  choose();
  tick();
}

// ---- stream and polling

function since() {
  const part = pageOf === undefined ? "" : `&task=${encodeURIComponent(pageOf)}`;
  return `since=${encodeURIComponent(version)}${part}`;
}

function connect() {
  if (source) source.close();
  source = new EventSource(`/events?${since()}`);
  source.onmessage = (message) => {
    polling = false;
    apply(JSON.parse(message.data));
  };
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) {
      polling = true; // refused (too many streams) or not an event stream: poll, and try again later
      setTimeout(connect, RETRY_STREAM_MS);
    }
  };
}

async function poll() {
  if (!polling && performance.now() - heardAt < QUIET_MS) return;
  try {
    const answer = await fetch(`/api/updates?${since()}`, { cache: "no-store" });
    if (answer.status === 401) location.reload(); // the session has ended: the login page
    if (!answer.ok) return;
    apply(await answer.json());
    polling = true; // the stream may be open and silent, behind a proxy that keeps its messages; the next one ends this
  } catch {
    // The Monitor does not answer: the banner says so.
  }
}

// ---- times and staleness

function duration(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Trouble is seen in the tab, too.
function title(old) {
  const name = root.dataset.title ? `${root.dataset.title} - Replication bus` : pageOf === undefined ? "Replication bus" : `${pageOf} - Replication bus`;
  if (old) return `(no data) ${name}`;
  const bad = document.querySelectorAll(".task.bad").length;
  if (pageOf === undefined) return bad ? `(${bad} down) ${name}` : name;
  const state = document.querySelector(".task")?.dataset.state ?? "deleted";
  return state === "RUNNING" && !bad ? name : `(${state}) ${name}`;
}

// All times count on, whatever is heard. Figures older than `freshMs` are grey and carry their age.
function tick() {
  const silent = performance.now() - heardAt;
  const now = serverNow + silent;
  const lost = silent > SILENT_MS;
  const age = readMs ? now - readMs : 0;
  const old = lost || stale || (readMs > 0 && age > freshMs);
  for (const element of document.querySelectorAll("time[data-ms]")) setText(element, duration(now - Number(element.dataset.ms)));
  for (const element of document.querySelectorAll(".age")) setText(element, old && readMs ? `as of ${duration(age)} ago` : "");
  root.classList.toggle("stale", old);
  root.classList.toggle("lost", lost);
  lostBanner.hidden = !lost;
  outage.hidden = lost;
  document.title = title(old);
  if (!lost) return;
  setText(document.getElementById("silence"), duration(silent));
  setText(document.getElementById("lost-age"), duration(age));
  document.getElementById("lost-read").hidden = !readMs;
}

// ---- filter and keys

// `env=prod`, `env!=prod` or `env`, as a selector of the command line means it.
function labelled(labels, wanted) {
  if (wanted.includes("!=")) return !labels.includes(wanted.replace("!=", "="));
  return wanted.includes("=") ? labels.includes(wanted) : labels.some((label) => label.startsWith(`${wanted}=`));
}

function fits(row, text, word) {
  if (word[0] === "!") return word.length < 2 || !fits(row, text, word.slice(1));
  if (!word.startsWith("label:")) return text.includes(word);
  return word === "label:" || labelled(row.dataset.labels.toLowerCase().split(" "), word.slice("label:".length));
}

function choose() {
  if (!filter) return;
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const onlyTrouble = trouble.getAttribute("aria-pressed") === "true";
  let shown = 0;
  let all = 0;
  for (const row of document.querySelectorAll("tbody.task")) {
    const text = row.rows[0].textContent.toLowerCase();
    const match = words.every((word) => fits(row, text, word));
    row.hidden = !match || (onlyTrouble && Number(row.dataset.trouble) === 0);
    all += 1;
    shown += row.hidden ? 0 : 1;
  }
  document.getElementById("no-match").hidden = all === 0 || shown > 0;
}

function toggleTrouble() {
  if (!trouble) return;
  trouble.setAttribute("aria-pressed", String(trouble.getAttribute("aria-pressed") !== "true"));
  choose();
}

function move(step) {
  const names = [...document.querySelectorAll("tbody.task:not([hidden]) .to")];
  if (!names.length) return;
  const at = names.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : names.length - 1) : Math.min(Math.max(at + step, 0), names.length - 1);
  names[next].focus();
}

const KEYS = {
  "/": () => { filter?.focus(); filter?.select(); },
  "j": () => move(1),
  "k": () => move(-1),
  "o": () => document.activeElement.closest("tbody.task")?.querySelector(".open").click(),
  "e": toggleTrouble,
  "g": () => { if (location.pathname !== "/") location.assign("/"); },
  "?": () => document.getElementById("keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && filter && document.activeElement === filter) {
    filter.value = "";
    choose();
    filter.blur();
    return;
  }
  if (event.target.closest("input, textarea, dialog")) return;
  const action = KEYS[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
});

document.addEventListener("click", (event) => {
  const button = event.target.closest(".open");
  if (!button) return;
  const open = button.closest("tbody").toggleAttribute("data-open");
  button.setAttribute("aria-expanded", String(open));
});

// ---- colours: as the system says unless chosen here

const THEMES = ["auto", "dark", "light"];

function showTheme(theme) {
  if (theme === "auto") root.removeAttribute("data-theme");
  else root.dataset.theme = theme;
  setText(document.getElementById("theme"), `Theme: ${theme}`);
  root.dispatchEvent(new Event("theme"));
}

function storedTheme() {
  try {
    return THEMES.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "auto";
  } catch {
    return "auto"; // storage may be switched off
  }
}

document.getElementById("theme").addEventListener("click", () => {
  const theme = THEMES[(THEMES.indexOf(root.dataset.theme || "auto") + 1) % THEMES.length];
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // then it lasts as long as the page
  }
  showTheme(theme);
});
document.getElementById("help").addEventListener("click", KEYS["?"]);
trouble?.addEventListener("click", toggleTrouble);
filter?.addEventListener("input", choose);

showTheme(storedTheme());
choose();
tick();
connect();
setInterval(tick, 1000);
setInterval(poll, POLL_MS);
