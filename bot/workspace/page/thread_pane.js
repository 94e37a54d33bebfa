// The thread at the right: root, replies, what the app is doing in it, and Stop.
import { Composer } from "./composer.js";
import { note } from "./dialogs.js";
import { el, morphChildren } from "./dom.js";
import { icon } from "./icons.js";
import { post } from "./live.js";
import { MessageList } from "./message_list.js";
import { appIn, changed, channelName, channelOf, isBusy, state, threadKey, threadOf } from "./state.js";
import { sessionBadge } from "./thread_line.js";
import { prompts } from "./welcome.js";

const TURN_MS = 3000;
let quiet = ""; // the thread that opens by itself
const panes = new Map(); // channel/thread -> {list, composer, prompts, status}

setInterval(() => state.thread && waitingLines().length > 1 && changed(), TURN_MS);

export function forgetThreads() {
  panes.clear();
}

function paneOf(channel, ts) {
  const key = threadKey(channel, ts);
  if (!panes.has(key)) {
    const list = new MessageList(channel, "Thread", true);
    const composer = new Composer(channel, ts, "Reply…", () => list.toEnd());
    panes.set(key, { list, composer, prompts: el("div"), status: el("div", { class: "status-line", "aria-live": "polite" }) });
  }
  return panes.get(key);
}

export function threadComposer() {
  return state.thread ? paneOf(state.channel, state.thread).composer : null;
}

/** Opens a thread without taking the caret from where the person has it. */
export function openQuietly(ts) {
  quiet = ts;
  state.thread = ts;
  changed();
}

export function closeThread() {
  state.thread = "";
  changed();
}

export function drawThread() {
  const pane = document.getElementById("thread-pane");
  const channel = channelOf(state.channel);
  const shown = Boolean(state.thread && channel);
  const held = !shown && pane.contains(document.activeElement);
  pane.hidden = !shown;
  document.getElementById("app").classList.toggle("with-thread", shown);
  // Whoever was in the thread goes on at its root.
  if (held) document.querySelector(`#channel-body .message[data-ts="${pane.dataset.ts}"]`)?.focus();
  if (!shown) return;
  const session = state.sessions.get(threadKey(channel.id, state.thread));
  pane.dataset.ts = state.thread;
  drawHead(channel, session);
  const parts = paneOf(channel.id, state.thread);
  const body = document.getElementById("thread-body");
  if (body.firstElementChild !== parts.list.node) {
    body.replaceChildren(parts.list.node, parts.prompts, parts.status, parts.composer.node);
    if (quiet !== state.thread) parts.composer.focus();
  }
  quiet = "";
  parts.list.show(threadOf(channel.id, state.thread));
  morphChildren(parts.prompts, [prompts(channel.id, state.thread)]);
  morphChildren(parts.status, statusLine(session));
}

function drawHead(channel, session) {
  const place = channelName(channel);
  morphChildren(document.getElementById("thread-head"), [
    el("div", { class: "title" }, el("h2", {}, "Thread"), el("span", { class: "topic" }, session?.title || place)),
    el("span", { data: { testid: "session", status: session?.status ?? "" } }, sessionBadge(session)),
    el("button", { type: "button", class: "quiet", "aria-label": "Close thread", data: { testid: "thread-close" }, onclick: closeThread }, icon("close")),
  ]);
}

/** Returns what the app says it is doing, one text or several that take turns. */
function waitingLines() {
  const key = threadKey(state.channel, state.thread);
  const status = state.statuses.get(key);
  const { name } = appIn(state.channel, state.thread);
  if (status?.status && status.loading_messages?.length) return status.loading_messages;
  if (status?.status) return [`${name} ${status.status}`];
  return isBusy(state.sessions.get(key)) ? [`${name} is working…`] : [];
}

function statusLine(session) {
  const lines = waitingLines();
  const words = lines.length ? lines[Math.floor(Date.now() / TURN_MS) % lines.length] : "";
  const dots = () => el("span", { class: "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i"));
  return [
    words ? el("span", { class: "status-words", data: { testid: "status" } }, dots(), el("span", {}, words)) : null,
    !words && session?.status === "suspended" ? el("span", { class: "status-words", data: { testid: "status" } }, `${appIn(state.channel, state.thread).name} waits for an answer.`) : null,
    isBusy(session) ? el("button", { type: "button", class: "button stop", data: { testid: "stop" }, onclick: stop }, icon("stop", 16), "Stop") : null,
  ];
}

async function stop(event) {
  const button = event.currentTarget;
  button.disabled = true;
  const answer = await post("stop", { channel: state.channel, thread_ts: state.thread });
  button.disabled = false;
  if (!answer.ok) note(`Stop did not reach the app: ${answer.error}`, "error");
}
