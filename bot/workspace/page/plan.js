// The live plan: a title and a row per task, whose state moves while people watch.
import { el, link } from "./dom.js";
import { statusIcon } from "./icons.js";
import { markdown } from "./markdown.js";
import { richText } from "./rich_text.js";

const LONG = 240; // characters
const STATES = { pending: "waiting", in_progress: "in progress", complete: "done", error: "failed" };

const known = (status) => (STATES[status] ? status : "pending");

/** A plan with its tasks: the objects of a `plan` block or of a stream's `task_update` chunks. */
export function plan(title, tasks) {
  const settled = tasks.length > 0 && tasks.every((task) => ["complete", "error"].includes(known(task.status)));
  const overall = tasks.some((task) => known(task.status) === "in_progress")
    ? "in_progress"
    : settled
      ? tasks.some((task) => task.status === "error")
        ? "error"
        : "complete"
      : "pending";
  return el(
    "section",
    { class: "plan", "aria-label": "Plan", data: { testid: "plan", status: overall } },
    el(
      "div",
      { class: "plan-head" },
      statusIcon(overall),
      el("strong", {}, title?.text ?? title ?? "Plan"),
    ),
    el("ol", { class: "plan-rows" }, tasks.map(row)),
  );
}

/** A `task_card` block, or one task of a stream shown as a timeline. */
export function taskCard(task) {
  return el("ol", { class: "plan-rows lone" }, row(task));
}

function row(task) {
  const status = known(task.status);
  const body = [part("details", task.details), part("output", task.output), sources(task.sources)].filter(Boolean);
  const label = [el("span", { class: "task-title" }, task.title ?? ""), el("span", { class: "visually-hidden" }, ` (${STATES[status]})`)];
  const data = { testid: "plan-row", status, task: task.task_id ?? task.id ?? null };
  // What there is to read is open, but for the long output of a task that is done.
  const long = body.reduce((length, node) => length + node.textContent.length, 0) > LONG;
  const inner = body.length
    ? el("details", { open: !(long && status === "complete") }, el("summary", {}, label), el("div", { class: "task-body" }, body))
    : el("div", { class: "task-line" }, label);
  return el("li", { class: `plan-row ${status}`, key: `${task.task_id ?? task.id}`, data }, statusIcon(status), inner);
}

function part(name, value) {
  if (!value) return null;
  const content = typeof value === "string" ? markdown(value) : richText(value);
  return el("div", { class: `task-${name}` }, content);
}

function sources(list) {
  if (!list?.length) return null;
  return el("div", { class: "task-sources" }, list.map((source) => el("span", { class: "source" }, link(source.url ?? "", source.text || host(source.url)))));
}

function host(address) {
  try {
    return new URL(address).host;
  } catch {
    return String(address ?? "");
  }
}
