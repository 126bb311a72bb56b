// Filter and order of the tasks table. The same rules as monitor/filtering.py, where they are described; pure.

const MOST = 500;
const TOKEN = /(?:[^ \t\r\n"]|"[^"]*"?)+/g;
const TERM = /^([a-z]+)(:|>=|<=|>|<|=)([^]*)$/;
const NUMBER = /^([0-9]{1,12}(?:\.[0-9]{1,9})?)(s|min|m|h|d|kb|k|mb|gb)?$/;
const UNITS = { s: 1, m: 60, min: 60, h: 3600, d: 86400, k: 1000, kb: 1000, mb: 1e6, gb: 1e9 };
const DESCENDING = new Set(["lag", "behind", "rate", "standbys", "epoch"]);
const AGES = new Set(["event", "checkpoint", "takeover"]);

export const TEXTS = ["name", "state", "host", "standby", "label", "group", "source", "sink", "code", "note", "version", "is"];
export const NUMBERS = [
  "lag", "behind", "transactions", "rate", "event", "checkpoint", "headroom", "takeover", "standbys", "epoch", "config", "pid",
];
export const ORDERS = [
  "name", "state", "source", "host", "standbys", "lag", "behind", "rate", "event", "position", "checkpoint", "epoch",
  "headroom", "takeover", "version",
];

export function textOf(task) {
  const one = [task.name.toLowerCase(), task.state.replaceAll("-", " "), task.host, task.group, task.source, task.sink, task.version];
  return [...one, ...task.states, ...task.standby, ...task.labels, ...task.codes, ...task.notes].join(" ");
}

export function parse(query) {
  return ([...query].slice(0, MOST).join("").toLowerCase().match(TOKEN) ?? []).map((token) => term(token.replaceAll('"', "")));
}

function term(token) {
  const body = token.replace(/^!+/, "");
  const negated = (token.length - body.length) % 2 === 1;
  const found = TERM.exec(body);
  const [, key, operator, rest] = found ?? [];
  if (found && TEXTS.includes(key) && ":=".includes(operator)) {
    return { negated, key, operator: ":", values: rest.split(",").filter(Boolean), number: 0 };
  }
  if (found && NUMBERS.includes(key)) {
    const number = NUMBER.exec(rest);
    if (number) {
      const value = Number(number[1]) * (UNITS[number[2]] ?? 1);
      return { negated, key, operator: operator === ":" ? "=" : operator, values: [], number: value };
    }
    if (!rest) return { negated: false, key: "", operator: "", values: [], number: 0 };
  }
  return { negated: negated && body !== "", key: "", operator: "", values: body ? [body] : [], number: 0 };
}

export function matches(terms, task, now) {
  return terms.every((one) => holds(one, task, now));
}

function incomplete(one) {
  return (one.operator === "" || one.operator === ":") && !one.values.length;
}

function holds(one, task, now) {
  if (incomplete(one)) return true;
  if (!one.key) return textOf(task).includes(one.values[0]) !== one.negated;
  if (one.operator === ":") return one.values.some((value) => has(one.key, value, task)) !== one.negated;
  const number = numberOf(one.key, task, now);
  return (number !== null && compared(number, one.operator, one.number)) !== one.negated;
}

function has(key, value, task) {
  if (key === "state") return task.states.some((state) => state.startsWith(value));
  if (key === "is") return value === "problem" ? task.trouble > 0 : task.states.includes(value);
  if (key === "label") return labelled(value, task.labels);
  const list = { standby: task.standby, code: task.codes, note: task.notes }[key];
  return list ? list.some((text) => text.includes(value)) : task[key].toLowerCase().includes(value);
}

function labelled(wanted, labels) {
  if (wanted.includes("!=")) return !labels.includes(wanted.replace("!=", "="));
  return wanted.includes("=") ? labels.includes(wanted) : labels.some((label) => label.startsWith(`${wanted}=`));
}

function numberOf(key, task, now) {
  if (AGES.has(key)) return task[key] ? (now - task[key]) / 1000 : null;
  return task[key];
}

function compared(number, operator, limit) {
  if (operator === "=") return number === limit;
  if (operator[0] === "<") return number < limit || (operator === "<=" && number === limit);
  return number > limit || (operator === ">=" && number === limit);
}

export function explained(terms) {
  return terms.map(explain).filter(Boolean).join(", ");
}

function explain(one) {
  if (incomplete(one)) return "";
  let what = `${one.key} ${one.operator} ${one.number}`;
  if (one.operator === "" || one.operator === ":") {
    const verb = ["state", "is", "label"].includes(one.key) ? "is" : "contains";
    what = `${one.key || "text"} ${verb} ${one.values.map((value) => `"${value}"`).join(" or ")}`;
  }
  return one.negated ? `not: ${what}` : what;
}

// [column, whether it descends] of "lag" or "-lag"; ["", false] is the usual order.
export function direction(order) {
  const column = order.replace(/^-/, "");
  if (!ORDERS.includes(column)) return ["", false];
  return [column, DESCENDING.has(column) !== order.startsWith("-")];
}

function sortable(column, task) {
  const value = task[column];
  if (value === null || value === "" || (AGES.has(column) && !value)) return null;
  return AGES.has(column) ? -value : value;
}

function compare(one, other) {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

export function ordered(tasks, order) {
  const [column, descending] = direction(order);
  const found = [...tasks].sort((one, other) => compare(one.name, other.name));
  if (!column) return found.sort((one, other) => other.trouble - one.trouble);
  const value = new Map(found.map((task) => [task, sortable(column, task)]));
  const having = found.filter((task) => value.get(task) !== null);
  having.sort((one, other) => compare(value.get(one), value.get(other)) * (descending ? -1 : 1));
  return [...having, ...found.filter((task) => value.get(task) === null)];
}
