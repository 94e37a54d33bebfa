// Picking an emoji.
import { popover } from "./dialogs.js";
import { el } from "./dom.js";
import { emoji, pickable } from "./emoji.js";

const COLUMNS = 8;

/** Lets the person pick an emoji beside `anchor`; `picked` gets its Slack name. */
export function pickEmoji(anchor, picked) {
  const grid = el("div", { class: "emoji-grid" });
  const search = el("input", { class: "field", type: "search", placeholder: "Search emoji", "aria-label": "Search emoji" });
  const draw = () => {
    const word = search.value.trim().toLowerCase().replaceAll(" ", "_").replaceAll(":", "");
    const names = pickable().filter((name) => name.includes(word));
    grid.replaceChildren(...names.map((name) => cell(name, () => (close(), picked(name)))));
    if (!names.length) grid.append(el("p", { class: "muted" }, "No emoji of that name."));
  };
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: COLUMNS, ArrowUp: -COLUMNS }[event.key];
    const cells = [...grid.querySelectorAll("button")];
    const at = cells.indexOf(document.activeElement);
    if (event.key === "Enter" && at < 0) cells[0]?.click();
    else if (event.key === "ArrowDown" && at < 0) cells[0]?.focus();
    else if (step && at >= 0) (cells[at + step] ?? search).focus();
    else return;
    event.preventDefault();
  };
  search.oninput = draw;
  draw();
  const close = popover(anchor, el("div", { class: "emoji-picker", role: "dialog", "aria-label": "Pick an emoji", data: { testid: "emoji-picker" } }, search, grid), move);
  search.focus();
}

function cell(name, onclick) {
  return el("button", { type: "button", class: "emoji-cell", "aria-label": name.replaceAll("_", " "), title: `:${name}:`, data: { name }, onclick }, emoji(name));
}
