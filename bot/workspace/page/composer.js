// The composer of messages: text, completion, attachments, sending.
import { Completion } from "./completion.js";
import { note } from "./dialogs.js";
import { el } from "./dom.js";
import { editLast } from "./editing.js";
import { outgoing } from "./entities.js";
import { fileAddress, sizeOf } from "./files.js";
import { icon } from "./icons.js";
import { post, upload } from "./live.js";
import { heldTable, tableOf } from "./pasted.js";
import { pickEmoji } from "./reactions.js";
import { writeCanvas } from "./sheets.js";
import { state } from "./state.js";

const STYLES = [
  ["Bold", "B", "*", "*"],
  ["Italic", "I", "_", "_"],
  ["Strikethrough", "S", "~", "~"],
  ["Code", "<>", "`", "`"],
];
const TALLEST = 260; // pixels

/** The composer of a channel, or of a thread in it. It keeps its draft while another is on screen. */
export class Composer {
  /** `sending()` is called when a message is about to be sent, `sent(answer)` when the workspace has it. */
  constructor(channel, thread, placeholder, sending, sent = () => {}) {
    this.channel = channel;
    this.thread = thread;
    this.sending = sending;
    this.sent = sent;
    this.files = []; // {name, size, file or null while it is under way}
    this.tables = []; // rows of cells
    const prefix = thread ? "thread-" : "";
    this.area = el("textarea", { rows: 1, placeholder, "aria-label": placeholder, data: { testid: `${prefix}composer` }, spellcheck: true });
    this.area.oninput = () => this.#changed();
    this.area.onkeydown = (event) => this.#key(event);
    this.area.onclick = () => this.completion.update();
    this.area.onblur = () => this.completion.close();
    this.area.onpaste = (event) => this.#paste(event);
    this.completion = new Completion(this.area, Boolean(thread));
    this.mirror = el("div", { class: "mirror", "aria-hidden": "true" });
    this.area.onscroll = () => (this.mirror.scrollTop = this.area.scrollTop);
    this.pending = el("div", { class: "held-files", hidden: true });
    this.picker = el("input", { type: "file", multiple: true, class: "visually-hidden", "aria-label": "Attach files", data: { testid: `${prefix}attach-input` } });
    this.picker.onchange = () => (this.add([...this.picker.files]), (this.picker.value = ""));
    this.button = el("button", { class: "send", type: "button", "aria-label": "Send", title: "Send (Enter)", disabled: true, data: { testid: `${prefix}send` }, onclick: () => this.send() }, icon("send"));
    this.node = this.#frame(prefix);
  }

  #frame(prefix) {
    const styles = STYLES.map(([label, sign, open, close]) =>
      el("button", { type: "button", class: `style style-${label.toLowerCase()}`, "aria-label": label, title: label, onclick: () => this.#wrap(open, close) }, sign),
    );
    const attach = el("label", { class: "composer-tool", title: "Attach files", data: { testid: `${prefix}attach` } }, this.picker, icon("plus"), el("span", { class: "visually-hidden" }, "Attach files"));
    const canvas = el("button", { type: "button", class: "composer-tool", "aria-label": "Attach a canvas", title: "Attach a canvas", data: { testid: `${prefix}attach-canvas` }, onclick: () => writeCanvas((file) => this.hold(file)) }, icon("file"));
    const smile = el("button", { type: "button", class: "composer-tool", "aria-label": "Insert emoji", title: "Emoji", onclick: (event) => pickEmoji(event.currentTarget, (name) => this.insert(`:${name}: `)) }, icon("smile"));
    const at = el("button", { type: "button", class: "composer-tool at", "aria-label": "Mention somebody", title: "Mention", onclick: () => this.insert("@") }, "@");
    return el(
      "div",
      { class: "composer" },
      this.completion.menu,
      el("div", { class: "styles", role: "toolbar", "aria-label": "Text styles" }, styles),
      el("div", { class: "typing" }, this.mirror, this.area),
      this.pending,
      el("div", { class: "composer-foot" }, attach, canvas, smile, at, el("span", { class: "enter-hint" }, "Shift + Enter for a new line"), this.button),
    );
  }

  focus() {
    this.area.focus();
  }

  /** Puts text where the caret is. */
  insert(text) {
    const { selectionStart: start, selectionEnd: end, value } = this.area;
    const gap = start > 0 && !/\s$/.test(value.slice(0, start)) ? " " : "";
    this.area.setRangeText(gap + text, start, end, "end");
    this.area.focus();
    this.#changed();
  }

  /** Uploads files and keeps them until the message is sent. */
  async add(list) {
    await Promise.all(
      list.map(async (file) => {
        const entry = { name: file.name || "pasted.png", size: file.size, file: null };
        this.files.push(entry);
        this.#drawPending();
        const answer = await upload(file);
        if (answer.ok) entry.file = answer.file;
        else {
          this.files = this.files.filter((other) => other !== entry);
          note(`${entry.name} was not uploaded: ${answer.error}`, "error");
        }
        this.#drawPending();
      }),
    );
    this.area.focus();
  }

  /** Keeps a file that the workspace has already until the message is sent. */
  hold(file) {
    this.files.push({ name: file.name, size: file.size, file });
    this.#drawPending();
    this.area.focus();
  }

  async send() {
    const typed = this.area.value.trim();
    const { files, tables } = this;
    if (this.#blocked()) return;
    if (typed.startsWith("/") && !typed.startsWith("//")) return this.#command(typed);
    this.#set("", [], []);
    const place = this.thread ? { channel: this.channel, thread_ts: this.thread } : { channel: this.channel };
    this.sending();
    const answer = await post("say", { ...place, text: outgoing(typed), files: files.map((entry) => entry.file.id), tables });
    if (answer.ok) return this.sent(answer);
    note(`The message was not sent: ${answer.error}`, "error");
    if (!this.area.value) this.#set(typed, files, tables);
  }

  async #command(typed) {
    const name = typed.split(/\s/)[0];
    if (this.thread) return note(`${name} is not supported in threads. Sorry!`, "error");
    if (!state.workspace.commands.some((entry) => entry.command === name)) return note(`${name} is not a command here.`, "error");
    this.#set("", this.files, this.tables);
    const answer = await post("command", { channel: this.channel, text: typed });
    if (!answer.ok) note(`${name} failed: ${answer.error}`, "error");
  }

  #blocked() {
    const uploading = this.files.some((entry) => entry.file === null);
    return uploading || (!this.area.value.trim() && !this.files.length && !this.tables.length);
  }

