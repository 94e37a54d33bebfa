// A scrolling list of messages that redraws only what changed and stays at its end while new ones come.
import { el, morph } from "./dom.js";
import { isEdited } from "./editing.js";
import { icon } from "./icons.js";
import { messageRow } from "./messages.js";
import { state, threadKey } from "./state.js";
import { dayOf } from "./times.js";

const NEAR_END = 60; // pixels
const SAME_BREATH = 300; // seconds within which messages by one author stand together

export class MessageList {
  /** `inThread`: rows lead into no thread, and the first one is the thread's root. */
  constructor(channel, label, inThread = false) {
    this.channel = channel;
    this.inThread = inThread;
    this.rows = new Map();
    this.stuck = true;
    this.top = 0;
    this.inner = el("div", { class: "list-inner" });
    this.scroller = el("div", { class: "list", role: "log", "aria-label": label, tabindex: 0, onscroll: () => this.#scrolled(), onkeydown: (event) => this.#move(event) }, this.inner);
    this.latest = el("button", { class: "latest", type: "button", hidden: true, onclick: () => this.toEnd() }, icon("down", 16), "Latest messages");
    this.node = el("div", { class: "list-frame" }, this.scroller, this.latest);
    new ResizeObserver(() => this.stuck && this.#jump()).observe(this.inner);
  }

  /** Draws the messages (oldest first) below what stands before them, with a line above the one called `fresh`. */
  show(messages, before = [], fresh = "") {
    const nodes = [...before];
    let previous = null;
    const seen = new Set();
    for (const message of messages) {
      seen.add(message.ts);
      const newDay = !previous || dayOf(previous.ts) !== dayOf(message.ts);
      if (newDay && !this.inThread) nodes.push(this.#divider(dayOf(message.ts)));
      if (message.ts === fresh) nodes.push(this.#divider("New", "new"));
      const afterRoot = this.inThread && previous === messages[0];
      if (afterRoot) nodes.push(this.#divider(`${messages.length - 1} ${messages.length === 2 ? "reply" : "replies"}`, "replies"));
      nodes.push(this.#row(message, !newDay && !afterRoot && message.ts !== fresh && follows(previous, message)));
      previous = message;
    }
    for (const ts of this.rows.keys()) if (!seen.has(ts)) this.rows.delete(ts);
    this.#arrange(nodes);
    const last = this.inner.querySelector(".message:last-of-type");
    for (const { node } of this.rows.values()) node.tabIndex = node === last ? 0 : -1;
    if (this.stuck) this.#jump();
    else this.latest.hidden = false;
  }

  toEnd() {
    this.stuck = true;
    this.#jump();
  }

  #row(message, compact) {
    const session = state.sessions.get(threadKey(this.channel, message.ts));
    const known = this.rows.get(message.ts);
    const stamp = [message, compact, session, isEdited(this.channel, message.ts)];
    if (known && known.stamp.every((part, index) => part === stamp[index])) return known.node;
    const next = messageRow(message, { channel: this.channel, compact, inThread: this.inThread });
    const node = known?.node.isConnected ? morph(known.node, next) : next;
    this.rows.set(message.ts, { stamp, node });
    return node;
  }

  #divider(text, kind = "day") {
    return el("div", { class: `divider ${kind}`, role: "separator", key: `divider-${text}` }, el("span", {}, text));
  }

  /** Puts the nodes in order, moving only those that stand elsewhere. */
  #arrange(nodes) {
    const wanted = new Set(nodes);
    for (const node of [...this.inner.children]) if (!wanted.has(node) && node.classList.contains("message")) node.remove();
    let at = this.inner.firstElementChild;
    for (const node of nodes) {
      if (node === at) {
        at = at.nextElementSibling;
      } else if (at && !wanted.has(at) && !node.isConnected && !node.classList.contains("message")) {
        at = morph(at, node).nextElementSibling;
      } else {
        this.inner.insertBefore(node, at);
      }
    }
    while (at) {
      const next = at.nextElementSibling;
      at.remove();
      at = next;
    }
  }

  #scrolled() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    // Only going up lets go of the end: a picture that loads meanwhile moves the end away, too.
    if (scrollHeight - scrollTop - clientHeight < NEAR_END) this.stuck = true;
    else if (scrollTop < this.top) this.stuck = false;
    this.top = scrollTop;
    if (this.stuck) this.latest.hidden = true;
  }

  #jump() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.top = this.scroller.scrollTop;
    this.latest.hidden = true;
  }

  #move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = event.target.classList?.contains("message") ? event.target : null;
    if (!step || !row) return;
    const rows = [...this.inner.querySelectorAll(".message")];
    const next = rows[rows.indexOf(row) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
  }
}

function follows(previous, message) {
  return (
    previous !== null &&
    previous.user === message.user &&
    previous.username === message.username &&
    !previous.ephemeral &&
    !message.ephemeral &&
    !previous.reply_count &&
    Number(message.ts) - Number(previous.ts) < SAME_BREATH
  );
}
