// Copies commands. Without it, without a secure context, or without permission, the text can be selected.
"use strict";

document.documentElement.classList.add("can-copy");

async function copied(code, text) {
  try {
    await navigator.clipboard.writeText(text); // undefined over plain HTTP on the network
    return true;
  } catch {
    const shown = code.textContent;
    if (shown !== text) code.textContent = text; // what is copied is what can be seen and selected
    getSelection().selectAllChildren(code);
    try {
      if (!document.execCommand("copy")) return false;
    } catch {
      return false;
    }
    if (shown !== text) code.textContent = shown;
    return true;
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  const code = button.parentElement.querySelector("code");
  const name = (button.dataset.name ??= button.textContent);
  const done = await copied(code, button.dataset.text ?? code.textContent);
  button.textContent = done ? "Copied" : "Selected: press Ctrl+C";
  setTimeout(() => { button.textContent = name; }, 2000);
});
