// Tables that are pasted into a message: taken from the clipboard as rows of cells.
import { el } from "./dom.js";
import { icon } from "./icons.js";

const MOST_ROWS = 100;
const MOST_COLUMNS = 20;

/** The rows of the first table on the clipboard: an HTML table, or lines with tabs as a spreadsheet gives them; or null. */
export function tableOf(clipboard) {
  const rows = fromHtml(clipboard.getData("text/html")) ?? fromTabs(clipboard.getData("text/plain"));
  return rows && rows.length <= MOST_ROWS && rows.every((row) => row.length <= MOST_COLUMNS) ? rows : null;
}

function fromHtml(source) {
  if (!source?.includes("<table")) return null;
  const found = new DOMParser().parseFromString(source, "text/html").querySelector("table");
  const rows = [...(found?.rows ?? [])].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
  return rows.length ? rows : null;
}

function fromTabs(text) {
  const lines = (text ?? "").replace(/[\r\n]+$/, "").split(/\r?\n/);
  return lines.length > 1 && lines.every((line) => line.includes("\t")) ? lines.map((line) => line.split("\t").map((cell) => cell.trim())) : null;
}

/** The card of a table that is not sent yet; `remove()` takes it away. */
export function heldTable(rows, remove) {
  const width = Math.max(...rows.map((row) => row.length));
  return el(
    "div",
    { class: "held-file", data: { testid: "pending-table" } },
    icon("table", 22),
    el("span", { class: "file-words" }, el("span", { class: "file-name" }, "Table"), el("span", { class: "muted" }, `${rows.length} rows, ${width} columns`)),
    el("button", { class: "quiet", type: "button", "aria-label": "Remove table", onclick: remove }, icon("close", 14)),
  );
}
