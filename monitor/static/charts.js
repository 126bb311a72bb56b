// Draws the charts of a task's page and keeps them current. Without this script the table below them has the figures.
"use strict";

const charts = document.getElementById("charts");
const figures = [...charts.querySelectorAll("figure")];
const lostNote = document.getElementById("charts-lost");
const HEIGHT = 150;
const EVERY_MS = { "15m": 5000, "1h": 10000 };
const SLOW_MS = 60000;
const plots = new Map(); // figure -> uPlot

let chart = null; // the points that are drawn

function unit(value, parts) {
  const [limit, name] = parts.find(([least]) => value >= least) ?? parts.at(-1);
  const scaled = limit ? value / limit : value;
  return `${scaled >= 100 || Number.isInteger(scaled) ? Math.round(scaled) : scaled.toPrecision(2)}${name}`;
}

const SIZES = [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"], [0, " "]];
const TIMES = [[86400, " d"], [3600, " h"], [60, " min"], [0, " s"]];
const FORMATS = {
  "s": (value) => unit(value, TIMES),
  "1/s": (value) => unit(value, SIZES).trimEnd(),
  "B/s": (value) => `${unit(value, SIZES)}B`,
};

// As a canvas understands it: of a custom property only the text is known, light-dark() included.
function colour(name) {
  const sample = charts.appendChild(document.createElement("span"));
  sample.style.color = `var(${name})`;
  const found = getComputedStyle(sample).color;
  sample.remove();
  return found;
}

const inUtc = (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC");
const CLOCK = "{HH}:{mm}";
const DAY = "\n{YYYY}-{MM}-{DD}";
// From which distance of the marks on, their text, and what it has where the year, day or minute changes.
const MARKS = [
  [86400, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, CLOCK, DAY, null, DAY, null, null, null, 1],
  [1, `${CLOCK}:{ss}`, DAY, null, DAY, null, null, null, 1],
];

// Where no Core was RUNNING, behind the line.
function shade(plot) {
  const down = chart.series.running;
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.fillStyle = colour("--down");
  for (let first = down.indexOf(0); first >= 0; first = down.indexOf(0, first)) {
    const begin = first;
    while (down[first] === 0) first += 1;
    const from = plot.valToPos(chart.begin_s + begin * chart.step_s, "x", true);
    const to = plot.valToPos(chart.begin_s + first * chart.step_s, "x", true);
    ctx.fillRect(from, bbox.top, Math.max(to - from, 1), bbox.height);
  }
  ctx.restore();
}

function options(figure, width) {
  const format = FORMATS[figure.dataset.unit];
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  return {
    width,
    height: HEIGHT,
    tzDate: inUtc,
    cursor: { sync: { key: "task" }, drag: { x: true, y: false } },
    legend: { show: true },
    scales: { y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [{ ...axis, values: MARKS }, { ...axis, size: 62, values: (_plot, values) => values.map((value) => (value === 0 ? "0" : format(value))) }],
    series: [
      { label: "Time", value: "{YYYY}-{MM}-{DD} {HH}:{mm}:{ss} UTC" },
      {
        label: figure.querySelector("figcaption").textContent,
        stroke: colour("--plot"),
        fill: colour("--plot-wash"),
        width: 1.5,
        spanGaps: false,
        points: { show: false },
        value: (plot, value) => (value !== null ? format(value) : plot.cursor.idx === null ? "--" : "not known"),
      },
    ],
    hooks: { drawClear: [shade] },
  };
}

function draw() {
  const times = chart.series.running.map((_value, index) => chart.begin_s + index * chart.step_s);
  for (const figure of figures) {
    const data = [times, chart.series[figure.dataset.series]];
    const plot = plots.get(figure);
    if (plot) {
      const zoomed = plot.scales.x.min > plot.data[0][0] || plot.scales.x.max < plot.data[0].at(-1);
      plot.setData(data, !zoomed);
    } else {
      const place = figure.querySelector(".plot");
      plots.set(figure, new uPlot(options(figure, place.clientWidth), data, place));
    }
  }
}

function again() {
  for (const plot of plots.values()) plot.destroy();
  plots.clear();
  if (chart) draw();
}

// What the page says in words and bars of the same span.
async function retell() {
  const answer = await fetch(location.href, { cache: "no-store" });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of [".summary", ".timeline"]) {
    const fresh = page.querySelector(part);
    const present = document.querySelector(part);
    if (fresh && present) morph(present, fresh);
  }
}

async function update() {
  const address = `/api/tasks/${encodeURIComponent(charts.dataset.task)}/history?span=${charts.dataset.span}`;
  try {
    const answer = await fetch(address, { cache: "no-store" });
    lostNote.hidden = answer.ok;
    if (!answer.ok) return;
    chart = await answer.json();
    draw();
    await retell();
  } catch {
    lostNote.hidden = false;
  }
}

async function run() {
  for (;;) {
    if (!document.hidden) await update();
    await new Promise((resume) => setTimeout(resume, EVERY_MS[charts.dataset.span] ?? SLOW_MS));
  }
}

let width = charts.clientWidth;
new ResizeObserver(() => {
  if (charts.clientWidth === width) return;
  width = charts.clientWidth;
  for (const [figure, plot] of plots) plot.setSize({ width: figure.querySelector(".plot").clientWidth, height: HEIGHT });
}).observe(charts);
document.documentElement.addEventListener("theme", again);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) update();
});
run();
