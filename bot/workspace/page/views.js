// Views that the app opens: modals, one on top of another, and its App Home.
import { blocks } from "./blocks.js";
import { note, settle } from "./dialogs.js";
import { el, morph, morphChildren } from "./dom.js";
import { icon } from "./icons.js";
import { collect, isEmpty } from "./inputs.js";
import { post } from "./live.js";
import { bare, plain } from "./mrkdwn.js";
import { state } from "./state.js";

const stack = []; // {view, node}, the top one last
let frame = null;

export function openView(view) {
  // After a lost connection the workspace tells again what is open.
  if (stack.length === 1 && stack[0].view.id === view.id) return updateView(view);
  stack.length = 0;
  return pushView(view);
}

export function pushView(view) {
  if (stack.some((entry) => entry.view.id === view.id)) return updateView(view);
  stack.push({ view, node: form(view) });
  return show();
}

/** Draws a view anew; what the person entered in blocks that stay is kept. */
export function updateView(view) {
  const known = stack.find((entry) => entry.view.id === view.id) ?? (view.root_view_id && stack.find((entry) => entry.view.root_view_id === view.root_view_id));
  if (!known) return pushView(view);
  known.view = view;
  known.node = morph(known.node, form(view));
  return show();
}

export function closeView(id) {
  const at = stack.findIndex((entry) => entry.view.id === id);
  if (at >= 0) stack.splice(at, 1);
  show();
}

export function closeAllViews() {
  stack.length = 0;
  show();
}

/** Shows what the app refused, each text under its block. */
export function showErrors(id, errors) {
  const known = stack.find((entry) => entry.view.id === id);
  if (!known) return;
  busy(known.node, false);
  clearErrors(known.node);
  for (const [block, text] of Object.entries(errors)) {
    const slot = [...known.node.querySelectorAll("[data-error-for]")].find((node) => node.dataset.errorFor === block);
    if (slot) fault(slot, String(text));
    else note(String(text), "error");
  }
  known.node.querySelector(".faulty .field, .faulty input")?.focus();
}

function show() {
  const top = stack.at(-1);
  if (!top) {
    frame?.close(); // gives the focus back to where it was
    frame?.remove();
    frame = null;
    settle();
    return;
  }
  if (!frame) {
    frame = el("dialog", { class: "sheet modal", data: { testid: "modal" }, oncancel: (event) => (event.preventDefault(), dismiss()) });
    document.body.append(frame);
  }
  frame.setAttribute("aria-label", bare(top.view.title));
  if (frame.firstElementChild !== top.node) frame.replaceChildren(top.node);
  if (!frame.open) frame.showModal();
  (top.node.querySelector("[autofocus]") ?? top.node.querySelector(".field"))?.focus();
}

function form(view) {
  const submit = (event) => (event.preventDefault(), send(view, event.currentTarget));
  return el(
    "form",
    { onsubmit: submit, novalidate: true, "data-surface": "", data: { view: view.id } },
    el("header", {}, el("h2", {}, plain(view.title)), el("button", { type: "button", class: "quiet", "aria-label": "Close", data: { testid: "modal-close" }, onclick: dismiss }, icon("close"))),
    el("div", { class: "sheet-body", tabindex: -1 }, blocks(view.blocks ?? [], { view_id: view.id })),
    el(
      "footer",
      {},
      el("button", { type: "button", class: "button", data: { testid: "modal-cancel" }, onclick: dismiss }, view.close ? plain(view.close) : view.submit ? "Cancel" : "Close"),
      view.submit ? el("button", { type: "submit", class: "button solid primary", data: { testid: "modal-submit" } }, plain(view.submit)) : null,
    ),
  );
}

async function dismiss() {
  const top = stack.at(-1);
  if (!top) return;
  closeView(top.view.id);
  const answer = await post("close", { view_id: top.view.id });
  if (!answer.ok) note(`The app did not learn of it: ${answer.error}`, "error");
}

async function send(view, node) {
  const values = collect(node);
  clearErrors(node);
  if (!complete(node, values)) return;
  busy(node, true);
  const answer = await post("submit", { view_id: view.id, values });
  busy(node, false);
  if (!answer.ok) note(`The form was not sent: ${answer.error}`, "error");
}

/** Checks what Slack checks by itself: that required fields are filled, and that the rest has the right form. */
function complete(node, values) {
  for (const block of node.querySelectorAll(".input-block")) {
    const slot = block.querySelector(".input-error");
    const entered = Object.values(values[slot.dataset.errorFor] ?? {})[0];
    const field = block.querySelector("input.field, textarea.field");
    if (block.dataset.required !== undefined && entered && isEmpty(entered)) fault(slot, "Please complete this required field.");
    else if (field && !field.checkValidity()) fault(slot, field.validationMessage);
  }
  node.querySelector(".faulty .field, .faulty input")?.focus();
  return !node.querySelector(".faulty");
}

function fault(slot, text) {
  slot.replaceChildren(icon("warning", 16), text);
  const block = slot.closest(".input-block");
  block.classList.add("faulty");
  block.querySelector("[data-input]")?.setAttribute("aria-invalid", "true");
}

function clearErrors(node) {
  for (const slot of node.querySelectorAll(".input-error")) slot.replaceChildren();
  for (const block of node.querySelectorAll(".faulty")) {
    block.classList.remove("faulty");
    block.querySelector("[data-input]")?.removeAttribute("aria-invalid");
  }
}

function busy(node, on) {
  const button = node.querySelector("[type=submit]");
  if (button) button.disabled = on;
  node.toggleAttribute("aria-busy", on);
}

/** An app's home as the current person sees it. */
export function drawHome(box, app) {
  const view = state.homes.get(app.app_id);
  const content = view?.blocks?.length
    ? blocks(view.blocks, { view_id: view.id })
    : [el("p", { class: "muted" }, view ? `${app.name} shows nothing here yet.` : "Opening…")];
  morphChildren(box, [el("div", { class: "home", "data-surface": "", data: { testid: "home" } }, content)]);
}
