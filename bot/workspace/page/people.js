// Avatars and badges: a coloured square with initials, and the app's own mark.
import { el } from "./dom.js";
import { icon } from "./icons.js";
import { appOf, isApp, nameOf, personOf } from "./state.js";

export function initials(name) {
  const words = name.trim().split(/[\s._-]+/).filter(Boolean);
  const letters = words.length > 1 ? [words[0], words.at(-1)].map((word) => [...word][0]) : [...(words[0] ?? "?")].slice(0, 1);
  return letters.join("").toUpperCase();
}

export function avatar(id, size = "") {
  const app = isApp(id);
  const color = personOf(id)?.color ?? "";
  const safe = /^#?[0-9a-f]{3,8}$/i.test(color) ? `#${color.replace("#", "")}` : null;
  const props = { class: `avatar ${size} ${app ? "app" : ""}`, "aria-hidden": "true", style: safe ? { "--own": safe } : {} };
  return el("span", props, initials(nameOf(id)));
}

/** A badge that says who is a guest or of another workspace; null for a member. */
export function kindBadge(id) {
  const kind = personOf(id)?.kind;
  return kind ? badge(kind, "kind") : null;
}

/** The sign before a channel's name. */
export function channelSign(channel, size) {
  if (channel.is_im) return avatar(appOf(channel).user_id, size > 16 ? "small" : "tiny");
  return icon({ group: "lock", mpim: "people" }[channel.kind] ?? "hash", size);
}

export function badge(text, kind = "") {
  return el("span", { class: `badge ${kind}` }, text);
}
