// The inline part of standard Markdown: emphasis, code, links, escapes.
import { el, link, safeUrl } from "./dom.js";
import { emoji, withEmoji } from "./emoji.js";
import { entity, unescape } from "./entities.js";
import { trimmedLink } from "./mrkdwn.js";

const DEEPEST = 8;
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", mdash: "—", ndash: "–", hellip: "…", copy: "©", times: "×" };

const TOKEN = new RegExp(
  [
    "\\\\(?<escaped>[\\\\`*_{}\\[\\]()#+\\-.!~|<>&\"':;/=$%^@,?])",
    "(?<ticks>`+)(?<code>[^`]|[^`][\\s\\S]*?[^`])\\k<ticks>(?!`)",
    "!\\[(?<alt>[^\\]\\n]*)\\]\\((?<image>[^\\s()]*)(?:\\s+\"[^\"\\n]*\")?\\)",
    "\\[(?<label>(?:[^\\[\\]\\\\\\n]|\\\\.|\\[[^\\[\\]\\n]*\\])*)\\]\\(\\s*<?(?<target>[^\\s()<>]*(?:\\([^\\s()<>]*\\)[^\\s()<>]*)*)>?(?:\\s+\"[^\"\\n]*\")?\\s*\\)",
    "<(?<bracket>[^<>\\n]+)>",
    "(?<address>https?:\\/\\/[^\\s<>|`]+)",
    "&(?<entity>[a-z]+|#\\d{1,7}|#x[0-9a-f]{1,6});",
    ":(?<name>[a-z0-9_+'-]+):",
    "\\*\\*\\*(?=\\S)(?<both>[^\\n]*?\\S)\\*\\*\\*",
    "\\*\\*(?=\\S)(?<strong>[^\\n]*?[^\\s*]\\*?)\\*\\*(?!\\*)",
    "(?<![\\p{L}\\p{N}_])__(?=\\S)(?<strong2>[^\\n]*?\\S)__(?![\\p{L}\\p{N}_])",
    "\\*(?=[^\\s*])(?<em>(?:[^*\\n]|\\*\\*[^*\\n]+\\*\\*)*?[^\\s*]|[^*\\n]*\\*\\*[^*\\n]+\\*\\*)\\*(?!\\*)",
    "(?<![\\p{L}\\p{N}_])_(?=[^\\s_])(?<em2>[^\\n]*?[^\\s_])_(?![\\p{L}\\p{N}_])",
    "~~(?=\\S)(?<strike>[^\\n]*?\\S)~~",
  ].join("|"),
  "gu",
);

/** One or more lines of Markdown text as a list of nodes. Inside the label of a link (`linked`) nothing is a link. */
export function inlineMarkdown(text, depth = 0, linked = false) {
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const node = token(match[0], match.groups, depth, linked);
    if (node === null) continue;
    nodes.push(...leaf(text.slice(end, match.index)), node);
    end = match.index + match[0].length;
  }
  nodes.push(...leaf(text.slice(end)));
  return nodes;
}

function token(whole, part, depth, linked) {
  const text = (value) => document.createTextNode(value);
  const inner = (value, inLink = linked) => (depth >= DEEPEST ? [value] : inlineMarkdown(value, depth + 1, inLink));
  if (part.escaped !== undefined) return text(part.escaped);
  if (part.code !== undefined) return el("code", {}, part.code.replace(/^ (.*\S.*) $/, "$1"));
  if (part.image !== undefined) return remoteImage(part.alt, part.image);
  if (part.target !== undefined) {
    return linked || !safeUrl(part.target) ? text(whole) : link(part.target, ...inner(part.label, true));
  }
  if (part.bracket !== undefined) return entity(part.bracket, (label) => inner(label));
  if (part.address !== undefined) return linked ? text(unescape(part.address)) : trimmedLink(part.address);
  if (part.entity !== undefined) return character(part.entity);
  if (part.name !== undefined) return emoji(part.name);
  if (part.both !== undefined) return el("strong", {}, el("em", {}, inner(part.both)));
  const strong = part.strong ?? part.strong2;
  if (strong !== undefined) return el("strong", {}, inner(strong));
  const em = part.em ?? part.em2;
  if (em !== undefined) return el("em", {}, inner(em));
  return el("del", {}, inner(part.strike));
}

/** Images from elsewhere are never loaded: loading one tells its server who read what. */
function remoteImage(alt, address) {
  return safeUrl(address) ? link(address, `Image: ${alt || address}`) : document.createTextNode(alt);
}

function character(name) {
  if (!name.startsWith("#")) return ENTITIES[name] ? document.createTextNode(ENTITIES[name]) : null;
  const code = name[1] === "x" ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code > 31 && code <= 0x10ffff ? document.createTextNode(String.fromCodePoint(code)) : null;
}

function leaf(text) {
  const lines = text.split("\n");
  return lines
    .flatMap((line, index) => [...(index ? [el("br")] : []), ...withEmoji(index < lines.length - 1 ? line.trimEnd() : line)])
    .filter((node) => node !== "");
}
