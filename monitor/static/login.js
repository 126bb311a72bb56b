// The login page has the colours that were chosen on the dashboard.
"use strict";

try {
  const theme = localStorage.getItem("theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {
  // storage may be switched off: as the system says
}
