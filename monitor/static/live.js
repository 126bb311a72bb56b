// Keeps the page live: takes what has changed from the event stream, or polls where there is none.

import { everRead, heard, silence, tick } from "./clock.js";
import { morph, parse, placeRows } from "./morph.js";

const root = document.documentElement;
const QUIET_MS = 3000; // a stream that works has a message every 2.5 s
const POLL_MS = 2000;
const RETRY_STREAM_MS = 30000;
const FRAGMENTS = ["outage", "notice", "tiles", "status", "footer"];

let version = root.dataset.version;
let source = null;
let polling = false;
const orders = {};
const special = new Map();
const afterwards = [];

// A list that a page places itself: `place(keys, html)`, where html has all that changed.
export function places(list, place) {
  special.set(list, place);
}

// Called after each update.
export function onUpdate(call) {
  afterwards.push(call);
}

function keysOf(container) {
  return [...container.children].map((row) => row.dataset.key).filter(Boolean);
}

function apply(update) {
  version = update.version;
  heard(update);
  for (const name of FRAGMENTS) {
    const place = document.querySelector(`[data-fragment="${name}"]`);
    if (place && update.html[name] !== undefined) morph(place, parse(update.html[name]));
  }
  const changed = new Set(Object.keys(update.html).map((key) => key.split(":", 1)[0]));
  for (const container of document.querySelectorAll("[data-list]")) {
    const { list } = container.dataset;
    orders[list] = update.order[list] ?? orders[list] ?? keysOf(container);
    if (special.has(list)) special.get(list)(orders[list], update.html);
    else if (update.order[list] || changed.has(list)) placeRows(container, orders[list], update.html);
    const none = document.getElementById(`no-${list}`);
    if (none) none.hidden = orders[list].length > 0 || !everRead();
  }
  for (const element of document.querySelectorAll(".unread")) element.hidden = everRead();
  for (const call of afterwards) call();
  tick();
}

// The page gets only lists that it has.
function question() {
  const asked = new URLSearchParams({ since: version });
  if (root.dataset.pageOf !== undefined) asked.set("task", root.dataset.pageOf);
  asked.set("parts", [...document.querySelectorAll("[data-list]")].map((one) => one.dataset.list).join(","));
  return asked;
}

function connect() {
  source?.close();
  source = new EventSource(`/events?${question()}`);
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

async function ask() {
  try {
    const answer = await fetch(`/api/updates?${question()}`, { cache: "no-store" });
    if (answer.status === 401) location.reload(); // the session has ended: the login page
    if (!answer.ok) return false;
    apply(await answer.json());
    return true;
  } catch {
    return false; // the Monitor does not answer: the banner says so
  }
}

async function poll() {
  if (!polling && silence() < QUIET_MS) return;
  // The stream may be open and silent, behind a proxy that keeps its messages; the next one ends this.
  if (await ask()) polling = true;
}

// A page of many tasks has only the first of them. The rest comes compressed, which a stream is not.
export async function start() {
  if (document.querySelector("[data-partial]")) {
    version = "";
    await ask();
  }
  connect();
  tick();
  setInterval(tick, 1000);
  setInterval(poll, POLL_MS);
}
