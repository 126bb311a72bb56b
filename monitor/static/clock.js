// Counts times on, and makes figures grey, with their age, as soon as they are old. The age counts whatever is heard.

const root = document.documentElement;
const SILENT_MS = 5000;

let serverNow = Number(root.dataset.now);
let heardAt = performance.now();
let readMs = Number(root.dataset.read); // when the figures were read, 0: never
let freshMs = Number(root.dataset.fresh); // the age up to which they count as current
let stale = root.dataset.stale !== undefined; // what the Monitor itself says of them

export function heard(update) {
  serverNow = update.now_ms;
  readMs = update.read_ms;
  freshMs = update.fresh_ms;
  stale = update.stale;
  heardAt = performance.now();
}

// By the Monitor's clock, ms.
export function now() {
  return serverNow + silence();
}

// Since the Monitor was last heard, ms.
export function silence() {
  return performance.now() - heardAt;
}

export function everRead() {
  return readMs > 0;
}

export function duration(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Trouble is seen in the tab, too.
const PAGE_TITLE = document.title;

function title(old) {
  const { pageOf } = root.dataset;
  if (old) return `(no data) ${PAGE_TITLE}`;
  if (pageOf === undefined) {
    const down = Number(document.querySelector("[data-down]")?.dataset.down ?? 0);
    return down ? `(${down} down) ${PAGE_TITLE}` : PAGE_TITLE;
  }
  const task = document.querySelector(".task");
  const state = task?.dataset.state ?? "deleted";
  return state === "RUNNING" && !task.classList.contains("bad") ? PAGE_TITLE : `(${state}) ${PAGE_TITLE}`;
}

export function tick() {
  const lost = silence() > SILENT_MS;
  const moment = now();
  const age = readMs ? moment - readMs : 0;
  const old = lost || stale || (readMs > 0 && age > freshMs);
  for (const element of document.querySelectorAll("time[data-ms]")) {
    setText(element, duration(moment - Number(element.dataset.ms)));
  }
  for (const element of document.querySelectorAll(".age")) {
    setText(element, old && readMs ? `as of ${duration(age)} ago` : "");
  }
  root.classList.toggle("stale", old);
  root.classList.toggle("lost", lost);
  document.getElementById("lost").hidden = !lost;
  document.querySelector('[data-fragment="outage"]').hidden = lost;
  document.title = title(old);
  if (!lost) return;
  setText(document.getElementById("silence"), duration(silence()));
  setText(document.getElementById("lost-age"), duration(age));
  document.getElementById("lost-read").hidden = !readMs;
}
