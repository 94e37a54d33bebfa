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

/** A `data_table` block: like a table, with a caption. */
export function dataTable(block) {
  const caption = typeof block.caption === "string" ? block.caption : block.caption?.text;
  return el("figure", {}, caption ? el("figcaption", {}, caption) : null, table(block));
}
