// The inspector, a drawer below the conversation: what went to the app, what it called, and how that ended.
import { note } from "./dialogs.js";
import { el, morphChildren } from "./dom.js";
import { icon } from "./icons.js";
import { post } from "./live.js";
import { changed, channelName, channelOf, handleOf, state } from "./state.js";

const OPEN = "workspace-inspector"; // per tab
const MOST_SHOWN = 300;
const KIND_WORDS = { event: "Event", interactive: "Interaction", command: "Command", call: "Call" };
const FILTERS = {
  all: ["All", (entry) => entry.state !== "unsent"],
  sent: ["To the app", (entry) => entry.kind !== "call" && entry.state !== "unsent"],
  calls: ["Calls", (entry) => entry.kind === "call"],
  errors: ["Errors", (entry) => entry.state === "error"],
  unsent: ["Not sent", (entry) => entry.state === "unsent"],
};

const entries = new Map(); // id -> entry, oldest first
const rows = new Map(); // id -> {entry, chosen, node}
let open = sessionStorage.getItem(OPEN) === "yes";
let filter = "all";
let chosen = 0; // the id of the entry whose payload is shown
let whole = null; // that entry with its payload and answer
let seen = 0; // the id up to which errors were seen

/** Takes an entry, new or changed. Returns whether anything on the screen shows it. */
export function takeTraffic(entry) {
  entries.set(entry.id, entry);
  while (entries.size > 2 * MOST_SHOWN) entries.delete(entries.keys().next().value);
  if (open && entry.id === chosen) choose(chosen);
  return open || entry.state === "error";
}

/** Asks for everything that is remembered: at the start, and after a connection was lost. */
export async function reloadTraffic() {
  const before = [...entries.keys()]; // of an earlier start of the workspace, maybe
  const answer = await post("traffic");
  if (!answer.ok) return;
  const live = [...entries.values()].filter((entry) => !before.includes(entry.id)); // came in since, and newer than the answer
  entries.clear();
  for (const entry of [...answer.entries, ...live]) entries.set(entry.id, entry);
  seen = Math.min(seen, ...[...entries.keys()].slice(-1));
  changed();
}

function toggle(to) {
  open = to;
  sessionStorage.setItem(OPEN, open ? "yes" : "no");
  if (open) state.sidebar = false;
  changed();
  if (!open) document.querySelector("#inspector-door button")?.focus();
}

async function choose(id) {
  chosen = id;
  changed();
  const answer = await post("traffic_entry", { id });
  if (chosen !== id) return;
  whole = answer.ok ? answer.entry : null;
  if (!answer.ok) note(answer.error, "error");
  changed();
}

async function resend(id, retry) {
  const answer = await post("resend", { id, retry });
  if (!answer.ok) note(`The event was not sent: ${answer.error}`, "error");
}

export function drawInspector() {
  const all = [...entries.values()].sort((one, other) => other.id - one.id);
  if (open) seen = all[0]?.id ?? seen;
  const fresh = all.filter((entry) => entry.state === "error" && entry.id > seen).length;
  const count = fresh ? el("span", { class: "badge count" }, String(fresh), el("span", { class: "visually-hidden" }, " new errors")) : null;
  morphChildren(document.getElementById("inspector-door"), [
    el("button", { type: "button", class: "channel", "aria-expanded": String(open), "aria-controls": "inspector", data: { testid: "inspector-button" }, onclick: () => toggle(!open) }, icon("traffic", 16), el("span", { class: "channel-name" }, "Inspector"), count),
  ]);
  const panel = document.getElementById("inspector");
  panel.hidden = !open;
  if (!open) return;
  if (!panel.firstChild) {
    panel.append(el("header"), el("div", { class: "traffic" }, el("ol", { class: "traffic-list", data: { testid: "traffic" } }), el("div", { class: "traffic-entry", data: { testid: "traffic-entry" } })));
    panel.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      toggle(false);
    });
  }
  drawHead(panel.firstChild, all);
  drawRows(panel.querySelector(".traffic-list"), all.filter(FILTERS[filter][1]).slice(0, MOST_SHOWN));
  morphChildren(panel.querySelector(".traffic-entry"), details());
}

function drawHead(head, all) {
  const button = ([name, [label, fits]]) => {
    const count = ["errors", "unsent"].includes(name) ? all.filter(fits).length : 0;
    const pick = () => {
      filter = name;
      changed();
    };
    return el("button", { type: "button", class: name, "aria-pressed": String(filter === name), data: { testid: `traffic-${name}` }, onclick: pick }, count ? `${label} ${count}` : label);
  };
  morphChildren(head, [
    el("h2", {}, "Inspector"),
    el("div", { class: "filters", role: "group", "aria-label": "Show" }, Object.entries(FILTERS).map(button)),
    el("button", { type: "button", class: "quiet", "aria-label": "Close the inspector", onclick: () => toggle(false) }, icon("close")),
  ]);
}

