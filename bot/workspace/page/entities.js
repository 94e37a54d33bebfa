// The parts between < and > in Slack's texts: people, channels, dates, links.
import { el, link, safeUrl } from "./dom.js";
import { channelOf, handleOf, state } from "./state.js";

/** The text with Slack's three escapes undone. */
export function unescape(text) {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/** Returns a typed text with the names of people and channels as ids; the workspace does the rest. */
export function outgoing(text) {
  const { apps, channels, people } = state.workspace;
  const names = new Map(people.map((person) => [person.name.toLowerCase(), `<@${person.id}>`]));
  for (const app of apps) names.set(app.name.toLowerCase(), `<@${app.user_id}>`);
  for (const range of ["here", "channel", "everyone"]) names.set(range, `<!${range}>`);
  const places = new Map(channels.filter((channel) => !channel.is_im).map((channel) => [channel.name.toLowerCase(), `<#${channel.id}>`]));
  return replaceNames(replaceNames(text, "@", names), "#", places);
}

/** The other way round: what Slack keeps, as a person would type it. */
export function incoming(text) {
  const typed = text.replace(/<([^<>\n]+)>/g, (whole, content) => {
    const [target, label] = content.split("|");
    if (target.startsWith("@")) return `@${handleOf(target.slice(1))}`;
    if (target.startsWith("#")) return `#${channelOf(target.slice(1))?.name ?? label ?? target.slice(1)}`;
    if (/^!(here|channel|everyone)$/.test(target)) return `@${target.slice(1)}`;
    return target.startsWith("!") ? whole : target;
  });
  return unescape(typed);
}

/** The place on this page (a location.hash) that a permalink of this workspace leads to, or null. */
export function placeOfLink(address) {
  const url = new URL(address, location.origin);
  const found = /^\/archives\/(\w+)\/p(\d+)(\d{6})$/.exec(url.pathname);
  if (url.origin !== location.origin || !found) return null;
  return `#/${found[1]}/${url.searchParams.get("thread_ts") ?? `${found[2]}.${found[3]}`}`;
}

function replaceNames(text, sign, names) {
  const ordered = [...names.keys()].sort((one, other) => other.length - one.length);
  const escaped = ordered.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pattern = new RegExp(`(?<![\\w/@#&])${sign}(${escaped.join("|")})(?![\\w-])`, "giu");
  return names.size ? text.replace(pattern, (_, name) => names.get(name.toLowerCase())) : text;
}

export function mention(id) {
  const mine = id === state.me;
  return el("span", { class: mine ? "mention me" : "mention", data: { user: id } }, `@${handleOf(id)}`);
}

export function channelLink(id, label) {
  const channel = channelOf(id);
  const name = channel ? channel.name : label || id;
  if (!channel) return el("span", { class: "mention" }, `#${name}`);
  return el("a", { class: "mention", href: `#/${id}` }, `#${name}`);
}

export function broadcast(range) {
  return el("span", { class: "mention me" }, `@${range}`);
}

/** The node for what stands in brackets, or null where it means nothing. `inline` draws a label. */
export function entity(content, inline) {
  const bar = content.indexOf("|");
  const target = bar < 0 ? content : content.slice(0, bar);
  const label = bar < 0 ? "" : content.slice(bar + 1);
  if (/^@[UWB][A-Z0-9]+$/.test(target)) return mention(target.slice(1));
  if (/^#[CG][A-Z0-9]+$/.test(target)) return channelLink(target.slice(1), label);
  if (target.startsWith("!")) return special(target.slice(1), label);
  const address = unescape(target);
  if (!safeUrl(address)) return null;
  return label ? link(address, inline(label)) : link(address);
}

function special(target, label) {
  const [kind, ...rest] = target.split("^");
  if (["here", "channel", "everyone"].includes(kind)) return broadcast(kind);
  if (kind === "date") return date(Number(rest[0]), rest[1] ?? "", label);
  if (kind === "subteam") return el("span", { class: "mention" }, unescape(label) || `@${state.workspace.groups.find((group) => group.id === rest[0])?.handle ?? "group"}`);
  return el("span", {}, unescape(label) || `<!${target}>`);
}

const DATE_PARTS = {
  date_num: { year: "numeric", month: "2-digit", day: "2-digit" },
  date: { year: "numeric", month: "long", day: "numeric" },
  date_short: { year: "numeric", month: "short", day: "numeric" },
  date_long: { weekday: "long", year: "numeric", month: "long", day: "numeric" },
  date_pretty: { year: "numeric", month: "long", day: "numeric" },
  date_short_pretty: { year: "numeric", month: "short", day: "numeric" },
  date_long_pretty: { weekday: "long", year: "numeric", month: "long", day: "numeric" },
  time: { hour: "numeric", minute: "2-digit" },
  time_secs: { hour: "numeric", minute: "2-digit", second: "2-digit" },
};

/** A moment in the reader's own time zone, in Slack's format language ("{date_short} at {time}"). */
export function date(seconds, format, fallback) {
  const moment = new Date(seconds * 1000);
  if (Number.isNaN(moment.getTime())) return el("span", {}, unescape(fallback ?? ""));
  const text = format.replace(/\{(\w+)\}/g, (whole, part) =>
    DATE_PARTS[part] ? moment.toLocaleString([], DATE_PARTS[part]) : whole,
  );
  return el("time", { datetime: moment.toISOString(), title: moment.toLocaleString() }, text);
}
