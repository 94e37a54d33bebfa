// Chips: what was chosen in a menu or a file field, each with a cross to take it out.
import { el } from "./dom.js";
import { icon } from "./icons.js";

export function chip(name, removed) {
  return el("span", { class: "chip" }, name, el("button", { type: "button", class: "quiet", "aria-label": `Remove ${name}`, onclick: removed }, icon("close", 12)));
}
