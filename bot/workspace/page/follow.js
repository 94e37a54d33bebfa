// The thread of the person's own request opens by itself with the first answer, so that they see the work.
import { channelOf, isBot, isReply, messageOf, state, threadKey, threadOf } from "./state.js";
import { openQuietly } from "./thread_pane.js";

const BESIDE = window.matchMedia("(width > 1100px)"); // as in frame.css: below that a thread would cover the channel
const asked = new Set(); // channel/thread of what was sent from this page and is not answered yet

/** Notes what was just sent from a channel's composer. `thread`: where the workspace put it, which an assistant's thread is. */
export function follow(channel, ts, thread) {
  if (thread) {
    // The message went into a thread that is not on screen: it would seem lost.
    if (state.channel === channel) openQuietly(thread);
    return;
  }
  asked.add(threadKey(channel, ts));
  const answer = threadOf(channel, ts).find((message) => isReply(message) && isBot(message));
  if (answer) answered(channel, answer); // it was faster than the workspace's word that the message is sent
}

/** Opens the thread of a request that the app answered for the first time, unless the person is at something else. */
export function answered(channel, message) {
  if (!isReply(message) || !isBot(message) || !asked.delete(threadKey(channel, message.thread_ts))) return;
  const root = messageOf(channel, message.thread_ts);
  const called = channelOf(channel)?.is_im || state.workspace.apps.some((app) => root?.text?.includes(`<@${app.user_id}>`));
  if (called && BESIDE.matches && state.channel === channel && !state.thread && !isOccupied()) openQuietly(root.ts);
}

export function forgetAsked() {
  asked.clear();
}

/** True if the person is writing, has a dialog open or a menu. */
function isOccupied() {
  const open = [...document.querySelectorAll("dialog[open], :popover-open")].some((node) => node.id !== "notes");
  const writes = Boolean(document.activeElement?.value);
  return open || writes || Boolean(state.editing);
}
