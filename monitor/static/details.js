// Opens a row in place. What it shows is asked for then, and again while it is open.

import { morph, parse } from "./morph.js";

const EVERY_MS = 3000;

async function fetched(task) {
  const answer = await fetch(`/api/tasks/${encodeURIComponent(task)}/details`, { cache: "no-store" });
  if (!answer.ok) throw new Error(answer.statusText);
  return parse(await answer.text());
}

function place(row) {
  const line = document.createElement("tr");
  line.className = "details";
  line.setAttribute("role", "row");
  const cell = line.insertCell();
  cell.setAttribute("role", "cell");
  cell.colSpan = row.rows[0].cells.length;
  row.append(line);
  return cell;
}

async function refresh(row) {
  const cell = row.querySelector(":scope > .details > td");
  if (!cell) return;
  try {
    const fresh = await fetched(row.dataset.task);
    if (cell.firstElementChild?.matches(".detail")) morph(cell.firstElementChild, fresh);
    else cell.replaceChildren(fresh);
  } catch {
    if (!cell.firstElementChild?.matches(".detail")) cell.textContent = "Not known: the Monitor does not answer.";
  }
}

export function toggle(row) {
  const open = row.toggleAttribute("data-open");
  row.querySelector(".open").setAttribute("aria-expanded", String(open));
  if (open) {
    place(row);
    refresh(row);
  } else {
    row.querySelector(":scope > .details")?.remove();
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest(".open");
  if (button) toggle(button.closest("tbody"));
});
setInterval(() => {
  if (document.hidden) return;
  for (const row of document.querySelectorAll("tbody[data-open]:not([hidden])")) refresh(row);
}, EVERY_MS);
