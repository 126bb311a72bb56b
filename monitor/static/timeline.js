// Zooms and moves the timeline: wheel, pinch, drag, keys. What is shown is in the address of the page; the part is asked
// for again, and meanwhile what is there is moved. Without this script links do the same.
"use strict";

const DAY_MS = 86400000;
const SHORTEST_MS = 2000;
const LONGEST_MS = 366 * DAY_MS;
const WAIT_MS = 120;
const part = document.querySelector("[data-part]");
const [path] = part.dataset.part.split("?");
const pointers = new Map(); // id -> x of fingers and of a pressed mouse

let shown = null; // {from, to} ms since the epoch; null: as the Monitor has drawn it
let waiting = 0;

const lanes = () => part.querySelector(".lanes");

function present() {
  const { from, to } = lanes().dataset;
  return shown ?? { from: Number(from), to: Number(to) };
}

function show(from, to) {
  const width = Math.min(Math.max(to - from, SHORTEST_MS), LONGEST_MS);
  const begin = Math.max(Math.min(from, Number(lanes().dataset.now) - width), 0);
  shown = { from: Math.round(begin), to: Math.round(begin + width) };
  place();
  clearTimeout(waiting);
  waiting = setTimeout(() => ask(`?from=${stamp(shown.from)}&to=${stamp(shown.to)}`), WAIT_MS);
}

const stamp = (ms) => new Date(ms).toISOString().replace(".000Z", "Z");

async function ask(query) {
  history.replaceState(null, "", query || location.pathname);
  part.dataset.part = path + query;
  const asked = shown;
  await refresh(part);
  if (shown === asked) shown = null;
  else place(); // moved on meanwhile
}

// What is drawn already, where it is in the window that is shown now.
function place() {
  const { from, to } = present();
  const share = (ms) => (100 * (ms - from)) / (to - from);
  for (const element of lanes().querySelectorAll("[data-at]")) element.setAttribute("x", `${share(Number(element.dataset.at))}%`);
  for (const element of lanes().querySelectorAll("rect[data-from]")) {
    const begin = Math.max(share(Number(element.dataset.from)), -10);
    const end = Math.min(share(Number(element.dataset.to)), 110);
    element.setAttribute("x", `${begin}%`);
    element.setAttribute("width", `${Math.max(end - begin, 0.15)}%`);
  }
}

// `at`: 0 to 1, what stays where it is.
function zoom(factor, at = 0.5) {
  const { from, to } = present();
  const width = Math.min(Math.max((to - from) * factor, SHORTEST_MS), LONGEST_MS);
  const begin = from + (to - from - width) * at;
  show(begin, begin + width);
}

function move(share) {
  const { from, to } = present();
  const by = (to - from) * share;
  show(from + by, to + by);
}

function reset() {
  clearTimeout(waiting);
  shown = null;
  ask("");
}

function area() {
  const lane = lanes().querySelector("svg.axis");
  return lane.getBoundingClientRect();
}

function shareOf(x) {
  const { left, width } = area();
  return Math.min(Math.max((x - left) / Math.max(width, 1), 0), 1);
}

part.addEventListener("wheel", (event) => {
  if (!event.target.closest(".lanes")) return;
  event.preventDefault();
  const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
  if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) move(sideways / Math.max(area().width, 1));
  else zoom(Math.exp(Math.min(Math.max(event.deltaY, -200), 200) / 300), shareOf(event.clientX));
}, { passive: false });

const KEYS_OF_LANES = {
  "+": () => zoom(0.5),
  "=": () => zoom(0.5),
  "-": () => zoom(2),
  "ArrowLeft": () => move(-0.25),
  "ArrowRight": () => move(0.25),
  "0": reset,
};

part.addEventListener("keydown", (event) => {
  const action = KEYS_OF_LANES[event.key];
  if (!action || !event.target.closest(".lanes") || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  action();
});

part.addEventListener("pointerdown", (event) => {
  const place = event.target.closest(".lanes");
  if (!place || event.button) return;
  pointers.set(event.pointerId, event.clientX);
  place.setPointerCapture(event.pointerId);
  place.toggleAttribute("data-busy", true);
});

part.addEventListener("pointermove", (event) => {
  const before = pointers.get(event.pointerId);
  if (before === undefined || before === event.clientX) return;
  const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, x]) => x);
  pointers.set(event.pointerId, event.clientX);
  if (!others.length) move((before - event.clientX) / Math.max(area().width, 1));
  else if (Math.abs(event.clientX - others[0]) > 8) {
    zoom(Math.abs(before - others[0]) / Math.abs(event.clientX - others[0]), shareOf(others[0]));
  }
});

for (const kind of ["pointerup", "pointercancel"]) {
  part.addEventListener(kind, (event) => {
    pointers.delete(event.pointerId);
    if (!pointers.size) lanes().toggleAttribute("data-busy", false);
  });
}
