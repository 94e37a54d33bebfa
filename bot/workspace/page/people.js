// Avatars and badges: a coloured square with initials, and the app's own mark.
import { el } from "./dom.js";
import { nameOf, personOf, state } from "./state.js";

export function initials(name) {
  const words = name.trim().split(/[\s._-]+/).filter(Boolean);
  const letters = words.length > 1 ? [words[0], words.at(-1)].map((word) => [...word][0]) : [...(words[0] ?? "?")].slice(0, 1);
  return letters.join("").toUpperCase();
}

export function avatar(id, size = "") {
  const app = id === state.workspace.bot.user_id;
  const color = personOf(id)?.color ?? "";
  const safe = /^#?[0-9a-f]{3,8}$/i.test(color) ? `#${color.replace("#", "")}` : null;
  const props = { class: `avatar ${size} ${app ? "app" : ""}`, "aria-hidden": "true", style: safe ? { "--own": safe } : {} };
  return el("span", props, initials(nameOf(id)));
}

export function badge(text, kind = "") {
  return el("span", { class: `badge ${kind}` }, text);
}
