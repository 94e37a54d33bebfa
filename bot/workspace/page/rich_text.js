// Slack's `rich_text` block as nodes.
import { el, link } from "./dom.js";
import { emoji, withEmoji } from "./emoji.js";
import { broadcast, channelLink, date, mention } from "./entities.js";

const DEEPEST_INDENT = 8;

/** A `rich_text` block, or one of its parts, as a list of nodes. */
export function richText(block) {
  return (block?.elements ?? []).map(part).filter((node) => node !== null);
}

function part(element) {
  switch (element.type) {
    case "rich_text_section":
      return el("div", { class: "rich-section" }, inlines(element));
    case "rich_text_quote":
      return el("blockquote", {}, inlines(element));
    case "rich_text_preformatted":
      return el("pre", {}, el("code", {}, (element.elements ?? []).map((entry) => entry.text ?? entry.url ?? "").join("")));
    case "rich_text_list":
      return list(element);
    default:
      return inline(element);
  }
}

function list(element) {
  const tag = element.style === "ordered" ? "ol" : "ul";
  const indent = Math.min(Number(element.indent) || 0, DEEPEST_INDENT);
  const start = tag === "ol" && element.offset ? Number(element.offset) + 1 : null;
  const items = (element.elements ?? []).map((entry) => el("li", {}, inlines(entry)));
  return el(tag, { class: `rich-list indent-${indent}`, start }, items);
}

function inlines(element) {
  return (element.elements ?? []).map(inline);
}

function inline(element) {
  const node = plainInline(element);
  const style = element.style ?? {};
  let styled = node;
  if (style.code) styled = el("code", {}, styled);
  if (style.bold) styled = el("strong", {}, styled);
  if (style.italic) styled = el("em", {}, styled);
  if (style.strike) styled = el("del", {}, styled);
  if (style.underline) styled = el("u", {}, styled);
  return styled;
}

function plainInline(element) {
  switch (element.type) {
    case "text":
      return el("span", {}, lines(element.text ?? ""));
    case "link":
      return link(element.url ?? "", ...(element.text ? [element.text] : []));
    case "user":
      return mention(element.user_id);
    case "channel":
      return channelLink(element.channel_id, "");
    case "usergroup":
      return el("span", { class: "mention" }, `@${element.usergroup_id}`);
    case "team":
      return el("span", { class: "mention" }, `@${element.team_id}`);
    case "emoji":
      return emoji(element.name ?? "") ?? el("span", {}, `:${element.name}:`);
    case "broadcast":
      return broadcast(element.range);
    case "date":
      return date(element.timestamp, element.format ?? "", element.fallback);
    case "color":
      return el("code", {}, element.value ?? "");
    default:
      return el("span", { class: "unknown-inline" }, element.text ?? `[${element.type}]`);
  }
}

function lines(text) {
  return text.split("\n").flatMap((line, index) => [...(index ? [el("br")] : []), ...withEmoji(line)]);
}
