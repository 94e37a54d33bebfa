// One message: who, when, what, and what can be done with it.
import { blocks } from "./blocks.js";
import { el, link } from "./dom.js";
import { openMenu, note } from "./dialogs.js";
import { editor, isEdited, isMine, remove, startEditing } from "./editing.js";
import { emoji } from "./emoji.js";
import { fileCard } from "./files.js";
import { icon } from "./icons.js";
import { post } from "./live.js";
import { markdown } from "./markdown.js";
import { mrkdwn } from "./mrkdwn.js";
import { avatar, badge, kindBadge } from "./people.js";
import { plan, taskCard } from "./plan.js";
import { pickEmoji } from "./reactions.js";
import { forwardMessage } from "./sheets.js";
import { changed, isBot, isReply, nameOf, state } from "./state.js";
import { fullTime, shortTime } from "./times.js";
import { threadLine } from "./thread_line.js";

const QUICK = ["white_check_mark", "eyes", "+1"];

/** A row of a message list. `compact`: it follows one by the same author. `inThread`: no thread line. */
export function messageRow(message, { channel, compact = false, inThread = false }) {
  const bot = isBot(message);
  const name = message.username || nameOf(message.user ?? state.workspace.bot.user_id);
  const data = { testid: "message", ts: message.ts, user: message.user ?? "", streaming: message.streaming ? "true" : null };
  const kinds = ["message", compact && "compact", message.ephemeral && "ephemeral"].filter(Boolean).join(" ");
  return el(
    "article",
    { class: kinds, data, tabindex: -1, "aria-label": `${name}, ${shortTime(message.ts)}`, "data-surface": "" },
    message.ephemeral ? el("div", { class: "only-you" }, icon("eye", 16), "Only visible to you") : null,
    el("div", { class: "gutter" }, compact ? time(message) : avatar(message.user ?? state.workspace.bot.user_id)),
    el(
      "div",
      { class: "message-main" },
      compact ? null : el("div", { class: "message-head" }, el("span", { class: "author" }, name), bot ? badge("APP") : kindBadge(message.user), time(message)),
      el("div", { class: "message-body" }, isEdited(channel, message.ts) ? editor(channel, message) : body(message, channel)),
      message.files?.length ? el("div", { class: "files" }, message.files.map(fileCard)) : null,
      reactions(message, channel),
      inThread || isReply(message) ? null : threadLine(channel, message),
    ),
    message.ephemeral ? null : tools(message, channel, inThread),
  );
}

function time(message) {
  return el("time", { class: "time", title: fullTime(message.ts), datetime: new Date(Number(message.ts) * 1000).toISOString() }, shortTime(message.ts));
}

function body(message, channel) {
  if (message.subtype === "tombstone") return [el("span", { class: "muted" }, message.text)];
  const place = { channel, ts: message.ts };
  const streamed = message.streaming || (!message.blocks?.length && message.chunks?.length);
  const parts = streamed ? stream(message, place) : written(message, place);
  if (message.edited) parts.push(el("span", { class: "edited", title: fullTime(message.edited.ts) }, "(edited)"));
  if (message.streaming) placeCaret(parts);
  return parts;
}

function written(message, place) {
  if (message.blocks?.length) return [...blocks(message.blocks, place), ...attachments(message, place)];
  if (!message.text && !message.markdown_text) return attachments(message, place);
  const main = message.markdown_text ? el("div", { class: "markdown" }, markdown(message.markdown_text)) : el("div", { class: "mrkdwn" }, mrkdwn(message.text));
  return [main, ...attachments(message, place)];
}

/** A message while it is streamed: its chunks in order, the tasks with the state they have by now. */
function stream(message, place) {
  const tasks = message.tasks ?? [];
  return (message.chunks ?? []).flatMap((chunk) => {
    if (chunk.type === "markdown_text") return [el("div", { class: "markdown" }, markdown(chunk.text))];
    if (chunk.type === "blocks") return blocks(chunk.blocks ?? [], place);
    if (chunk.type !== "task_update") return [];
    if (message.task_display_mode === "plan") return [plan(message.plan_title || "Plan", tasks)];
    return [taskCard(tasks.find((task) => task.id === chunk.id) ?? chunk)];
  });
}

/** The caret stands behind the last word, so it goes into the last block of text. */
function placeCaret(parts) {
  const last = parts.at(-1);
  let home = last?.classList?.contains("markdown") ? last : null;
  while (home?.lastElementChild && ["P", "UL", "OL", "LI", "BLOCKQUOTE", "PRE", "H1", "H2", "H3", "H4", "H5", "H6"].includes(home.lastElementChild.nodeName)) home = home.lastElementChild;
  const caret = el("span", { class: "caret", role: "img", "aria-label": "still writing", data: { testid: "caret" } });
  if (home) home.append(caret);
  else parts.push(el("div", {}, caret));
}

