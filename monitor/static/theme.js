// Colours: as the system says unless chosen here.

import { setText } from "./clock.js";

const root = document.documentElement;
const THEMES = ["auto", "dark", "light"];
const button = document.getElementById("theme");

function show(theme) {
  if (theme === "auto") root.removeAttribute("data-theme");
  else root.dataset.theme = theme;
  setText(button, `Theme: ${theme}`);
  root.dispatchEvent(new Event("theme"));
}

function stored() {
  try {
    return THEMES.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "auto";
  } catch {
    return "auto"; // storage may be switched off
  }
}

button.addEventListener("click", () => {
  const theme = THEMES[(THEMES.indexOf(root.dataset.theme || "auto") + 1) % THEMES.length];
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // then it lasts as long as the page
  }
  show(theme);
});

show(stored());
