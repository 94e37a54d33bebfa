// The blocks that frame others: card, carousel, container, alert.
import { el } from "./dom.js";
import { element, ownImage } from "./elements.js";
import { icon } from "./icons.js";
import { richText } from "./rich_text.js";

const LEVELS = { default: "info", info: "info", success: "check", warning: "warning", error: "warning" };

export function alert(block, text) {
  const level = LEVELS[block.level] ? block.level : "default";
  return el("div", { class: `alert ${level}`, role: "note" }, icon(LEVELS[level], 18), el("div", {}, text(block.text)));
}

export function card(block, id, place, text) {
  const hero = block.hero_image && ownImage(block.hero_image);
  const heading = el("div", {}, block.title ? el("strong", {}, text(block.title)) : null, block.subtitle ? el("div", { class: "muted" }, text(block.subtitle)) : null);
  return el(
    "div",
    { class: "card" },
    hero ? el("img", { class: "hero", src: hero, alt: block.hero_image.alt_text ?? "" }) : null,
    el("div", { class: "card-head" }, block.icon ? element({ type: "image", ...block.icon }, id, place) : null, heading),
    block.body ? el("div", {}, text(block.body)) : null,
    block.actions?.length ? el("div", { class: "actions" }, block.actions.map((entry) => element(entry, id, place))) : null,
  );
}

export function carousel(block, id, place, text) {
  const cards = (block.elements ?? []).map((entry, index) => card(entry, entry.block_id ?? `${id}_${index}`, place, text));
  return el("div", { class: "carousel", role: "region", "aria-label": "Cards", tabindex: 0 }, cards);
}

export function container(block, place, text, blocks) {
  const title = block.rich_text_title ? richText(block.rich_text_title) : text(block.title);
  const subtitle = block.subtitle ? el("div", { class: "muted" }, text(block.subtitle)) : null;
  const head = [block.icon ? element({ type: "image", ...block.icon }, "", place) : null, el("div", {}, el("strong", {}, title), subtitle)];
  const body = el("div", { class: "container-body" }, blocks(block.child_blocks ?? [], place));
  const width = ["narrow", "standard", "wide", "full"].includes(block.width) ? block.width : "standard";
  if (!block.is_collapsible) {
    const ruled = block.has_header_divider ? " ruled" : "";
    return el("section", { class: `container ${width}` }, el("div", { class: `card-head${ruled}` }, head), body);
  }
  return el("details", { class: `container ${width}`, open: !block.default_collapsed }, el("summary", { class: "card-head" }, head), body);
}