/** The older way to add colour and fields to a message. */
function attachments(message, place) {
  return (message.attachments ?? []).map((part) => {
    if (part.is_share) return forwarded(part, place);
    const color = /^#?[0-9a-f]{6}$/i.test(part.color ?? "") ? `#${part.color.replace("#", "")}` : null;
    const content = part.blocks?.length
      ? blocks(part.blocks, place)
      : [part.pretext && mrkdwn(part.pretext), part.title && el("strong", {}, part.title_link ? link(part.title_link, part.title) : part.title), el("div", {}, mrkdwn(part.text ?? part.fallback ?? ""))];
    return el("div", { class: "attachment", style: color ? { "--bar": color } : {} }, content);
  });
}

/** A forwarded message: whose, what it says with its tables and files, and where it was posted. */
function forwarded(part, place) {
  const inside = (part.message_blocks ?? []).map((entry) => entry.message ?? {});
  const said = inside.flatMap((message) => message.blocks ?? []);
  return el(
    "div",
    { class: "attachment", data: { testid: "forwarded" } },
    el("strong", {}, part.author_name ?? part.author_subname ?? ""),
    said.length ? blocks(said, place) : el("div", { class: "mrkdwn" }, mrkdwn(part.text ?? part.fallback ?? "")),
    inside.flatMap((message) => attachments(message, place)),
    part.files?.length ? el("div", { class: "files" }, part.files.map(fileCard)) : null,
    el("div", { class: "muted" }, link(part.from_url, part.footer ?? "View message")),
  );
}

function reactions(message, channel) {
  if (!message.reactions?.length) return null;
  const chips = message.reactions.map((reaction) => {
    const mine = reaction.users?.includes(state.me) ?? false;
    const who = (reaction.users ?? []).map((id) => (id === state.me ? "you" : nameOf(id))).join(", ");
    const props = {
      class: "reaction",
      type: "button",
      "aria-pressed": String(mine),
      "aria-label": `${reaction.name}, ${reaction.count}: ${who}`,
      title: `${who} reacted with :${reaction.name}:`,
      data: { testid: "reaction", name: reaction.name },
      onclick: () => react(channel, message, reaction.name, !mine),
    };
    return el("button", props, emoji(reaction.name) ?? `:${reaction.name}:`, el("span", {}, String(reaction.count)));
  });
  const add = (event) => pickEmoji(event.currentTarget, (name) => react(channel, message, name, true));
  return el("div", { class: "reactions" }, chips, el("button", { class: "reaction add", type: "button", "aria-label": "Add reaction", title: "Add reaction", onclick: add }, icon("smile", 16)));
}

async function react(channel, message, name, add) {
  const answer = await post("react", { channel, ts: message.ts, name, add });
  if (!answer.ok && answer.error !== "already_reacted") note(`The reaction was refused: ${answer.error}`, "error");
}

/** The tools that appear beside a message under the pointer or with the focus in it. */
function tools(message, channel, inThread) {
  const button = (label, testid, content, onclick, menu = null) =>
    el("button", { class: "tool", type: "button", "aria-label": label, title: label, "aria-haspopup": menu, data: { testid }, onclick }, content);
  const quick = QUICK.map((name) => button(`React with ${name.replaceAll("_", " ")}`, `react-${name}`, emoji(name), () => react(channel, message, name, true)));
  const open = () => {
    state.thread = message.thread_ts ?? message.ts;
    changed();
  };
  return el(
    "div",
    { class: "tools", role: "toolbar", "aria-label": "Message actions" },
    quick,
    button("Add reaction", "react", icon("smile"), (event) => pickEmoji(event.currentTarget, (name) => react(channel, message, name, true)), "dialog"),
    inThread ? null : button("Reply in thread", "reply", icon("chat"), open),
    button("More actions", "more", icon("more"), (event) => more(event.currentTarget, message, channel), "menu"),
  );
}

function more(anchor, message, channel) {
  const shortcuts = state.workspace.shortcuts.filter((shortcut) => shortcut.type !== "global").map((shortcut) => ({
    label: shortcut.name,
    detail: shortcut.app,
    icon: "bolt",
    testid: "shortcut",
    run: () => runShortcut(shortcut, message, channel),
  }));
  const text = { label: "Copy text", icon: "copy", testid: "copy-text", run: () => copy(message.markdown_text || message.text || "") };
  const address = { label: "Copy link", icon: "link", testid: "copy-link", run: () => copy(linkTo(message, channel)) };
  const forward = { label: "Forward message…", icon: "right", testid: "forward", run: () => forwardMessage(message, channel) };
  const own = [
    { label: "Edit message", icon: "pencil", testid: "edit", run: () => startEditing(channel, message) },
    { label: "Delete message…", icon: "trash", testid: "delete", run: () => remove(channel, message) },
  ];
  openMenu(anchor, "More actions", [...shortcuts, forward, text, address, ...(isMine(message) ? own : [])]);
}

async function runShortcut(shortcut, message, channel) {
  const answer = await post("shortcut", { callback_id: shortcut.callback_id, channel, ts: message.ts });
  if (!answer.ok) note(`${shortcut.name} did not reach the app: ${answer.error}`, "error");
}

function linkTo(message, channel) {
  const reply = isReply(message) ? `?thread_ts=${message.thread_ts}&cid=${channel}` : "";
  return `${location.origin}/archives/${channel}/p${message.ts.replace(".", "")}${reply}`;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    note("Copied.");
  } catch {
    note("The browser did not allow copying.", "error");
  }
}
