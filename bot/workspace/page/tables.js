// The `table` and `data_table` blocks.
import { el } from "./dom.js";
import { richText } from "./rich_text.js";
import { withEmoji } from "./emoji.js";

const SIDES = ["left", "center", "right"];

function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "object") return String(value);
  if (value.type === "rich_text") return richText(value);
  return withEmoji(String(value.text ?? value.value ?? ""));
}

function grid(head, rows, settings) {
  const side = (index, value) => {
    const asked = settings[index]?.align;
    return SIDES.includes(asked) ? asked : value?.type === "raw_number" ? "right" : "left";
  };
  const line = (tag, values) =>
    el("tr", {}, values.map((value, index) => el(tag, { class: `align-${side(index, value)}${settings[index]?.is_wrapped ? " wrapped" : ""}`, scope: tag === "th" ? "col" : null }, cell(value))));
  return el(
    "div",
    { class: "table-frame", tabindex: 0, role: "region", "aria-label": "Table" },
    el("table", {}, head ? el("thead", {}, line("th", head)) : null, el("tbody", {}, rows.map((row) => line("td", row)))),
  );
}

/** A `table` block: its first row is the heading. */
export function table(block) {
  const [head, ...rows] = block.rows ?? [];
  return grid(head, rows, block.column_settings ?? []);
}

/** A `data_table` block: like a table, with a caption and pages; a click on a heading sorts by its column. */
export function dataTable(block) {
  const [head, ...rows] = block.rows ?? [];
  const size = block.page_size ?? rows.length;
  const order = { column: -1, down: false };
  const frame = el("div");
  let first = 0;
  const draw = () => {
    const shown = order.column < 0 ? rows : [...rows].sort((a, b) => compare(a[order.column], b[order.column]) * (order.down ? -1 : 1));
    const drawn = grid(head, shown.slice(first, first + size), []);
    drawn.querySelectorAll("th").forEach((heading, column) => sortable(heading, column, order, draw));
    frame.replaceChildren(drawn, pages());
  };
  const pages = () => {
    if (rows.length <= size) return "";
    const turn = (by, label) => el("button", { class: "small", type: "button", disabled: first + by < 0 || first + by >= rows.length, onclick: () => { first += by; draw(); } }, label);
    return el("div", { class: "data-table-pages" }, turn(-size, "Back"), el("span", {}, `${first + 1} to ${Math.min(first + size, rows.length)} of ${rows.length}`), turn(size, "More"));
  };
  draw();
  return el("figure", { class: "data-table" }, block.caption ? el("figcaption", {}, block.caption) : null, frame);
}

function compare(one, other) {
  if (one?.type === "raw_number" && other?.type === "raw_number") return Number(one.value) - Number(other.value);
  return String(one?.text ?? "").localeCompare(String(other?.text ?? ""));
}

function sortable(heading, column, order, draw) {
  const sorted = order.column === column;
  heading.setAttribute("aria-sort", sorted ? (order.down ? "descending" : "ascending") : "none");
  const press = el("button", { type: "button", class: "sort", onclick: () => { order.down = sorted && !order.down; order.column = column; draw(); } });
  press.append(...heading.childNodes, sorted ? (order.down ? " \u2193" : " \u2191") : "");
  heading.append(press);
}
