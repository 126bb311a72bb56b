// Copies commands. Without it, without a secure context, or without permission, the text can be selected.
"use strict";

document.documentElement.classList.add("can-copy");

async function copied(code) {
  try {
    await navigator.clipboard.writeText(code.textContent); // undefined over plain HTTP on the network
    return true;
  } catch {
    getSelection().selectAllChildren(code);
    try {
      return document.execCommand("copy");
    } catch {
      return false;
    }
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  const done = await copied(button.parentElement.querySelector("code"));
  button.textContent = done ? "Copied" : "Selected: press Ctrl+C";
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
});
