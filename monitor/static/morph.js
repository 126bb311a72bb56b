// Puts HTML of the Monitor in place without losing focus, selection and what is opened.

// Attributes that belong to the browser, not to the server.
const OWN = new Set(["data-open", "aria-expanded", "hidden", "open"]);

export function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

// All elements of several fragments at once, which is several times as fast as one after the other.
export function parseAll(fragments) {
  const template = document.createElement("template");
  template.innerHTML = fragments.join("");
  return [...template.content.children];
}

export function morphAttributes(old, fresh) {
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !OWN.has(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (!OWN.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

export function morph(old, fresh) {
  morphAttributes(old, fresh);
  const before = [...old.childNodes];
  const after = [...fresh.childNodes];
  after.forEach((node, index) => {
    const current = before[index];
    if (!current) old.append(node);
    else if (current.nodeType !== node.nodeType || current.nodeName !== node.nodeName) current.replaceWith(node);
    else if (node.nodeType === Node.TEXT_NODE) {
      if (current.data !== node.data) current.data = node.data;
    } else if (!current.isEqualNode(node)) morph(current, node);
  });
  before.slice(after.length).forEach((node) => node.remove());
}

// Indexes of a longest ascending run of `places`: what may stay while the others are moved.
function staying(places) {
  const ends = [];
  const before = new Array(places.length).fill(-1);
  places.forEach((place, index) => {
    if (place < 0) return;
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (places[ends[middle]] < place) low = middle + 1;
      else high = middle;
    }
    before[index] = low ? ends[low - 1] : -1;
    ends[low] = index;
  });
  const kept = new Set();
  for (let index = ends.at(-1) ?? -1; index >= 0; index = before[index]) kept.add(index);
  return kept;
}

// Makes `wanted` the children of `container` behind `first`, with as few moves as there can be; others are removed.
export function arrange(container, wanted, first = null) {
  const kept = new Set(wanted);
  const present = [...container.children].filter((child) => child !== first);
  for (const child of present) if (!kept.has(child)) child.remove();
  const place = new Map(present.filter((child) => kept.has(child)).map((child, index) => [child, index]));
  const still = staying(wanted.map((child) => place.get(child) ?? -1));
  const focused = document.activeElement;
  let last = first;
  wanted.forEach((child, index) => {
    if (!still.has(index)) {
      if (last) last.after(child);
      else container.prepend(child);
    }
    last = child;
  });
  if (focused !== document.activeElement && container.contains(focused)) focused.focus({ preventScroll: true });
}

// Rows of a list whose order the server says: `html` has those that changed.
export function placeRows(container, keys, html) {
  const rows = new Map([...container.children].filter((row) => row.dataset.key).map((row) => [row.dataset.key, row]));
  const wanted = [];
  for (const key of keys) {
    let row = rows.get(key);
    if (html[key] !== undefined) {
      const fresh = parse(html[key]);
      if (row) morph(row, fresh);
      else row = fresh;
    }
    if (row) wanted.push(row);
  }
  arrange(container, wanted);
}
