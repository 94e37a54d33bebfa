// Changing and deleting one's own messages.
import { confirmed, note } from "./dialogs.js";
import { el } from "./dom.js";
import { incoming, outgoing } from "./entities.js";
import { post } from "./live.js";
import { changed, rootsOf, state, threadOf } from "./state.js";

export const isMine = (message) => message.user === state.me && !message.ephemeral;

export function startEditing(channel, message) {
  state.editing = { channel, ts: message.ts };
  changed();
}

/** Edits the last message the person wrote there. Returns whether there is one. */
export function editLast(channel, thread) {
  const last = (thread ? threadOf(channel, thread) : rootsOf(channel)).filter(isMine).at(-1);
  if (last) startEditing(channel, last);
  return Boolean(last);
}

export const isEdited = (channel, ts) => state.editing?.ts === ts && state.editing.channel === channel;

/** The form in place of a message's text. */
export function editor(channel, message) {
  const area = el("textarea", { class: "field", "aria-label": "Edit message", data: { testid: "edit-text" } });
  area.value = incoming(message.text ?? "");
  area.rows = Math.min(area.value.split("\n").length + 1, 12);
  const end = (event) => {
    const row = event.target.closest(".message");
    event.preventDefault();
    event.stopPropagation();
    state.editing = null;
    changed();
    row?.focus();
  };
  const save = async (event) => {
    end(event);
    const text = area.value.trim();
    if (text === incoming(message.text ?? "")) return;
    const answer = await post("edit", { channel, ts: message.ts, text: outgoing(text) });
    if (!answer.ok) note(`The message was not changed: ${answer.error}`, "error");
  };
  area.onkeydown = (event) => {
    if (event.key === "Escape") end(event);
    else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) save(event);
  };
  const buttons = el("div", { class: "actions" }, el("button", { class: "button", type: "button", onclick: end }, "Cancel"), el("button", { class: "button solid primary", type: "submit", data: { testid: "edit-save" } }, "Save"));
  setTimeout(() => area.isConnected && (area.focus(), area.setSelectionRange(area.value.length, area.value.length)));
  return el("form", { class: "editor", onsubmit: save, whole: `edit ${message.ts}` }, area, buttons);
}

export async function remove(channel, message) {
  const text = (words) => ({ type: "plain_text", text: words });
  const agreed = await confirmed({ title: text("Delete message"), text: text("Delete this message? This cannot be undone."), confirm: text("Delete"), deny: text("Cancel"), style: "danger" });
  if (!agreed) return;
  const answer = await post("delete", { channel, ts: message.ts });
  if (!answer.ok) note(`The message was not deleted: ${answer.error}`, "error");
}
