// Keeps the page of alerts live: asks for its body every few seconds, and puts it in place as the stream does.
"use strict";

const ALERTS_MS = 3000;

async function refreshAlerts() {
  if (document.hidden) return;
  try {
    const answer = await fetch("/alerts/body", { cache: "no-store" });
    if (answer.status === 401) location.reload(); // the session has ended: the login page
    if (!answer.ok) return;
    morph(document.getElementById("alerts-body"), parse((await answer.text()).trim()));
    tick();
  } catch {
    // The Monitor does not answer: the banner of all pages says so.
  }
}

setInterval(refreshAlerts, ALERTS_MS);
document.addEventListener("visibilitychange", refreshAlerts);
