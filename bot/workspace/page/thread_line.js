// The line under a root message that leads into its thread, and tells how the work in it stands.
import { el } from "./dom.js";
import { avatar, badge } from "./people.js";
import { changed, isBusy, state, threadKey } from "./state.js";
import { ago } from "./times.js";

export function threadLine(channel, message) {
  const session = state.sessions.get(threadKey(channel, message.ts));
  const count = message.reply_count ?? 0;
  if (!count && !session?.status) return null;
  const open = () => {
    state.thread = message.ts;
    changed();
  };
  const who = (message.reply_users ?? []).slice(0, 4).map((id) => avatar(id, "tiny"));
  const words = count ? `${count} ${count === 1 ? "reply" : "replies"}` : "Open thread";
  return el(
    "button",
    { class: "thread-line", type: "button", data: { testid: "thread-line" }, onclick: open },
    who,
    el("span", { class: "count" }, words),
    message.latest_reply ? el("span", { class: "muted last" }, `Last reply ${ago(message.latest_reply)}`) : null,
    sessionBadge(session),
  );
}

/** Returns a badge with the state of a session in the reader's words, or null when nothing goes on. */
export function sessionBadge(session) {
  if (session?.status === "suspended") return badge("Waits for an answer", "waiting");
  if (isBusy(session)) return badge("Working", "working");
  return null;
}
