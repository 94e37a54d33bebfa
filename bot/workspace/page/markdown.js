// Standard Markdown as nodes: headings, lists, quotes, code, tables, rules and paragraphs.
// It never fails: what is not Markdown is text, and a fence that is still open while text streams
// in is code already.
import { el } from "./dom.js";
import { inlineMarkdown } from "./markdown_inline.js";

const DEEPEST = 12;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)(?:\s+#+)?\s*$/;
const RULE = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const ITEM = /^( {0,12})([-*+•]|\d{1,9}[.)])(\s+|$)(.*)$/;
const DELIMITER = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

/** The whole text as a fragment. */
export function markdown(text) {
  const fragment = document.createDocumentFragment();
  fragment.append(...blocksOf(String(text ?? "").replaceAll("\t", "    ").split(/\r?\n/), 0));
  return fragment;
}

function blocksOf(lines, depth) {
  if (depth > DEEPEST) return [el("p", {}, lines.join("\n"))];
  const nodes = [];
  let at = 0;
  while (at < lines.length) {
    if (!lines[at].trim()) {
      at += 1;
      continue;
    }
    const read = readers.find(([starts]) => starts(lines, at))[1];
    const [node, next] = read(lines, at, depth);
    nodes.push(node);
    at = next;
  }
  return nodes;
}

const readers = [
  [(lines, at) => FENCE.test(lines[at]), fence],
  [(lines, at) => HEADING.test(lines[at]), heading],
  [(lines, at) => RULE.test(lines[at]), (_, at) => [el("hr"), at + 1]],
  [(lines, at) => QUOTE.test(lines[at]), quote],
  [isTable, table],
  [(lines, at) => ITEM.test(lines[at]), list],
  [() => true, paragraph],
];

function fence(lines, at) {
  const [, sign, language] = FENCE.exec(lines[at]);
  const closing = new RegExp(`^ {0,3}${sign[0]}{${sign.length},}\\s*$`);
  let end = at + 1;
  while (end < lines.length && !closing.test(lines[end])) end += 1;
  const code = el("code", { data: { language: language || null } }, lines.slice(at + 1, end).join("\n"));
  return [el("pre", {}, code), end + 1];
}

function heading(lines, at) {
  const [, signs, text] = HEADING.exec(lines[at]);
  return [el(`h${signs.length}`, {}, inlineMarkdown(text)), at + 1];
}

function quote(lines, at, depth) {
  let end = at;
  const inside = [];
  while (end < lines.length && (QUOTE.test(lines[end]) || (lines[end].trim() && !startsBlock(lines, end)))) {
    inside.push(QUOTE.exec(lines[end])?.[1] ?? lines[end]);
    end += 1;
  }
  return [el("blockquote", {}, blocksOf(inside, depth + 1)), end];
}

function paragraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !startsBlock(lines, end)) {
    const underline = /^ {0,3}(=+|-+)\s*$/.exec(lines[end]);
    if (underline) {
      const tag = underline[1][0] === "=" ? "h1" : "h2";
      return [el(tag, {}, inlineMarkdown(lines.slice(at, end).join("\n").trim())), end + 1];
    }
    end += 1;
  }
  const text = lines.slice(at, end).map((line) => line.trimStart()).join("\n");
  return [el("p", {}, inlineMarkdown(text.trimEnd())), end];
}

function startsBlock(lines, at) {
  if (/^ {0,3}-+\s*$/.test(lines[at])) return false; // may underline a heading
  return readers.slice(0, -1).some(([starts]) => starts(lines, at));
}

function list(lines, at, depth) {
  const [, indent, mark] = ITEM.exec(lines[at]);
  const ordered = /\d/.test(mark);
  const items = [];
  let end = at;
  while (end < lines.length) {
    const match = ITEM.exec(lines[end]);
    if (!match || match[1].length > indent.length + 1 || /\d/.test(match[2]) !== ordered || RULE.test(lines[end])) break;
    const [inside, next] = itemLines(lines, end, match);
    items.push(item(inside, depth));
    end = next;
  }
  const start = ordered ? Number.parseInt(mark, 10) : 1;
  return [el(ordered ? "ol" : "ul", { start: start === 1 ? null : start }, items), end];
}

/** The lines of one item without its mark, and where the next one begins. */
function itemLines(lines, at, [, indent, mark, space, text]) {
  const deep = indent.length + mark.length + Math.min(Math.max(space.length, 1), 4);
  const inside = [text];
  let end = at + 1;
  while (end < lines.length) {
    const line = lines[end];
    const width = line.length - line.trimStart().length;
    const nested = width > indent.length + 1 && (width >= deep || ITEM.test(line));
    if (!line.trim()) {
      const after = lines[end + 1] ?? "";
      if (!after.trim() || after.length - after.trimStart().length < Math.min(deep, indent.length + 2)) break;
      inside.push("");
    } else if (nested) inside.push(line.slice(Math.min(width, deep)));
    else if (startsBlock(lines, end) || !lines[end - 1].trim()) break;
    else inside.push(line.trim());
    end += 1;
  }
  // A blank line between two items does not end the list.
  while (end < lines.length && !lines[end].trim() && ITEM.test(lines[end + 1] ?? "")) end += 1;
  return [inside, end];
}

function item(inside, depth) {
  const task = /^\[([ xX])\]\s+(.*)$/.exec(inside[0]);
  const nodes = blocksOf(task ? [task[2], ...inside.slice(1)] : inside, depth + 1);
  // A tight item holds text, not a paragraph.
  const tight = nodes.flatMap((node, index) => (node.nodeName === "P" && index === 0 ? [...node.childNodes] : [node]));
  if (!task) return el("li", {}, tight);
  const box = el("input", { type: "checkbox", disabled: true, checked: task[1] !== " ", "aria-label": task[1] === " " ? "open" : "done" });
  return el("li", { class: "task" }, box, tight);
}

function isTable(lines, at) {
  const next = lines[at + 1] ?? "";
  return lines[at].includes("|") && DELIMITER.test(next) && next.includes("-") && cells(lines[at]).length === cells(next).length;
}

function table(lines, at) {
  const align = cells(lines[at + 1]).map((cell) => (cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "right") : "left"));
  const row = (tag, line) => {
    const parts = cells(line);
    return el("tr", {}, align.map((side, index) => el(tag, { class: `align-${side}`, scope: tag === "th" ? "col" : null }, inlineMarkdown(parts[index] ?? ""))));
  };
  let end = at + 2;
  const body = [];
  while (end < lines.length && lines[end].trim() && lines[end].includes("|")) {
    body.push(row("td", lines[end]));
    end += 1;
  }
  const grid = el("table", {}, el("thead", {}, row("th", lines[at])), el("tbody", {}, body));
  return [el("div", { class: "table-frame", tabindex: 0, role: "region", "aria-label": "Table" }, grid), end];
}

function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}
