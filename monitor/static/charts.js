// Draws charts and keeps them current, wherever an element has the address of their points. Without this script a
// table has the figures.
//
//   data-points  address of {begin_s, step_s, series: {name: [value or null]}}
//   data-every   ms between two questions for them; data-height: px of a plot
//   data-shade   the series that is below 1 where the background is to be shaded
//   <figure data-series="lag_s" data-unit="s"><figcaption>Lag</figcaption><div class="plot"></div></figure>
//   data-series  or several, separated by blanks, whose names are in data-labels, separated by commas
"use strict";

const HEIGHT = 150;

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
  "B": (value) => `${unit(value, SIZES)}B`,
  "share": (value) => `${Math.round(100 * value)} %`,
  "%": (value) => `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`,
  "n": (value) => value.toFixed(2),
};

const COLOURS = ["--plot", "--plot-2", "--plot-3", "--plot-4", "--plot-5"];
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4]]; // colour is not all that tells lines apart

// As a canvas understands it: of a custom property only the text is known, light-dark() included.
function colour(place, name) {
  const sample = place.appendChild(document.createElement("span"));
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

class Charts {
  constructor(place) {
    this.place = place;
    this.figures = [...place.querySelectorAll("figure")];
    this.lost = place.querySelector(".charts-lost");
    this.plots = new Map(); // figure -> uPlot
    this.chart = null; // the points that are drawn
    this.width = place.clientWidth;
    this.height = Number(place.dataset.height) || HEIGHT;
    new ResizeObserver(() => this.resize()).observe(place);
    const again = () => this.again();
    document.documentElement.addEventListener("theme", again);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.update();
    });
    this.run();
  }

  // Where the series of data-shade is below 1, behind the lines.
  shade(plot) {
    const down = this.chart.series[this.place.dataset.shade];
    if (!down) return;
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.fillStyle = colour(this.place, "--down");
    const isDown = (value) => value !== null && value < 1;
    for (let first = 0; first < down.length; first += 1) {
      if (!isDown(down[first])) continue;
      const begin = first;
      while (first < down.length && isDown(down[first])) first += 1;
      const from = plot.valToPos(this.chart.begin_s + begin * this.chart.step_s, "x", true);
      const to = plot.valToPos(this.chart.begin_s + first * this.chart.step_s, "x", true);
      ctx.fillRect(from, bbox.top, Math.max(to - from, 1), bbox.height);
    }
    ctx.restore();
  }

  lines(figure, format) {
    const names = figure.dataset.series.split(" ");
    const labels = figure.dataset.labels?.split(",") ?? [figure.querySelector("figcaption").textContent.split(":")[0]];
    return names.map((_name, index) => ({
      label: labels[index],
      stroke: colour(this.place, COLOURS[index % COLOURS.length]),
      fill: names.length === 1 ? colour(this.place, "--plot-wash") : undefined,
      dash: DASHES[index % DASHES.length],
      width: 1.5,
      spanGaps: false,
      points: { show: false },
      value: (plot, value) => (value !== null ? format(value) : plot.cursor.idx === null ? "--" : "not known"),
    }));
  }

  options(figure, width) {
    const format = FORMATS[figure.dataset.unit];
    const axis = {
      stroke: colour(this.place, "--muted"),
      grid: { stroke: colour(this.place, "--line"), width: 1 },
      ticks: { show: false },
      font: "12px system-ui, sans-serif",
    };
    return {
      width,
      height: this.height,
      tzDate: inUtc,
      cursor: { sync: { key: "task" }, drag: { x: true, y: false } },
      legend: { show: true },
      scales: { y: { range: (_plot, _least, most) => [0, figure.dataset.unit === "share" ? 1 : most > 0 ? most * 1.1 : 1] } },
      axes: [{ ...axis, values: MARKS }, { ...axis, size: 62, values: (_plot, values) => values.map((value) => (value === 0 ? "0" : format(value))) }],
      series: [{ label: "Time", value: "{YYYY}-{MM}-{DD} {HH}:{mm}:{ss} UTC" }, ...this.lines(figure, format)],
      hooks: { drawClear: [(plot) => this.shade(plot)] },
    };
  }

  draw() {
    const any = Object.values(this.chart.series)[0] ?? [];
    const times = any.map((_value, index) => this.chart.begin_s + index * this.chart.step_s);
    for (const figure of this.figures) {
      const data = [times, ...figure.dataset.series.split(" ").map((name) => this.chart.series[name] ?? any.map(() => null))];
      const plot = this.plots.get(figure);
      if (plot) {
        const zoomed = plot.scales.x.min > plot.data[0][0] || plot.scales.x.max < plot.data[0].at(-1);
        plot.setData(data, !zoomed);
      } else {
        const place = figure.querySelector(".plot");
        this.plots.set(figure, new uPlot(this.options(figure, place.clientWidth), data, place));
      }
    }
  }

  again() {
    for (const plot of this.plots.values()) plot.destroy();
    this.plots.clear();
    if (this.chart) this.draw();
  }

  resize() {
    if (this.place.clientWidth === this.width) return;
    this.width = this.place.clientWidth;
    for (const [figure, plot] of this.plots) plot.setSize({ width: figure.querySelector(".plot").clientWidth, height: this.height });
  }

  async update() {
    try {
      const answer = await fetch(this.place.dataset.points, { cache: "no-store" });
      if (this.lost) this.lost.hidden = answer.ok;
      if (!answer.ok) return;
      this.chart = await answer.json();
      this.draw();
    } catch {
      if (this.lost) this.lost.hidden = false;
    }
  }

  async run() {
    for (;;) {
      if (!document.hidden) await this.update();
      await new Promise((resume) => setTimeout(resume, Number(this.place.dataset.every) || 5000));
    }
  }
}

for (const place of document.querySelectorAll("[data-points]")) new Charts(place);
