// Slack's own light markup ("mrkdwn") as nodes.
import { el, link } from "./dom.js";
import { emoji, withEmoji } from "./emoji.js";
import { entity, unescape } from "./entities.js";

const DEEPEST = 6;

// A style opens and closes where no letter or digit touches it from outside.
const styled = (sign) => `(?<![\\p{L}\\p{N}${sign}])${sign}(?![\\s${sign}])([^${sign}\\n]*[^\\s${sign}])${sign}(?![\\p{L}\\p{N}${sign}])`;
const TOKEN = new RegExp(
  ["`([^`\\n]+)`", "<([^<>\\n]+)>", "(https?:\\/\\/[^\\s<>|]+)", ":([a-z0-9_+'-]+(?:::[a-z0-9-]+)?):", styled("\\*"), styled("_"), styled("~")].join("|"),
  "gu",
);

/** The text of a `mrkdwn` object or of a message, as a fragment. */
export function mrkdwn(text) {
  const fragment = document.createDocumentFragment();
  // Every second part is between two fences; a fence without an end is text.
  const parts = String(text ?? "").split(/```\n?([\s\S]+?)\n?```\n?/);
  parts.forEach((part, index) => {
    if (index % 2) fragment.append(el("pre", {}, el("code", {}, unescape(part))));
    else fragment.append(...paragraphs(part));
  });
  return fragment;
}

/** A `plain_text` object: no markup but emoji, unless it says otherwise. */
export function plain(object) {
  if (object === null || object === undefined) return "";
  if (typeof object === "string") return withEmoji(object);
  if (object.type === "mrkdwn") return mrkdwn(object.text);
  if (object.emoji === false) return object.text ?? "";
  return (object.text ?? "").split(/:([a-z0-9_+-]+):/).map((part, index) => (index % 2 ? (emoji(part) ?? `:${part}:`) : withEmoji(part)));
}

/** The text of a text object without any markup, for labels and attributes. */
export function bare(object) {
  return typeof object === "string" ? object : (object?.text ?? "");
}

function paragraphs(text) {
  const nodes = [];
  let quoted = [];
  let open = [];
  const endQuote = () => {
    if (quoted.length) nodes.push(el("blockquote", {}, inline(quoted.join("\n"))));
    quoted = [];
  };
  const endText = () => {
    const joined = open.join("\n");
    if (joined.trim()) nodes.push(el("span", { class: "text" }, inline(joined)));
    open = [];
  };
  for (const line of text.split("\n")) {
    const quote = /^(?:>|&gt;)(?!&gt;|>) ?(.*)$/.exec(line);
    if (quote) {
      endText();
      quoted.push(quote[1]);
    } else {
      endQuote();
      open.push(line);
    }
  }
  endQuote();
  endText();
  return nodes;
}

function inline(text, depth = 0) {
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const node = token(match, depth);
    if (node === null) continue;
    nodes.push(...leaf(text.slice(end, match.index)), node);
    end = match.index + match[0].length;
  }
  nodes.push(...leaf(text.slice(end)));
  return nodes;
}

function token([whole, code, bracket, address, name, bold, italic, strike], depth) {
  if (code !== undefined) return el("code", {}, unescape(code));
  if (bracket !== undefined) return entity(bracket, (label) => inline(label, depth + 1));
  if (address !== undefined) return trimmedLink(unescape(address));
  if (name !== undefined) return emoji(name);
  if (depth >= DEEPEST) return document.createTextNode(unescape(whole));
  if (bold !== undefined) return el("strong", {}, inline(bold, depth + 1));
  if (italic !== undefined) return el("em", {}, inline(italic, depth + 1));
  return el("del", {}, inline(strike, depth + 1));
}

/** A link of a bare address, with the punctuation that ends a sentence kept out of it. */
export function trimmedLink(address) {
  const end = /[.,;:!?)'"\]]*$/.exec(address)[0];
  const target = address.slice(0, address.length - end.length);
  return el("span", {}, link(target), end);
}

function leaf(text) {
  const lines = unescape(text).split("\n");
  return lines.flatMap((line, index) => [...(index ? [el("br")] : []), ...withEmoji(line)]).filter((node) => node !== "");
}
