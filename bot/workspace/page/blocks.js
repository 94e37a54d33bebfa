// Block Kit: from a list of blocks to nodes. A block nobody knows is shown raw, never dropped.
import { card, carousel, container, alert } from "./cards.js";
import { chart } from "./charts.js";
import { el, link } from "./dom.js";
import { enlarge } from "./dialogs.js";
import { element, ownImage } from "./elements.js";
import { fileCard } from "./files.js";
import { icon } from "./icons.js";
import { markdown } from "./markdown.js";
import { bare, mrkdwn, plain } from "./mrkdwn.js";
import { plan, taskCard } from "./plan.js";
import { richText } from "./rich_text.js";
import { messageOf } from "./state.js";
import { dataTable, table } from "./tables.js";

/** `place` is {channel, ts} for a message and {view_id} for a view. */
export function blocks(list, place) {
  return list.map((block, index) => {
    const id = block.block_id ?? `block_${index}`;
    const draw = DRAWERS[block.type];
    return el("div", { class: `block block-${draw ? block.type : "unknown"}`, data: { block: id } }, draw ? draw(block, id, place) : unknown(block));
  });
}

/** A text object of either kind. */
export function text(object) {
  if (!object) return "";
  return object.type === "mrkdwn" ? mrkdwn(object.text) : plain(object);
}

function section(block, id, place) {
  const fields = (block.fields ?? []).map((field) => el("div", {}, text(field)));
  return el(
    "div",
    { class: "with-accessory" },
    el("div", { class: "accessory-text" }, text(block.text), fields.length ? el("div", { class: "fields" }, fields) : null),
    block.accessory ? el("div", { class: "accessory" }, element(block.accessory, id, place)) : null,
  );
}

function context(block, id, place) {
  const parts = (block.elements ?? []).map((entry) => (entry.type === "image" ? element(entry, id, place) : el("span", {}, text(entry))));
  return el("div", { class: "context" }, parts);
}

function actions(block, id, place) {
  return el("div", { class: "actions" }, (block.elements ?? []).map((entry) => element(entry, id, place)));
}

function image(block) {
  const title = bare(block.title);
  const address = ownImage(block);
  const alt = block.alt_text ?? title;
  if (!address) {
    const elsewhere = block.image_url ?? "";
    return el("div", { class: "elsewhere" }, icon("eye", 18), el("span", {}, "Picture not loaded: ", link(elsewhere, alt || elsewhere)));
  }
  const open = el("button", { class: "picture", type: "button", "aria-label": `Enlarge ${alt}`, onclick: () => enlarge(address, alt) }, el("img", { src: address, alt }));
  return el("figure", {}, title ? el("figcaption", {}, plain(block.title)) : null, open);
}

function input(block, id, place) {
  const inForm = !block.dispatch_action;
  const node = element(block.element ?? {}, id, place, inForm);
  const label = bare(block.label);
  const [hint, fault] = [`hint-${id}`, `fault-${id}`];
  const named = node?.querySelector?.(":scope > input, :scope > select") ?? node; // a control may be made of several
  named?.setAttribute?.("aria-label", label);
  named?.setAttribute?.("aria-describedby", block.hint ? `${hint} ${fault}` : fault);
  const optional = block.optional ? el("span", { class: "muted" }, " (optional)") : null;
  return el(
    "div",
    { class: "input-block", data: { required: block.optional ? null : "", label } },
    el("div", { class: "input-label" }, plain(block.label), optional),
    node,
    block.hint ? el("div", { class: "hint", id: hint }, plain(block.hint)) : null,
    el("div", { class: "input-error", role: "alert", id: fault, data: { errorFor: id } }),
  );
}

function file(block, _id, place) {
  const message = messageOf(place.channel, place.ts);
  const known = message?.files?.find((entry) => entry.id === (block.file_id ?? block.external_id));
  return known ? fileCard(known) : unknown(block);
}

function video(block) {
  return el("div", { class: "elsewhere" }, icon("eye", 18), el("span", {}, "Video: ", link(block.title_url ?? block.video_url ?? "", bare(block.title))));
}

function unknown(block) {
  const title = `Unknown block: ${block.type ?? "no type"}`;
  return el("details", { class: "raw", data: { testid: "unknown-block" } }, el("summary", {}, title), el("pre", {}, JSON.stringify(block, null, 2)));
}

const DRAWERS = {
  section,
  header: (block) => el("h3", { class: "header-block" }, plain(block.text)),
  divider: () => el("hr"),
  context,
  actions,
  image,
  input,
  file,
  video,
  markdown: (block) => el("div", { class: "markdown" }, markdown(block.text)),
  rich_text: (block) => el("div", { class: "rich" }, richText(block)),
  table: (block) => table(block),
  data_table: (block) => dataTable(block),
  data_visualization: (block) => chart(block),
  plan: (block) => plan(block.title, block.tasks ?? []),
  task_card: (block) => taskCard(block),
  context_actions: actions,
  alert: (block) => alert(block, text),
  card: (block, id, place) => card(block, id, place, text),
  carousel: (block, id, place) => carousel(block, id, place, text),
  container: (block, id, place) => container(block, place, text, blocks),
};