/** Rows that did not change stay where they are, so that none loses the focus when another comes on top. */
function drawRows(list, shown) {
  const nodes = shown.map((entry) => {
    const known = rows.get(entry.id);
    if (known?.entry === entry && known.chosen === (entry.id === chosen)) return known.node;
    const node = row(entry);
    if (known?.node.contains(document.activeElement)) queueMicrotask(() => node.firstChild.focus());
    rows.set(entry.id, { entry, chosen: entry.id === chosen, node });
    return node;
  });
  if (!nodes.length) nodes.push(el("li", { class: "empty" }, filter === "all" ? "Nothing yet. Write to the app, and what it gets and calls shows here." : "Nothing of that kind yet."));
  const kept = new Set(nodes);
  for (const node of [...list.children]) if (!kept.has(node)) node.remove();
  nodes.forEach((node, index) => list.children[index] === node || list.insertBefore(node, list.children[index] ?? null));
  for (const id of rows.keys()) if (!entries.has(id)) rows.delete(id);
}

function row(entry) {
  const calls = entry.kind === "call";
  const about = entry.state === "error" ? entry.error : readable(entry.about);
  return el(
    "li",
    { data: { testid: "traffic-row", state: entry.state } },
    el(
      "button",
      { type: "button", class: entry.state, "aria-current": entry.id === chosen ? "true" : null, onclick: () => choose(entry.id) },
      el("span", { class: "traffic-time" }, clock(entry.at)),
      el("span", { class: calls ? "traffic-way call" : "traffic-way", title: calls ? "The app called" : "Sent to the app" }, calls ? "←" : "→"),
      el("span", { class: "traffic-name" }, entry.name),
      el("span", { class: "traffic-about" }, about),
      state.workspace.apps.length > 1 ? el("span", { class: "tag" }, state.workspace.apps.find((app) => app.app_id === entry.app)?.name ?? "") : null,
      entry.attempts > 1 ? el("span", { class: "tag", title: "attempts" }, `×${entry.attempts}`) : null,
      entry.fault ? el("span", { class: "tag" }, entry.fault) : null,
      el("span", { class: "traffic-ms" }, took(entry)),
    ),
  );
}

function details() {
  const entry = entries.get(chosen);
  if (!entry) return [el("p", { class: "empty" }, "Choose a line to see its payload.")];
  const loaded = whole?.id === chosen ? whole : null;
  const event = entry.kind === "event" && entry.state !== "unsent";
  return [
    el(
      "div",
      { class: "traffic-title" },
      el("div", {}, el("h3", {}, entry.name), el("p", { class: entry.state }, `${KIND_WORDS[entry.kind]} · ${ending(entry)}`)),
      event ? el("button", { type: "button", class: "button", title: "With a new event_id", data: { testid: "send-again" }, onclick: () => resend(entry.id, false) }, "Send again") : null,
      event ? el("button", { type: "button", class: "button", title: "With the same event_id, as Slack does when it heard nothing", data: { testid: "send-retry" }, onclick: () => resend(entry.id, true) }, "Send as a retry") : null,
    ),
    ...(loaded ? [part(entry.kind === "call" ? "Arguments" : "Payload", loaded.payload), loaded.answer === null ? null : part("Answer", loaded.answer)] : []),
  ];
}

function part(title, value) {
  const text = JSON.stringify(unpacked(value), null, 2);
  const copy = () => navigator.clipboard.writeText(text).then(
    () => note("Copied."),
    () => note("The browser did not let the page copy.", "error"),
  );
  return el("div", { class: "traffic-json", key: title }, el("h4", {}, title, el("button", { type: "button", class: "quiet", "aria-label": `Copy: ${title}`, onclick: copy }, icon("copy", 14))), el("pre", { tabindex: 0 }, coloured(text)));
}

/** Arguments that came as JSON in a form, such as blocks, as what they are. */
function unpacked(value) {
  if (!value || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, parsed(entry)]));
}

function parsed(entry) {
  if (typeof entry !== "string" || !/^[[{]/.test(entry)) return entry;
  try {
    return JSON.parse(entry);
  } catch {
    return entry;
  }
}

const TOKEN = /("(?:[^"\\]|\\.)*")(:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi;

function coloured(text) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(TOKEN)) {
    const kind = found[2] ? "json-key" : found[1] ? "json-text" : "json-value";
    parts.push(text.slice(from, found.index), el("span", { class: kind }, found[1] ?? found[0]));
    from = found.index + (found[1] ?? found[0]).length;
  }
  return [...parts, text.slice(from)];
}

function ending(entry) {
  const tries = entry.attempts > 1 ? `, attempt ${entry.attempts} of 4` : "";
  if (entry.state === "unsent") return `not sent. ${entry.error}`;
  if (entry.state === "waiting") return `waiting for the app${tries}`;
  if (entry.state === "error") return `${entry.error}${tries}${entry.fault ? ` (fault: ${entry.fault})` : ""}`;
  return `${entry.kind === "call" ? "answered" : "acknowledged"} in ${took(entry)}${tries}`;
}

function took(entry) {
  if (entry.state === "unsent") return "";
  if (entry.ms === null) return "…";
  return entry.ms < 10 ? `${entry.ms.toFixed(1)} ms` : `${Math.round(entry.ms)} ms`;
}

/** What an entry is about, with names in place of ids. */
function readable(about) {
  const channel = channelOf(about);
  return channel ? channelName(channel) : about.replace(/<@(\w+)>/g, (_, id) => `@${handleOf(id)}`);
}

function clock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
}
