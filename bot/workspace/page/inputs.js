// The elements that hold a value until it is read: texts, selects, choices, dates, files.
// A control's value has the shape of Slack's `state.values`.
import { chip } from "./chips.js";
import { el } from "./dom.js";
import { external } from "./external.js";
import { upload } from "./live.js";
import { bare, plain } from "./mrkdwn.js";
import { channelName, nameOf, state } from "./state.js";
import { note } from "./dialogs.js";

/** The control of a stateful element, or null where the type is none. `changed(node)` runs on a new value. `place`: as for blocks. */
export function control(element, blockId, changed, place) {
  const build = BUILDERS[element.type];
  if (!build) return null;
  const [node, read] = build(element, () => changed(node), { ...place, block_id: blockId });
  // What the person entered stays while the same control is drawn again, as in Slack.
  const { initial_value: _v, initial_option: _o, initial_options: _os, ...lasting } = element;
  node.whole = JSON.stringify([blockId, lasting]);
  node.dataset.input = element.action_id ?? "";
  node.blockId = blockId;
  node.actionId = element.action_id ?? "";
  node.read = () => ({ type: element.type, ...read() });
  return node;
}

/** The values of all controls inside a node: {block_id: {action_id: {type, value, ...}}}. */
export function collect(root) {
  const values = {};
  for (const node of root.querySelectorAll("[data-input]")) {
    values[node.blockId] = { ...values[node.blockId], [node.actionId]: node.read() };
  }
  return values;
}

/** True for a control's value that says nothing. */
export function isEmpty(value) {
  const { type: _type, ...rest } = value;
  return Object.values(rest).every((entry) => entry === null || entry === "" || (Array.isArray(entry) && entry.length === 0));
}

function field(type, key, initial) {
  return (element, changed) => {
    const long = type === "text" && element.multiline;
    const node = el(long ? "textarea" : "input", {
      class: "field",
      type: long ? null : type,
      rows: long ? 4 : null,
      step: type === "number" && element.is_decimal_allowed ? "any" : null,
      placeholder: bare(element.placeholder) || null,
      minlength: element.min_length,
      maxlength: element.max_length,
      min: element.min_value,
      max: element.max_value,
      autofocus: element.focus_on_load,
    });
    node.value = element[initial] ?? "";
    if (type === "date" || type === "time") node.onchange = changed;
    else node.onkeydown = (event) => {
      if (event.key === "Enter" && !long) changed();
    };
    return [node, () => ({ [key]: node.value || null })];
  };
}

