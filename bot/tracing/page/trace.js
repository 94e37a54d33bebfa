// Draws a trace: the head, the waterfall, and the steps, each built when it is opened. What the trace holds was written
// by people, models and tools: it only ever becomes text, never markup.
"use strict";

const trace = JSON.parse(document.getElementById("trace").textContent);
const byId = new Map(trace.spans.map((span) => [span.id, span]));
const below = new Map();
for (const span of trace.spans) {
  const parent = byId.has(span.parent) ? span.parent : "";
  if (!below.has(parent)) below.set(parent, []);
  below.get(parent).push(span);
}

const KINDS = {
  request: "request", gather: "reading", plan: "plan", subtask: "subtask", attempt: "attempt", chat: "model",
  tool: "tool", wait: "wait", pause: "pause", judge: "judge", refine: "refine", synthesis: "answer", post: "post",
  sort: "message", away: "away",
};
const FILTERS = [
  ["failed", "failed", (span) => span.state === "failed"],
  ["waits", "waits", (span) => span.kind === "wait" || span.kind === "pause"],
  ["tools", "tool calls", (span) => span.kind === "tool"],
  ["decisions", "decisions", (span) => Boolean(span.decisions)],
  ["path", "critical path", (span) => Boolean(span.critical) && span.kind !== "request"],
];
const MOST_FOUND = 200;
const MOST_BUTTONS = 6;

function make(tag, fields = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(fields)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...inside.filter((one) => one !== null && one !== undefined && one !== ""));
  return made;
}

