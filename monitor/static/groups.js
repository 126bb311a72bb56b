// Rows under headings: by state, host, group of Cores or a label.

const headings = new Map();

function valueOf(facts, by) {
  if (!by.startsWith("label:")) return facts[by];
  const prefix = `${by.slice("label:".length)}=`;
  return facts.labels.find((label) => label.startsWith(prefix))?.slice(prefix.length) ?? "";
}

function heading(by, value) {
  const key = `group:${by}:${value}`;
  let body = headings.get(key);
  if (!body) {
    body = document.createElement("tbody");
    body.className = "grouping";
    body.setAttribute("role", "rowgroup");
    body.dataset.key = key;
    const row = body.insertRow();
    row.setAttribute("role", "row");
    const cell = document.createElement("th");
    cell.setAttribute("role", "rowheader");
    cell.append(document.createElement("b"), document.createElement("small"));
    row.append(cell);
    headings.set(key, body);
  }
  return body;
}

// The elements of the table, `sorted` rows under a heading of each value; without `by` only the rows.
export function grouped(sorted, by) {
  if (!by) return sorted.map((row) => row.element);
  const groups = new Map();
  for (const row of sorted) {
    const value = valueOf(row.facts, by);
    if (!groups.has(value)) groups.set(value, []);
    groups.get(value).push(row);
  }
  const values = [...groups.keys()].sort((one, other) => (one === "") - (other === "") || (one < other ? -1 : 1));
  return values.flatMap((value) => {
    const members = groups.get(value);
    const shown = members.filter((row) => !row.element.hidden);
    const body = heading(by, value);
    const [name, count] = body.rows[0].cells[0].children;
    const bad = shown.filter((row) => row.facts.trouble > 0).length;
    name.textContent = value || "none";
    count.textContent = `${shown.length} task${shown.length === 1 ? "" : "s"}${bad ? `, ${bad} with problems` : ""}`;
    body.hidden = !shown.length;
    return [body, ...members.map((row) => row.element)];
  });
}
