// Completion while typing: @ people, # channels, / commands and shortcuts, : emoji.
import { note } from "./dialogs.js";
import { el } from "./dom.js";
import { emoji, pickable } from "./emoji.js";
import { icon } from "./icons.js";
import { post } from "./live.js";
import { avatar, badge } from "./people.js";
import { runStep } from "./sheets.js";
import { state } from "./state.js";

const MOST = 8;

/** Returns the completions of the text before the caret: {kind, start, items}, or null. */
function offers(before, inThread) {
  const command = /^\/(\S*)$/.exec(before);
  if (command) return { kind: "command", start: 0, items: commands(command[1], inThread) };
  const token = /(?:^|[\s(])([@#:])([\p{L}\p{N}._+-]*)$/u.exec(before);
  if (!token) return null;
  const [, sign, word] = token;
  const start = before.length - word.length - 1;
  if (sign === "@") return { kind: "mention", start, items: people(word) };
  if (sign === "#") return { kind: "channel", start, items: channels(word) };
  return word.length > 1 ? { kind: "emoji", start, items: emojis(word) } : null;
}

const begins = (word, ...names) => names.some((name) => name?.toLowerCase().split(/\s+/).some((part) => part.startsWith(word.toLowerCase())));

function people(word) {
  const { apps: running, people: known } = state.workspace;
  const apps = running.map((app) => ({ text: `@${app.name} `, face: avatar(app.user_id, "small"), label: app.name, detail: badge("APP"), names: [app.name] }));
  const others = known.map((person) => ({ text: `@${person.name} `, face: avatar(person.id, "small"), label: person.real_name || person.name, detail: el("span", { class: "muted" }, person.id === state.me ? `${person.name} (you)` : person.name), names: [person.name, person.real_name] }));
  return [...apps, ...others].filter((entry) => begins(word, ...entry.names));
}

function channels(word) {
  const named = state.workspace.channels.filter((channel) => !["im", "mpim"].includes(channel.kind) && begins(word, channel.name));
  return named.map((channel) => ({ text: `#${channel.name} `, face: icon("hash", 18), label: channel.name, detail: el("span", { class: "muted" }, channel.topic ?? "") }));
}

function commands(word, inThread) {
  const why = inThread ? "Commands do not work in threads" : null;
  const shortcuts = state.workspace.shortcuts
    .filter((entry) => entry.type === "global" && begins(word, entry.name))
    .map((entry) => ({ text: "", run: () => useShortcut(entry), face: icon("bolt", 18), label: entry.name, detail: el("span", { class: "muted" }, entry.description || entry.app) }));
  const typed = state.workspace.commands
    .filter((entry) => entry.command.slice(1).startsWith(word))
    .map((entry) => ({ text: `${entry.command} `, face: icon("bolt", 18), label: `${entry.command} ${entry.usage_hint ?? ""}`, detail: el("span", { class: "muted" }, why ?? entry.description ?? "") }));
  const steps = state.workspace.steps
    .filter((entry) => begins(word, entry.title))
    .map((entry) => ({ text: "", run: () => runStep(entry), face: icon("bolt", 18), label: entry.title, detail: el("span", { class: "muted" }, "Workflow step") }));
  return [...typed, ...shortcuts, ...steps];
}

async function useShortcut(shortcut) {
  const answer = await post("shortcut", { callback_id: shortcut.callback_id });
  if (!answer.ok) note(`${shortcut.name} did not reach the app: ${answer.error}`, "error");
}

function emojis(word) {
  return pickable().filter((name) => name.includes(word.toLowerCase())).map((name) => ({ text: `${emoji(name).textContent} `, face: emoji(name), label: `:${name}:`, detail: null }));
}

let menus = 0;

/** Offers completions above a textarea. `menu` is the node to place there; `key` takes its key events first. */
export class Completion {
  constructor(area, inThread) {
    menus += 1;
    this.area = area;
    this.inThread = inThread;
    this.id = `completion-${menus}`;
    this.menu = el("ul", { class: "completion", role: "listbox", id: this.id, hidden: true, "aria-label": "Suggestions" });
    this.open = null;
    this.at = 0;
    area.setAttribute("aria-autocomplete", "list");
    area.setAttribute("aria-controls", this.id);
  }

  update() {
    const { selectionStart, selectionEnd, value } = this.area;
    const found = selectionStart === selectionEnd ? offers(value.slice(0, selectionStart), this.inThread) : null;
    if (!found?.items.length) return this.close();
    this.open = { ...found, items: found.items.slice(0, MOST), end: selectionStart };
    this.at = Math.min(this.at, this.open.items.length - 1);
    return this.#draw();
  }

  close() {
    this.open = null;
    this.at = 0;
    this.menu.hidden = true;
    this.area.removeAttribute("aria-activedescendant");
  }

  /** Takes a keydown that belongs to the open menu. Returns whether it did. */
  key(event) {
    if (!this.open || event.isComposing) return false;
    const count = this.open.items.length;
    if (event.key === "ArrowDown") this.at = (this.at + 1) % count;
    else if (event.key === "ArrowUp") this.at = (this.at + count - 1) % count;
    else if (event.key === "Escape") this.close();
    else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey)) {
      if (event.key === "Enter" && this.#isComplete()) return this.close(), false;
      this.#take(this.at);
    } else return false;
    event.preventDefault();
    event.stopPropagation();
    if (this.open) this.#draw();
    return true;
  }

  /** True if the offered text is already there: then Enter sends instead of completing. */
  #isComplete() {
    const typed = this.area.value.slice(this.open.start, this.open.end);
    return this.open.kind === "command" && this.open.items[this.at].text.trim() === typed;
  }

  #take(index) {
    const { items, start, end } = this.open;
    this.close();
    this.area.setRangeText(items[index].text, start, end, "end");
    this.area.dispatchEvent(new Event("input", { bubbles: true }));
    this.close();
    this.area.focus();
    items[index].run?.();
  }

  #draw() {
    this.menu.classList.toggle("commands", this.open.kind === "command");
    this.menu.dataset.testid = `${this.open.kind}-menu`;
    this.menu.hidden = false;
    this.menu.replaceChildren(
      ...this.open.items.map((entry, index) =>
        el(
          "li",
          // On mousedown, for a click would first take the focus from the text.
          { id: `${this.id}-${index}`, role: "option", "aria-selected": String(index === this.at), data: { testid: `${this.open.kind}-option` }, onmousedown: (event) => (event.preventDefault(), this.#take(index)) },
          el("span", { class: "face" }, entry.face),
          el("span", { class: "label" }, entry.label),
          entry.detail,
        ),
      ),
    );
    this.area.setAttribute("aria-activedescendant", `${this.id}-${this.at}`);
  }
}
