// Layers that lie over the page for a moment: questions, menus, short notes, a picture at full size.
import { el } from "./dom.js";
import { icon } from "./icons.js";
import { plain } from "./mrkdwn.js";

const NOTE_MS = 6000;

/** Says something in a corner for a while; an error is read out at once. */
export function note(text, kind = "info") {
  const box = document.getElementById("notes");
  const entry = el(
    "div",
    { class: `note ${kind}`, role: kind === "error" ? "alert" : "status", data: { testid: "note" } },
    icon(kind === "error" ? "warning" : "info"),
    el("span", {}, text),
    el("button", { class: "quiet", type: "button", "aria-label": "Dismiss", onclick: () => entry.remove() }, icon("close", 16)),
  );
  box.append(entry);
  // Shown anew each time, so that it lies over a modal that was opened since.
  if (box.matches(":popover-open")) box.hidePopover();
  box.showPopover();
  setTimeout(() => entry.remove(), kind === "error" ? NOTE_MS * 2 : NOTE_MS);
}

/** Moves the focus to the composer if the element that had it before is gone or hidden by now. */
export function settle() {
  if (document.activeElement && document.activeElement !== document.body) return;
  document.querySelector("dialog[open] :is(input, textarea, button), #thread-pane:not([hidden]) textarea, #channel-pane textarea")?.focus();
}

/** Asks what a Slack `confirm` object asks. Resolves to whether the person agreed. */
export function confirmed(confirm) {
  if (!confirm) return Promise.resolve(true);
  return new Promise((resolve) => {
    const end = (agreed) => {
      dialog.close();
      dialog.remove();
      settle();
      resolve(agreed);
    };
    const style = confirm.style === "danger" ? "danger" : "primary";
    const dialog = el(
      "dialog",
      { class: "sheet small", data: { testid: "confirm" }, "aria-label": confirm.title?.text ?? "Please confirm", oncancel: () => end(false) },
      el("header", {}, el("h2", {}, plain(confirm.title ?? "Are you sure?"))),
      el("div", { class: "sheet-body" }, el("p", {}, plain(confirm.text ?? ""))),
      el(
        "footer",
        {},
        el("button", { class: "button", type: "button", onclick: () => end(false) }, plain(confirm.deny ?? "Cancel")),
        el("button", { class: `button solid ${style}`, type: "button", data: { testid: "confirm-yes" }, onclick: () => end(true) }, plain(confirm.confirm ?? "Yes")),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Shows a picture of the workspace's own files as large as the window allows. */
export function enlarge(address, name) {
  const close = () => {
    dialog.close();
    dialog.remove();
    settle();
  };
  const dialog = el(
    "dialog",
    { class: "lightbox", "aria-label": name, oncancel: close, onclick: close },
    el("img", { src: address, alt: name }),
    el("p", {}, name),
    el("button", { class: "quiet", type: "button", "aria-label": "Close", onclick: close }, icon("close")),
  );
  document.body.append(dialog);
  dialog.showModal();
}

/** Opens a menu beside `anchor`. Each item: {label, detail, icon, run, testid}. Arrow keys move in it. */
export function openMenu(anchor, label, items) {
  const buttons = items.map((item) =>
    el(
      "button",
      { role: "menuitem", type: "button", tabindex: -1, data: { testid: item.testid ?? "menu-item" }, onclick: () => (close(), item.run()) },
      item.icon ? icon(item.icon, 18) : null,
      el("span", {}, item.label, item.detail ? el("small", {}, item.detail) : null),
    ),
  );
  const close = popover(anchor, el("div", { class: "menu", role: "menu", "aria-label": label }, buttons), (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = buttons.indexOf(document.activeElement);
    buttons[(at + step + buttons.length) % buttons.length].focus();
  });
  buttons[0]?.focus();
}

/** Shows `content` beside `anchor` until Escape or a click elsewhere. Returns what closes it. */
export function popover(anchor, content, onkeydown = () => {}) {
  const frame = el("div", { class: "popover", popover: "auto", onkeydown }, content);
  // Inside an open dialog everything outside of it is inert, the popover too.
  (anchor.closest("dialog") ?? document.body).append(frame);
  frame.ontoggle = (event) => {
    if (event.newState !== "closed") return;
    frame.remove();
    if (document.activeElement === document.body) anchor.focus();
    settle();
  };
  frame.showPopover();
  place(frame, anchor.getBoundingClientRect());
  return () => frame.matches(":popover-open") && frame.hidePopover();
}

function place(frame, anchor) {
  const gap = 6;
  const { width, height } = frame.getBoundingClientRect();
  const below = anchor.bottom + gap + height <= innerHeight;
  const top = below ? anchor.bottom + gap : Math.max(gap, anchor.top - gap - height);
  const left = Math.min(Math.max(gap, anchor.right - width), innerWidth - width - gap);
  frame.style.top = `${top}px`;
  frame.style.left = `${left}px`;
}
