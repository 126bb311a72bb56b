// Shows the pages of actions in a dialog, and has keys for two of them. Without it they are pages of their own.
import { bind } from "./keys.js";

const box = document.createElement("dialog");
box.className = "act";
box.setAttribute("aria-labelledby", "h-action");
document.body.append(box);

// A row of the overview, or the head of the page of a task.
function address(task, action) {
  return `/tasks/${encodeURIComponent(task.dataset.task)}/actions/${action}`;
}

// The section of a page. One without it, such as the login page, is opened as a page.
async function show(url, options) {
  let answer;
  try {
    answer = await fetch(url, { ...options, credentials: "same-origin", headers: { accept: "text/html" } });
  } catch {
    const said = box.querySelector(".offline") || document.createElement("p");
    said.className = "problem offline";
    said.setAttribute("role", "alert");
    said.textContent = "The Monitor did not answer. Sent again, the request is done once.";
    box.append(said);
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const section = page.getElementById("action");
  if (!section) {
    location.assign(answer.redirected || !options.method ? answer.url : location.href);
    return;
  }
  box.replaceChildren(document.importNode(section, true));
  box.dataset.at = answer.url;
  if (!box.open) box.showModal();
  (box.querySelector("[data-first]") || box.querySelector("#h-action")).focus();
}

box.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const buttons = form.querySelectorAll("button");
  const fields = new URLSearchParams(new FormData(form));
  for (const button of buttons) button.disabled = true;
  if (form.method === "get") await show(`${form.action}?${fields}`, {});
  else await show(form.action, { method: "POST", body: fields });
  for (const button of buttons) button.disabled = false;
});

document.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const link = event.target.closest("a[data-action], dialog.act a[data-load], dialog.act a[data-close]");
  if (!link) return;
  if (link.dataset.close !== undefined) {
    event.preventDefault();
    box.close();
    return;
  }
  event.preventDefault();
  show(link.href, {});
});

function focused() {
  return document.activeElement.closest(".task[data-task]") || document.querySelector(".task-head .task[data-task]");
}

function act(action) {
  const task = focused();
  if (task) show(address(task, action(task)), {});
}

bind("p", () => act((task) => (["PAUSED", "PAUSING"].includes(task.dataset.state) ? "resume" : "pause")));
bind("s", () => act(() => "switchover"));