function moment(element, changed) {
  const node = el("input", { class: "field", type: "datetime-local", onchange: changed });
  if (element.initial_date_time) {
    const local = new Date(element.initial_date_time * 1000);
    node.value = new Date(local.getTime() - local.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
  }
  return [node, () => ({ selected_date_time: node.value ? Math.floor(new Date(node.value).getTime() / 1000) : null })];
}

function richInput(element) {
  const node = el("textarea", { class: "field", rows: 4, placeholder: bare(element.placeholder) || null });
  const section = () => ({ type: "rich_text_section", elements: [{ type: "text", text: node.value }] });
  return [node, () => ({ rich_text_value: node.value ? { type: "rich_text", elements: [section()] } : null })];
}

function people() {
  const { apps, people: known } = state.workspace;
  return [...known.map((person) => person.id), ...apps.map((app) => app.user_id)].map((id) => ({ text: nameOf(id), value: id }));
}

function conversations() {
  return state.workspace.channels.map((channel) => ({ text: channelName(channel), value: channel.id }));
}

function choices(element) {
  const groups = element.option_groups ?? [{ options: element.options ?? [] }];
  return groups.flatMap((group) => group.options ?? []);
}

function select(kind, key, initial) {
  return (element, changed) => {
    const listed = kind === "option" ? choices(element).map((option, index) => ({ text: bare(option.text), value: String(index) })) : kind === "person" ? people() : conversations();
    const node = el(
      "select",
      { class: "field select", "aria-label": bare(element.placeholder) || "Choose", onchange: changed },
      el("option", { value: "" }, bare(element.placeholder) || "Choose an option"),
      listed.map((entry) => el("option", { value: entry.value }, entry.text)),
    );
    const first = element[initial];
    node.value = kind === "option" ? (first ? String(choices(element).findIndex((option) => option.value === first.value)) : "") : (first ?? "");
    const picked = () => (kind === "option" ? choices(element)[Number(node.value)] : node.value);
    return [node, () => ({ [key]: node.value === "" ? null : picked() })];
  };
}

function several(kind, key, initial) {
  return (element, changed) => {
    const listed = kind === "option" ? choices(element).map((option) => ({ text: bare(option.text), value: option.value, option })) : kind === "person" ? people() : conversations();
    const first = element[initial] ?? [];
    const chosen = first.map((entry) => (kind === "option" ? entry.value : entry));
    const chips = el("span", { class: "chips" });
    const add = el("select", { class: "field select", "aria-label": bare(element.placeholder) || "Add" });
    const draw = () => {
      const names = chosen.map((value) => listed.find((entry) => entry.value === value)?.text ?? value);
      chips.replaceChildren(...names.map((name, index) => chip(name, () => (chosen.splice(index, 1), draw(), changed()))));
      const left = listed.filter((entry) => !chosen.includes(entry.value));
      add.replaceChildren(el("option", { value: "" }, bare(element.placeholder) || "Choose options"), ...left.map((entry) => el("option", { value: entry.value }, entry.text)));
    };
    add.onchange = () => {
      if (add.value && chosen.length < (element.max_selected_items ?? Infinity)) chosen.push(add.value);
      draw();
      changed();
    };
    draw();
    const read = () => (kind === "option" ? chosen.map((value) => listed.find((entry) => entry.value === value).option) : [...chosen]);
    return [el("span", { class: "several" }, chips, add), () => ({ [key]: read() })];
  };
}

let groups = 0;

function boxes(type, key, initial) {
  return (element, changed) => {
    groups += 1;
    const group = `choice-${groups}`;
    const many = type === "checkbox";
    const first = (many ? element[initial] : element[initial] && [element[initial]]) ?? [];
    const inputs = (element.options ?? []).map((option) => {
      const input = el("input", { type, name: group, onchange: changed });
      input.checked = first.some((entry) => entry.value === option.value);
      return [input, option];
    });
    const rows = inputs.map(([input, option]) =>
      el("label", { class: "choice" }, input, el("span", {}, plain(option.text), option.description ? el("small", {}, plain(option.description)) : null)),
    );
    const read = () => inputs.filter(([input]) => input.checked).map(([, option]) => option);
    return [el("div", { class: "choices", role: many ? "group" : "radiogroup" }, rows), () => ({ [key]: many ? read() : (read()[0] ?? null) })];
  };
}

function files(element) {
  const kept = [];
  const shown = el("span", { class: "chips" });
  const input = el("input", { type: "file", multiple: (element.max_files ?? 10) > 1, accept: element.filetypes?.map((type) => `.${type}`).join(",") || null });
  const draw = () => shown.replaceChildren(...kept.map((file, index) => chip(file.name, () => (kept.splice(index, 1), draw()))));
  input.onchange = async () => {
    for (const file of input.files) {
      const answer = await upload(file);
      if (answer.ok) kept.push(answer.file);
      else note(`${file.name} was not uploaded: ${answer.error}`, "error");
    }
    input.value = "";
    draw();
  };
  return [el("span", { class: "several" }, shown, input), () => ({ files: kept.map((file) => ({ id: file.id, name: file.name, mimetype: file.mimetype, size: file.size })) })];
}

const BUILDERS = {
  plain_text_input: field("text", "value", "initial_value"),
  number_input: field("number", "value", "initial_value"),
  email_text_input: field("email", "value", "initial_value"),
  url_text_input: field("url", "value", "initial_value"),
  datepicker: field("date", "selected_date", "initial_date"),
  timepicker: field("time", "selected_time", "initial_time"),
  datetimepicker: moment,
  rich_text_input: richInput,
  static_select: select("option", "selected_option", "initial_option"),
  external_select: external("selected_option", "initial_option", false),
  users_select: select("person", "selected_user", "initial_user"),
  conversations_select: select("channel", "selected_conversation", "initial_conversation"),
  channels_select: select("channel", "selected_channel", "initial_channel"),
  multi_static_select: several("option", "selected_options", "initial_options"),
  multi_external_select: external("selected_options", "initial_options", true),
  multi_users_select: several("person", "selected_users", "initial_users"),
  multi_conversations_select: several("channel", "selected_conversations", "initial_conversations"),
  multi_channels_select: several("channel", "selected_channels", "initial_channels"),
  radio_buttons: boxes("radio", "selected_option", "initial_option"),
  checkboxes: boxes("checkbox", "selected_options", "initial_options"),
  file_input: files,
};
