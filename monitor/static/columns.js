// Which columns the tasks table has. Chosen here, remembered by the browser.

const table = document.querySelector("table.tasks");
const heads = [...table.tHead.rows[0].cells];
const boxes = [...document.querySelectorAll("#columns input")];
const STORED = "columns";

let wide = false;

function usual() {
  return heads.filter((head) => head.hasAttribute("data-shown")).map((head) => head.dataset.column);
}

function chosen() {
  try {
    const names = JSON.parse(localStorage.getItem(STORED));
    return Array.isArray(names) ? names : usual();
  } catch {
    return usual(); // storage may be switched off, or have something else
  }
}

function remember(names) {
  try {
    if (names) localStorage.setItem(STORED, JSON.stringify(names));
    else localStorage.removeItem(STORED);
  } catch {
    // then it lasts as long as the page
  }
}

function show(names) {
  const shown = heads.filter((head) => wide || head.dataset.column === "name" || names.includes(head.dataset.column));
  table.style.setProperty("--columns", shown.map((head) => head.dataset.width).join(" "));
  table.dataset.without = heads.filter((head) => !shown.includes(head)).map((head) => head.dataset.column).join(" ");
  for (const box of boxes) box.checked = names.includes(box.value);
}

export function toggleWide() {
  wide = !wide;
  show(chosen());
}

document.getElementById("columns").addEventListener("change", () => {
  const names = boxes.filter((box) => box.checked).map((box) => box.value);
  remember(names);
  show(names);
});
document.getElementById("columns-reset").addEventListener("click", () => {
  wide = false;
  remember(null);
  show(usual());
});
show(chosen());