  #set(text, files, tables) {
    this.area.value = text;
    this.files = files;
    this.tables = tables;
    this.#changed();
    this.#drawPending();
  }

  #changed() {
    this.button.disabled = this.#blocked();
    this.#highlight();
    this.area.style.height = "auto";
    this.area.style.height = `${Math.min(this.area.scrollHeight, TALLEST)}px`;
    this.completion.update();
  }

  /** Marks mentions behind the text: the mirror holds the same text, unseen but for its marks. */
  #highlight() {
    const { bot, people } = state.workspace;
    const names = [bot.name, ...people.map((person) => person.name)].map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const parts = this.area.value.split(new RegExp(`(?<![\\w@])(@(?:${names.join("|")}))(?![\\w-])`, "iu"));
    this.mirror.replaceChildren(...parts.map((part, index) => (index % 2 ? el("mark", {}, part) : part)), "\u200b");
  }

  #key(event) {
    if (this.completion.key(event) || event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.send();
    } else if (event.key === "ArrowUp" && !this.area.value && editLast(this.channel, this.thread)) {
      event.preventDefault();
    } else if ((event.ctrlKey || event.metaKey) && { b: 1, i: 1 }[event.key]) {
      event.preventDefault();
      const sign = event.key === "b" ? "*" : "_";
      this.#wrap(sign, sign);
    }
  }

  #wrap(open, close) {
    const { selectionStart: start, selectionEnd: end, value } = this.area;
    this.area.setRangeText(open + value.slice(start, end) + close, start, end, "end");
    if (start === end) this.area.selectionStart = this.area.selectionEnd = start + open.length;
    this.area.focus();
    this.#changed();
  }

  #paste(event) {
    const rows = event.clipboardData ? tableOf(event.clipboardData) : null;
    const files = [...(event.clipboardData?.files ?? [])];
    if (!rows && !files.length) return;
    event.preventDefault();
    if (!rows) return this.add(files); // a spreadsheet gives a picture of its cells, too
    this.tables.push(rows);
    this.#drawPending();
  }

  #drawPending() {
    const removeTable = (rows) => {
      this.tables = this.tables.filter((other) => other !== rows);
      this.#drawPending();
    };
    this.pending.hidden = !this.files.length && !this.tables.length;
    this.pending.replaceChildren(...this.files.map((entry) => this.#pendingFile(entry)), ...this.tables.map((rows) => heldTable(rows, () => removeTable(rows))));
    this.button.disabled = this.#blocked();
  }

  #pendingFile(entry) {
    const remove = () => {
      this.files = this.files.filter((other) => other !== entry);
      this.#drawPending();
    };
    const picture = entry.file?.mimetype?.startsWith("image/") && !entry.file.mimetype.includes("svg");
    return el(
      "div",
      { class: "held-file", data: { testid: "pending-file", ready: entry.file ? "true" : "false" } },
      entry.file ? (picture ? el("img", { src: fileAddress(entry.file), alt: "" }) : icon("file", 22)) : el("span", { class: "spinner", role: "img", "aria-label": "uploading" }),
      el("span", { class: "file-words" }, el("span", { class: "file-name" }, entry.name), el("span", { class: "muted" }, entry.file ? sizeOf(entry.size) : "uploading…")),
      el("button", { type: "button", class: "quiet", "aria-label": `Remove ${entry.name}`, onclick: remove }, icon("close", 14)),
    );
  }
}

/** Lets files be dropped on a pane; `composer()` says who takes them. */
export function takeDrops(pane, composer) {
  let depth = 0;
  const show = (on) => pane.classList.toggle("dropping", on);
  const carriesFiles = (event) => event.dataTransfer?.types.includes("Files");
  pane.addEventListener("dragenter", (event) => carriesFiles(event) && composer() && ((depth += 1), show(true)));
  pane.addEventListener("dragleave", () => ((depth = Math.max(0, depth - 1)), depth || show(false)));
  pane.addEventListener("dragover", (event) => carriesFiles(event) && event.preventDefault());
  pane.addEventListener("drop", (event) => {
    depth = 0;
    show(false);
    if (!carriesFiles(event)) return;
    event.preventDefault();
    composer()?.add([...event.dataTransfer.files]);
  });
}
