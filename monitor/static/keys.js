// Keys of all pages; a page adds those that only it has.

const SEQUENCE_MS = 1500;
const PLACES = { t: "/#h-tasks", o: "/", a: "/alerts", m: "/machines", u: "/audit", d: "/docs" };

const actions = new Map();
let begun = -Infinity; // when `g` was pressed

export function bind(key, action) {
  actions.set(key, action);
}

function go(letter) {
  const address = PLACES[letter];
  const path = address?.split("#", 1)[0];
  const known = document.querySelector(`header nav a[href="${path}"], footer a[href="${path}"]`);
  if (!known) return;
  if (path !== location.pathname) location.assign(address);
  else if (address.includes("#")) document.getElementById(address.split("#")[1])?.scrollIntoView();
  else scrollTo(0, 0);
}

function back() {
  if (location.pathname === "/") return;
  const here = document.referrer.startsWith(`${location.origin}/`);
  if (here && history.length > 1) history.back();
  else location.assign("/");
}

bind("?", () => document.getElementById("keys").showModal());
bind("Escape", back);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest?.("input, textarea, select, dialog")) return;
  if (performance.now() - begun < SEQUENCE_MS) {
    begun = -Infinity;
    event.preventDefault();
    go(event.key);
    return;
  }
  if (event.key === "g") {
    begun = performance.now();
    return;
  }
  const action = actions.get(event.key);
  if (action) {
    event.preventDefault();
    action();
  }
});

document.getElementById("help").addEventListener("click", () => actions.get("?")());
