// Interactive elements: what is clicked goes to the app as an action.
import { confirmed, note, openMenu } from "./dialogs.js";
import { el, safeUrl } from "./dom.js";
import { icon } from "./icons.js";
import { collect, control } from "./inputs.js";
import { post } from "./live.js";
import { bare, plain } from "./mrkdwn.js";
import { state } from "./state.js";

/** The address of a picture of this workspace, or null: pictures from elsewhere are never loaded. */
export function ownImage(image) {
  const id = image.slack_file?.id;
  if (id && /^[A-Za-z0-9_-]+$/.test(id)) return `/local/files/${id}`;
  return ownAddress(image.slack_file?.url ?? image.image_url ?? "");
}

/** The path of an address that this workspace serves itself, or null. */
export function ownAddress(address) {
  try {
    const url = new URL(address, location.origin);
    return url.origin === location.origin && url.pathname.startsWith("/local/files/") ? url.pathname : null;
  } catch {
    return null;
  }
}

/**
 * Draws an element of a block. `place` says where it stands: {channel, ts} or {view_id}.
 * `inForm`: it is part of an input block, so that it is read on submit rather than sent on change.
 */
export function element(spec, blockId, place, inForm = false) {
  const send = (value, node) => act(place, blockId, spec, value, node);
  switch (spec.type) {
    case "button":
      return button(spec, send);
    case "workflow_button":
      return el("button", { class: "button", type: "button", disabled: true, title: "Workflows do not run in this workspace" }, plain(spec.text));
    case "overflow":
      return overflow(spec, send);
    case "feedback_buttons":
      return feedback(spec, send);
    case "icon_button":
      return iconButton(spec, send);
    case "image":
      return smallImage(spec);
    default: {
      const node = control(spec, blockId, (changed) => !inForm && act(place, blockId, spec, changed.read(), changed), place);
      return node ?? el("span", { class: "raw-inline" }, `[${spec.type}]`);
    }
  }
}

async function act(place, blockId, spec, value, node) {
  if (!(await confirmed(spec.confirm))) return;
  const root = node.closest("[data-surface]") ?? node;
  const action = { action_id: spec.action_id ?? "", type: spec.type, ...value };
  if (spec.text) action.text = spec.text;
  node.setAttribute("aria-busy", "true");
  const answer = await post("action", { ...place, block_id: blockId, action, values: collect(root) });
  node.removeAttribute("aria-busy");
  if (!answer.ok) note(`The click did not reach the app: ${answer.error}`, "error");
}

function button(spec, send) {
  const style = spec.style === "primary" || spec.style === "danger" ? ` ${spec.style}` : "";
  const value = spec.value === undefined ? {} : { value: spec.value };
  const shared = { class: `button${style}`, "aria-label": spec.accessibility_label, data: { action: spec.action_id }, onclick: (event) => send(value, event.currentTarget) };
  const href = spec.url ? safeUrl(spec.url) : null;
  if (href) return el("a", { ...shared, href, target: "_blank", rel: "noopener noreferrer", title: href }, plain(spec.text));
  return el("button", { ...shared, type: "button" }, plain(spec.text));
}

function overflow(spec, send) {
  const open = (event) => {
    const anchor = event.currentTarget;
    const run = (option) => {
      const href = option.url ? safeUrl(option.url) : null;
      if (href) window.open(href, "_blank", "noopener,noreferrer");
      send({ selected_option: option }, anchor);
    };
    const items = (spec.options ?? []).map((option) => ({ label: bare(option.text), detail: bare(option.description), run: () => run(option) }));
    openMenu(anchor, "More choices", items);
  };
  return el("button", { class: "button square", type: "button", "aria-label": "More choices", "aria-haspopup": "menu", data: { action: spec.action_id }, onclick: open }, icon("more"));
}

function feedback(spec, send) {
  const half = (choice, name, label) => {
    if (!choice) return null;
    const click = (event) => {
      const node = event.currentTarget;
      for (const other of node.parentElement.children) other.setAttribute("aria-pressed", String(other === node));
      send({ value: choice.value, text: choice.text }, node);
    };
    const said = choice.accessibility_label || bare(choice.text) || label;
    return el("button", { class: "icon-button", type: "button", "aria-label": said, title: said, "aria-pressed": "false", data: { action: spec.action_id, value: choice.value }, onclick: click }, icon(name, 18));
  };
  const whole = JSON.stringify(spec); // a pressed thumb stays pressed while the message is drawn again
  return el("span", { class: "feedback", role: "group", "aria-label": "Was this helpful?", whole }, half(spec.positive_button, "up", "Good answer"), half(spec.negative_button, "thumbdown", "Bad answer"));
}

const BUTTON_ICONS = { trash: "trash", pencil: "pencil", edit: "pencil", copy: "copy", refresh: "refresh", link: "link", download: "download" };

function iconButton(spec, send) {
  if (spec.visible_to_user_ids?.length && !spec.visible_to_user_ids.includes(state.me)) return null;
  const label = spec.accessibility_label || bare(spec.text);
  const value = spec.value === undefined ? {} : { value: spec.value };
  return el("button", { class: "icon-button", type: "button", "aria-label": label, title: label, data: { action: spec.action_id }, onclick: (event) => send(value, event.currentTarget) }, icon(BUTTON_ICONS[spec.icon] ?? "bolt", 18));
}

function smallImage(spec) {
  const address = ownImage(spec);
  if (address) return el("img", { class: "small-image", src: address, alt: spec.alt_text ?? "" });
  return el("span", { class: "small-image blank", role: "img", "aria-label": spec.alt_text ?? "Image", title: "Pictures from elsewhere are not loaded" }, icon("eye", 16));
}
