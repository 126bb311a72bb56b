// Keeps parts of a page current that the event stream does not have.
//
//   data-part   address of the HTML of the part; data-every: ms between two questions for it, 0: never
"use strict";

const UNKNOWN_MS = 5000;

async function refresh(part) {
  const address = part.dataset.part;
  try {
    const answer = await fetch(address, { cache: "no-store" });
    if (answer.status === 401) location.reload(); // the session has ended: the login page
    if (!answer.ok || part.dataset.part !== address) return;
    const fresh = new DOMParser().parseFromString(`<div>${await answer.text()}</div>`, "text/html").body.firstElementChild;
    for (const { name, value } of part.attributes) fresh.setAttribute(name, value);
    morph(part, fresh);
  } catch {
    // The Monitor does not answer: the banner says so.
  }
}

async function keepCurrent(part) {
  const every = Number(part.dataset.every);
  if (!every) return;
  for (;;) {
    await new Promise((resume) => setTimeout(resume, every || UNKNOWN_MS));
    if (!document.hidden && !part.querySelector("[data-busy]")) await refresh(part);
  }
}

document.querySelector('.tabs [aria-current="page"]')?.scrollIntoView({ block: "nearest", inline: "center" });
for (const part of document.querySelectorAll("[data-part]")) keepCurrent(part);
