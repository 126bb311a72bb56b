// Puts the values of a row in their cells. They come without HTML: of 1,000 tasks all change each second.

import { duration, now, setText } from "./clock.js";

// The order of `Values` in monitor/task_rows.py.
export function valuesOf(json) {
  const [
    lag, behind, transactions, rate, position, headroom, event, checkpoint, lagS, behindBytes, behindTransactions, rowsPerS, headroomS,
  ] = JSON.parse(json);
  const facts = { lag: lagS, behind: behindBytes, transactions: behindTransactions, rate: rowsPerS, headroom: headroomS, event, checkpoint, position: position === "–" ? "" : position };
  return { shown: { lag, behind, transactions, rate, position, headroom }, times: { event, checkpoint }, facts };
}

function showTime(cell, ms) {
  if (!ms) {
    setText(cell, cell.dataset.cell === "checkpoint" ? "never" : "–");
    return;
  }
  let time = cell.querySelector("time");
  if (!time) {
    time = document.createElement("time");
    cell.replaceChildren(time);
  }
  if (time.dataset.ms === String(ms)) return;
  time.dataset.ms = String(ms);
  time.title = `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
  setText(time, duration(now() - ms));
}

export function fill(row, values, spark) {
  for (const cell of row.querySelectorAll("[data-cell]")) {
    const name = cell.dataset.cell;
    if (name in values.times) showTime(cell, values.times[name]);
    else {
      setText(cell, values.shown[name]);
      if (name === "position" && cell.title !== values.shown[name]) cell.title = values.shown[name];
    }
  }
  const path = row.querySelector(".spark path");
  if (path && path.getAttribute("d") !== spark) path.setAttribute("d", spark);
}
