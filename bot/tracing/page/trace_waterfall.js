// The waterfall: a lane a row, bars that overlap below one another.

const DRAWN = new Set(["gather", "plan", "attempt", "wait", "pause", "judge", "refine", "synthesis", "away"]);
const SIGNS = { wait: "?", pause: "···", judge: "✓", refine: "↻", away: "–" };
const MOST_BARS = 400;
const MOST_LANES = 60;
const ROW = 28;

// Where a time stands, 0 to 1: stretches in which nobody worked are drawn shorter than they were.
function between(froms, tos, value) {
  if (value <= froms[0]) return tos[0];
  const right = froms.findIndex((one) => one > value);
  if (right < 0) return tos[tos.length - 1];
  const share = (value - froms[right - 1]) / (froms[right] - froms[right - 1]);
  return tos[right - 1] + share * (tos[right] - tos[right - 1]);
}

const placeOf = (time) => between(shown.scale.times, shown.scale.places, time);

function barsOf(spans) {
  const rows = [];
  for (const span of spans) {
    let row = rows.findIndex((until) => until <= span.start + 1e-6);
    if (row < 0) row = rows.push(0) - 1;
    rows[row] = Math.max(endOf(span), span.start);
    span.row = row;
  }
  return rows.length;
}

function drawWaterfall() {
  const box = document.getElementById("waterfall");
  box.replaceChildren();
  if (!shown) return;
  const mine = trace.spans.filter((span) => span.request === shown.id && (DRAWN.has(span.kind) || span.name === "the answer"));
  const away = trace.spans.filter((span) => span.kind === "away");
  const zero = shown.start;
  const until = shown.scale.times[shown.scale.times.length - 1];
  const isCrew = (span) => span.kind === "attempt" && (below.get(span.id) || []).some((one) => one.kind === "subtask" || one.kind === "plan");
  const ticks = make("div", { class: "ticks" }, ...[0, 1, 2, 3, 4].map((part) => {
    const inside = shown.scale.breaks.some(([from, to]) => from < part / 4 && part / 4 < to);
    const made = make("span", {}, inside ? "" : part ? duration(between(shown.scale.places, shown.scale.times, part / 4) - zero) : "0");
    made.style.left = `${part * 25}%`;
    return made;
  }));
  const breaks = shown.scale.breaks;
  if (breaks.length) {
    ticks.classList.add("broken");
    ticks.append(...breaks.map(([from, to, seconds]) => {
      const made = make("i", { title: "drawn shorter than it was" }, `// ${duration(seconds)}`);
      made.style.left = `${50 * (from + to)}%`;
      return made;
    }));
  }
  box.append(make("div", { class: "axis" }, make("span", {}), ticks));
  const lanes = shown.lanes.slice(0, MOST_LANES);
  for (const lane of lanes) box.append(laneOf(lane, mine, away, zero, until, isCrew));
  if (shown.lanes.length > lanes.length) {
    box.append(make("p", { class: "more" }, `and ${counted(shown.lanes.length - lanes.length, "more lane")}; all are below`));
  }
  const first = box.querySelector(".bar");
  if (first) first.tabIndex = 0;
}

function laneOf(lane, mine, away, zero, until, isCrew) {
  const all = mine.filter((span) => span.lane === lane.lane);
  const within = all.filter((span) => span.kind === "wait" && (byId.get(span.parent) || {}).kind === "attempt");
  const spans = all.filter((span) => !within.includes(span)).slice(0, MOST_BARS);
  const gone = lane.lane === "supervisor" ? away.filter((span) => span.start < until && endOf(span) > zero) : [];
  const rows = Math.max(1, barsOf(spans.concat(gone).sort((a, b) => a.start - b.start)));
  for (const span of within) span.row = (byId.get(span.parent) || { row: 0 }).row || 0;
  const track = make("div", { class: "track" });
  track.style.height = `${rows * ROW}px`;
  for (const span of [...spans, ...gone, ...within]) {
    const left = placeOf(span.start);
    const right = placeOf(endOf(span));
    const what = `${KINDS[span.kind]} ${span.name}, ${span.state}, ${clock(span.start - zero)} for ${duration(endOf(span) - span.start)}${span.critical ? ", on the critical path" : ""}`;
    const bar = make("button", {
      type: "button", tabindex: "-1", title: what, "aria-label": what, onclick: () => open(span.id),
      "data-sign": span.state === "failed" ? "×" : SIGNS[span.kind] || "",
      class: `bar k-${span.kind} s-${span.state}${span.critical ? " critical" : ""}${isCrew(span) ? " crew" : ""}`,
    });
    bar.style.left = `${left * 100}%`;
    bar.style.width = `${Math.max(0, right - left) * 100}%`;
    bar.style.top = `${(span.row || 0) * ROW + 3}px`;
    track.append(bar);
  }
  for (const [from, to] of shown.scale.breaks) {
    const made = make("i", { class: "break" });
    made.style.left = `${50 * (from + to)}%`;
    track.append(made);
  }
  const left = all.length - within.length - spans.length;
  const depth = lane.lane.split("/").length - 1;
  const facts = joined([
    duration(lane.seconds_busy), cost(lane.usage) || tokens(lane.usage),
    lane.seconds_waited >= 1 ? `waited ${duration(lane.seconds_waited)}` : "",
    lane.attempts > 1 ? counted(lane.attempts, "attempt") : "", left > 0 ? `${left} more below` : "",
  ]);
  return make("div", { class: "lane" },
    make("div", {}, make("div", { class: "lane-name" }, `${"› ".repeat(depth)}${lane.lane.split("/").pop()}`), make("div", { class: "lane-facts" }, facts)),
    track);
}

function drawLegend() {
  const entries = [
    ["k-plan", "the supervisor plans, writes", ""], ["k-attempt", "a specialist works", ""],
    ["k-attempt s-failed", "failed", "×"], ["k-wait", "waits for a person", "?"],
    ["k-pause", "pause before a retry", "···"], ["k-away", "nobody at work on it", "–"], ["k-judge", "result looked at", "✓"], ["k-refine", "brief rewritten", "↻"],
    ["k-attempt critical", "critical path: the end waited for it", ""],
  ];
  document.getElementById("legend").append(...entries.map(([name, words, sign]) => make("li", {},
    make("span", { class: `bar ${name}`, "data-sign": sign, "aria-hidden": "true" }), words)));
}

document.getElementById("waterfall").addEventListener("keydown", (event) => {
  const bars = [...event.currentTarget.querySelectorAll(".bar")];
  const at = bars.indexOf(document.activeElement);
  if (at < 0) return;
  const lane = (bar) => bar.closest(".lane");
  const lanes = [...event.currentTarget.querySelectorAll(".lane")].filter((one) => one.querySelector(".bar"));
  const beside = (step) => {
    const other = lanes[lanes.indexOf(lane(bars[at])) + step];
    return other && other.querySelector(".bar");
  };
  const next = { ArrowRight: bars[at + 1], ArrowLeft: bars[at - 1], ArrowDown: beside(1), ArrowUp: beside(-1), Home: bars[0], End: bars[bars.length - 1] }[event.key];
  if (!next) return;
  event.preventDefault();
  for (const bar of bars) bar.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});