function duration(seconds) {
  if (seconds < 0.0995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 172800) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${(whole / 86400).toFixed(1)} days`;
}

function clock(seconds) {
  const sign = seconds < 0 ? "-" : "+";
  const size = Math.abs(seconds);
  if (size < 60) return `${sign}${size.toFixed(1)} s`;
  const whole = Math.round(size);
  const tail = `${String(Math.floor((whole % 3600) / 60)).padStart(whole >= 3600 ? 2 : 1, "0")}:${String(whole % 60).padStart(2, "0")}`;
  return sign + (whole >= 3600 ? `${Math.floor(whole / 3600)}:${tail}` : tail);
}

function tokens(usage) {
  const count = usage.tokens_in + usage.tokens_out;
  if (count >= 1e6) return `${(count / 1e6).toFixed(1)}M tokens`;
  return count >= 1000 ? `${(count / 1000).toFixed(1)}k tokens` : count ? `${count} tokens` : "";
}

function cost(usage) {
  if (usage.cost_usd === null || usage.cost_usd === undefined) return "";
  return usage.cost_usd ? `$${usage.cost_usd.toFixed(usage.cost_usd < 0.01 ? 4 : 2)}` : "";
}

const endOf = (span) => (span.end === null ? Math.max(trace.until, span.start) : span.end);
const counted = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const joined = (parts, by = " · ") => parts.filter(Boolean).join(by);

// ---------------------------------------------------------------- the head, for the request that is looked at

let shown = trace.requests[trace.requests.length - 1] || null;

function drawHead() {
  const head = document.getElementById("head");
  head.replaceChildren();
  if (shown) {
    const until = shown.answer_written || shown.end || trace.until;
    const when = new Date(shown.start * 1000).toISOString().slice(0, 16).replace("T", " ");
    head.append(
      make("h1", {}, shown.text.trim() || "A request"),
      make("p", { class: "facts" }, joined([
        shown.state_words, duration(until - shown.start), tokens(shown.usage), cost(shown.usage),
        `asked by ${shown.user}`, `${when} UTC`, `job ${trace.job}`,
      ])),
      ...comparison(),
    );
  } else {
    head.append(make("h1", {}, `Job ${trace.job}`));
  }
  if (trace.unreadable) {
    head.append(make("p", { class: "notice" },
      `From entry ${trace.unreadable.from_seq} on, this log cannot be read by this release (${counted(trace.unreadable.entries, "entry").replace("entrys", "entries")}): what follows ends there.`));
  }
  if (trace.spans_left_out) {
    head.append(make("p", { class: "notice" }, `${counted(trace.spans_left_out, "step")} more are not on this page.`));
  }
  for (const line of trace.budgets || []) head.append(make("p", { class: "facts" }, line));
}

function comparison() {
  const apart = shown.seconds_one_by_one;
  const together = shown.seconds_side_by_side;
  if (!apart || !together) return [];
  const most = Math.max(apart, together);
  const bar = (name, seconds) => {
    const made = make("i", { class: name });
    made.style.width = `${(100 * seconds) / most}%`;
    return made;
  };
  return [
    make("p", { class: "gain" }, shown.gain || "Working side by side gained nothing to speak of"),
    make("div", { class: "compare" },
      make("span", {}, `one by one ${duration(apart)}`), bar("apart", apart),
      make("span", {}, `side by side ${duration(together)}`), bar("together", together)),
  ];
}

function drawRequests() {
  const nav = document.getElementById("requests");
  const name = (one, place) => `${place + 1}. ${one.text.trim().slice(0, 60) || "a request"}`;
  nav.hidden = trace.requests.length < 2;
  if (trace.requests.length > MOST_BUTTONS) {
    const select = make("select", { id: "request", onchange: () => look(trace.requests[select.selectedIndex]) },
      ...trace.requests.map((one, place) => make("option", { selected: one === shown }, name(one, place))));
    nav.replaceChildren(make("label", { for: "request" }, `Request, of ${trace.requests.length}`), select);
    return;
  }
  nav.replaceChildren(...trace.requests.map((one, place) => make("button", {
    type: "button", "aria-pressed": String(one === shown), title: one.text, onclick: () => look(one),
  }, name(one, place))));
}

function look(request) {
  shown = request;
  drawHead();
  drawRequests();
  drawWaterfall();
  drawTree();
  search();
}

// ---------------------------------------------------------------- steps

function summaryOf(span, path) {
  const zero = shown ? shown.start : trace.spans[0].start;
  const name = span.kind === "request" ? span.name.slice(0, 120) : span.name;
  const sizes = joined([span.usage ? cost(span.usage) : "", duration(endOf(span) - span.start)]);
  return make("summary", {},
    make("span", { class: "at" }, clock(span.start - zero)),
    make("span", { class: "kind" }, KINDS[span.kind] || span.kind),
    make("span", { class: "what" },
      path ? make("span", { class: "crumbs" }, `${path} › `) : "",
      make("b", {}, name), " ",
      make("span", { class: "words" }, (span.words || "").slice(0, 240)),
      span.state === "done" ? "" : make("span", { class: `state ${span.state}` }, span.state),
      span.critical && span.kind !== "request" ? make("span", { class: "state path", title: "on the critical path" }, "path") : ""),
    make("span", { class: "sizes" }, sizes));
}

function stepOf(span, { path = "", query = "", nested = true } = {}) {
  const details = make("details", { "data-id": span.id }, summaryOf(span, path));
  let built = false;
  const build = () => {
    if (built) return;
    built = true;
    const body = make("div", { class: "body" }, ...bodyOf(span));
    const inside = nested ? below.get(span.id) || [] : [];
    if (inside.length) body.append(listOf(inside));
    if (query) marked(body, query);
    details.append(body);
  };
  details.addEventListener("toggle", () => details.open && build());
  details.build = build;
  if (query) marked(details.firstChild, query);
  return make("li", { class: "step" }, details);
}

function listOf(spans) {
  const list = make("ol", { class: "steps" });
  const page = 200;
  const add = (from) => {
    list.append(...spans.slice(from, from + page).map((span) => stepOf(span)));
    const left = spans.length - from - page;
    if (left <= 0) return;
    const more = make("li", {}, make("button", {
      class: "more-button", type: "button",
      onclick: () => { more.remove(); add(from + page); },
    }, `Show ${Math.min(page, left)} more of ${left}`));
    list.append(more);
  };
  add(0);
  list.showAll = (place) => {
    while (place >= list.querySelectorAll(":scope > .step").length) list.lastChild.firstChild.click();
  };
  return list;
}

function bodyOf(span) {
  const parts = [];
  const add = (title, ...inside) => parts.push(make("h3", {}, title), ...inside);
  const usage = span.usage;
  parts.push(make("p", { class: "facts-list" }, ...[
    `${clock(span.start - (shown ? shown.start : trace.spans[0].start))}, for ${duration(endOf(span) - span.start)}${span.end === null ? " so far" : ""}`,
    span.lane, span.attempt ? `attempt ${span.attempt}` : "", span.outcome,
    joined([span.model, span.tier ? `tier ${span.tier}` : ""], ", "),
    usage ? `${usage.tokens_in.toLocaleString("en")} tokens in${usage.tokens_cached ? ` (${usage.tokens_cached.toLocaleString("en")} cached)` : ""}, ${usage.tokens_out.toLocaleString("en")} out` : "",
    usage ? cost(usage) : "",
    span.events && span.events.length ? `log ${span.events.join(", ").slice(0, 200)}` : "",
  ].filter(Boolean).map((one) => make("span", {}, one))));
  if (span.brief) add(span.kind === "wait" ? "Asked" : span.kind === "plan" ? "Told" : "Brief", make("p", {}, span.brief));
  if (span.arguments) parts.push(...argumentsOf(span.arguments));
  if (span.reason) add(span.state === "failed" ? "Why it failed" : "Reason", make("p", {}, span.reason));
  if (span.text) {
    add({ tool: "Reply", wait: "Answer", chat: "Said", request: "Answer" }[span.kind] || "What came of it",
      span.kind === "tool" ? make("pre", { tabindex: "0" }, span.text) : make("p", {}, span.text));
  }
  if (span.decisions) {
    add("Decided", make("ul", {}, ...span.decisions.map((one) => make("li", {}, make("b", {}, one.what), one.why ? `: ${one.why}` : ""))));
  }
  if (span.after && byId.has(span.after)) {
    const other = byId.get(span.after);
    add("Began after", make("p", {}, make("button", { class: "go", type: "button", onclick: () => open(other.id) },
      joined([KINDS[other.kind], other.name], " "))));
  }
  if (span.derived !== undefined) add("How its times are known", make("p", {}, trace.derived[span.derived]));
  return parts;
}

function argumentsOf(given) {
  const parts = [];
  const rest = {};
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === "string" && (value.includes("\n") || /^(sql|query|code|statement)$/i.test(name))) {
      parts.push(make("h3", {}, `Argument ${name}`), make("pre", { tabindex: "0" }, value));
    } else {
      rest[name] = value;
    }
  }
  if (Object.keys(rest).length) {
    parts.push(make("h3", {}, "Arguments"), make("pre", { tabindex: "0" }, JSON.stringify(rest, null, 2)));
  }
  return parts;
}

function drawTree() {
  const roots = (below.get("") || []).filter((span) => !span.request || !shown || span.request === shown.id);
  const tree = document.getElementById("tree");
  const list = listOf(roots.filter((span) => span.kind !== "request").concat(
    ...roots.filter((span) => span.kind === "request").map((span) => below.get(span.id) || [])).sort((a, b) => a.start - b.start));
  const request = roots.find((span) => span.kind === "request");
  if (request) list.prepend(stepOf(request, { nested: false }));
  list.id = "tree";
  tree.replaceWith(list);
}

function open(id) {
  clearSearch();
  const path = [];
  for (let span = byId.get(id); span; span = byId.get(span.parent)) path.unshift(span);
  if (path[0] && path[0].kind === "request" && shown && path[0].request !== shown.id) {
    look(trace.requests.find((one) => one.id === path[0].request));
  }
  let target = null;
  for (const span of path) {
    if (span.kind === "request" && path.length > 1) continue;
    const holder = target ? target.querySelector(":scope > .body > .steps") : document.getElementById("tree");
    let next = holder && holder.querySelector(`:scope > .step > details[data-id="${span.id}"]`);
    if (!next && holder) {
      const among = target ? below.get(target.dataset.id) || [] : [];
      holder.showAll(among.indexOf(span));
      next = holder.querySelector(`:scope > .step > details[data-id="${span.id}"]`);
    }
    if (!next) break;
    target = next;
    target.build();
    target.open = true;
  }
  if (!target) return;
  const line = target.querySelector("summary");
  line.focus({ preventScroll: true });
  line.scrollIntoView({ block: "center" });
}
