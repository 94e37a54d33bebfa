// Unread messages: marks in the sidebar, and a line above the first new message.
import { changed, channelOf, messageOf, rootsOf, state } from "./state.js";

const place = (channel) => `read ${state.workspace.team.id}/${state.me}/${channel}`;

/** Up to where the person has read a channel: a ts, or "" where they never were. */
const readUntil = (channel) => localStorage.getItem(place(channel)) ?? "";

/** Marks the channels with messages that came while nobody looked, after a reload or as somebody else. */
export function recall() {
  for (const channel of state.workspace.channels) {
    const after = readUntil(channel.id);
    if (channel.latest > after && !state.unread.has(channel.id)) state.unread.set(channel.id, { mentions: 0, after });
  }
}

/** Counts a message that just came, unless it stands before the person's eyes. */
export function count(channel, message) {
  if (message.user === state.me || (channel === state.channel && !document.hidden)) return;
  const { mentions = 0, after = readUntil(channel) } = state.unread.get(channel) ?? {};
  const begin = after || channelOf(channel)?.latest || "0";
  state.unread.set(channel, { mentions: mentions + (isForMe(channel, message) ? 1 : 0), after: begin });
}

function isForMe(channel, message) {
  if (channelOf(channel)?.is_im) return true;
  if (message.thread_ts && messageOf(channel, message.thread_ts)?.user === state.me) return true;
  return message.text?.includes(`<@${state.me}>`) || /<!(here|channel|everyone)[|>]/.test(message.text ?? "");
}

/** The channel on screen is read; the line stays above what was new until the person goes elsewhere. */
export function see() {
  const { channel } = state;
  if (state.fresh.channel !== channel) state.fresh = { channel, after: "" };
  if (document.hidden || !channelOf(channel)) return;
  const unread = state.unread.get(channel);
  if (unread?.after) state.fresh = { channel, after: unread.after };
  state.unread.delete(channel);
  const newest = [...(state.messages.get(channel)?.keys() ?? [])].reduce((one, other) => (one > other ? one : other), "");
  if (state.loaded.has(channel) && newest > readUntil(channel)) localStorage.setItem(place(channel), newest);
}

/** The ts of the first message to stand under the line, or "". */
export function firstNew(channel) {
  const { after } = state.fresh;
  return (after && rootsOf(channel).find((message) => message.ts > after && message.user !== state.me)?.ts) || "";
}

document.addEventListener("visibilitychange", changed);
