// Windows of Slack's own, in which something is chosen or written: forwarding a message, writing a canvas, running a workflow step.
import { note, settle } from "./dialogs.js";
import { el } from "./dom.js";
import { icon } from "./icons.js";
import { post } from "./live.js";
import { channelName, channelOf, nameOf, state } from "./state.js";

/** Opens a sheet with a form. `send(values)` resolves to an error's text, or to "" to close it. */
function openSheet(title, label, testid, fields, send) {
  const close = () => {
    dialog.close();
    dialog.remove();
    settle();
  };
  const submit = async (event) => {
    event.preventDefault();
    const error = await send(Object.fromEntries(new FormData(form)));
    if (error) note(error, "error");
    else close();
  };
  const form = el(
    "form",
    { onsubmit: submit },
    el("header", {}, el("h2", {}, title), el("button", { class: "quiet", type: "button", "aria-label": "Close", onclick: close }, icon("close"))),
    el("div", { class: "sheet-body" }, fields),
    el(
      "footer",
      {},
      el("button", { class: "button", type: "button", onclick: close }, "Cancel"),
      el("button", { class: "button solid primary", type: "submit", data: { testid: `${testid}-send` } }, label),
    ),
  );
  const dialog = el("dialog", { class: "sheet small", "aria-label": title, data: { testid }, oncancel: close }, form);
  document.body.append(dialog);
  dialog.showModal();
}

function field(label, control) {
  return el("div", { class: "block block-input input-block" }, el("label", { class: "input-label", for: control.id }, label), control);
}

/** Lets the person forward a message to a channel, into the thread that is open, or to the app. */
export function forwardMessage(message, channel) {
  const places = state.workspace.channels.map((one) => el("option", { value: one.id, selected: one.id === channel }, one.is_im ? `Direct message with ${channelName(one)}` : `# ${one.name}`));
  const thread = state.thread ? [el("option", { value: "thread" }, "The thread that is open")] : [];
  const fields = [
    field("Forward to", el("select", { class: "field", id: "sheet-to", name: "to", data: { testid: "forward-to" } }, thread, places)),
    field("Add a message, if you like", el("textarea", { class: "field", id: "sheet-text", name: "text", rows: 2, data: { testid: "forward-text" } })),
  ];
  openSheet("Forward this message", "Forward", "forward-sheet", fields, async ({ to, text }) => {
    const place = to === "thread" ? { to: state.channel, thread_ts: state.thread } : { to };
    const answer = await post("forward", { channel, ts: message.ts, text, ...place });
    return answer.ok ? "" : `The message was not forwarded: ${answer.error}`;
  });
}

/** Lets the person write a canvas. `done(file)` gets it once the workspace has it. */
export function writeCanvas(done) {
  const fields = [
    field("Title", el("input", { class: "field", id: "sheet-title", name: "title", required: true, maxlength: 200, data: { testid: "canvas-title" } })),
    field("Text (Markdown)", el("textarea", { class: "field", id: "sheet-markdown", name: "markdown", rows: 8, required: true, data: { testid: "canvas-text" } })),
  ];
  openSheet("New canvas", "Attach", "canvas-sheet", fields, async ({ title, markdown }) => {
    const answer = await post("canvas", { title, markdown });
    if (answer.ok) done(answer.file);
    return answer.ok ? "" : `The canvas was not made: ${answer.error}`;
  });
}

const OF_SLACK = "slack#/types/";
const FROM_SLACK = ["interactivity", "user_context"].map((name) => OF_SLACK + name); // Slack puts them in by itself
const TEXT = (value) => value;
const READERS = {
  integer: Number,
  number: Number,
  boolean: (value) => value === "true",
  [`${OF_SLACK}timestamp`]: Number,
  ...Object.fromEntries(["object", "array", ...["blocks", "rich_text", "message_context"].map((name) => OF_SLACK + name)].map((type) => [type, JSON.parse])),
};

/** The field of a step's input: a menu for what can be chosen, else a line of text; objects are written as JSON. */
function input({ name, type, is_required: required }) {
  const choices = {
    [`${OF_SLACK}user_id`]: () => state.workspace.people.map((person) => [person.id, nameOf(person.id)]),
    [`${OF_SLACK}channel_id`]: () => state.workspace.channels.map((channel) => [channel.id, channelName(channel)]),
    boolean: () => [["true", "Yes"], ["false", "No"]],
  }[type];
  const about = { class: "field", id: `sheet-${name}`, name, required, data: { testid: `step-${name}` } };
  if (choices) return el("select", about, el("option", { value: "" }, "Choose an option"), choices().map(([value, text]) => el("option", { value }, text)));
  const numbers = READERS[type] === Number;
  return el("input", { ...about, type: numbers ? "number" : "text", step: numbers && type === "number" ? "any" : null });
}

/** Lets the person run a function of the app as a step of a workflow, with its inputs. */
export function runStep(step) {
  const inputs = step.inputs.filter((each) => !FROM_SLACK.includes(each.type));
  const fields = inputs.map((each) => field(each.is_required ? each.title : `${each.title} (optional)`, input(each)));
  openSheet(step.title, "Run", "step-sheet", [step.description ? el("p", {}, step.description) : null, fields], async (values) => {
    const given = inputs.filter((each) => values[each.name]);
    try {
      const answer = await post("step", {
        callback_id: step.callback_id,
        inputs: Object.fromEntries(given.map((each) => [each.name, (READERS[each.type] ?? TEXT)(values[each.name])])),
      });
      return answer.ok ? "" : answer.error;
    } catch (error) {
      return `That is no JSON: ${error.message}`;
    }
  });
}

/** What a step gave back, as sentences: people and channels by their names. */
export function readOutputs(outputs) {
  const shown = (value) => {
    if (typeof value !== "string") return JSON.stringify(value);
    const channel = channelOf(value);
    return channel ? channelName(channel) : nameOf(value);
  };
  return Object.entries(outputs).map(([name, value]) => `${name}: ${shown(value)}.`);
}
