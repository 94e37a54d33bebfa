// The `data_visualization` block: bars, lines, areas and pies, drawn as SVG.
import { el, svg } from "./dom.js";

const EDGE = { top: 12, right: 12, bottom: 30, left: 44 };
const COLOURS = 12;

const shown = (value) => (Number.isFinite(value) ? value.toLocaleString("en", { maximumFractionDigits: 2 }) : "");
const compact = (value) => value.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 });
const colour = (index) => `chart-colour-${index % COLOURS}`;
const said = (text) => svg("title", {}, text);

export function chart(block) {
  const kind = block.chart?.type;
  const draw = { pie, bar: plot, line: plot, area: plot }[kind];
  if (!draw) return el("pre", {}, JSON.stringify(block, null, 2));
  return el("figure", { class: "chart", "aria-label": `${block.title}, a ${kind} chart` }, el("figcaption", {}, block.title), draw(block.chart), numbers(block.chart));
}

/** The same as a table, for who cannot see it. */
function numbers(data) {
  const pairs = data.segments ? [["", data.segments]] : data.series.map((one) => [one.name, one.data]);
  const lines = pairs.map(([name, points]) => `${name ? `${name}: ` : ""}${points.map((point) => `${point.label} ${shown(point.value)}`).join(", ")}`);
  return el("div", { class: "visually-hidden" }, lines.join(". "));
}

function legend(names) {
  if (names.length < 2) return null;
  return el("ul", { class: "chart-legend" }, names.map((name, index) => el("li", {}, el("span", { class: `chart-key ${colour(index)}` }), name)));
}

// ---------------------------------------------------------------- pies

function pie(data) {
  const total = data.segments.reduce((sum, one) => sum + one.value, 0);
  const [x, y, radius] = [150, 150, 130];
  let at = -Math.PI / 2;
  const slices = data.segments.map((one, index) => {
    const turn = (one.value / total) * 2 * Math.PI;
    const label = `${one.label}: ${shown(one.value)}, ${Math.round((one.value / total) * 100)} %`;
    const from = at;
    at += turn;
    if (turn > 2 * Math.PI - 1e-6) return svg("circle", { cx: x, cy: y, r: radius, class: `chart-fill ${colour(index)}` }, said(label));
    const point = (angle) => `${x + radius * Math.cos(angle)} ${y + radius * Math.sin(angle)}`;
    const path = `M ${x} ${y} L ${point(from)} A ${radius} ${radius} 0 ${turn > Math.PI ? 1 : 0} 1 ${point(at)} Z`;
    return svg("path", { d: path, class: `chart-fill slice ${colour(index)}` }, said(label));
  });
  const keys = data.segments.map((one) => `${one.label} · ${Math.round((one.value / total) * 100)} %`);
  return el("div", { class: "chart-pie" }, svg("svg", { viewBox: "0 0 300 300", role: "img", "aria-hidden": "true" }, slices), legend(keys) ?? el("div", {}, keys));
}

// ---------------------------------------------------------------- bars, lines and areas

/** Letters keep their size: a narrow page gets a smaller picture, not the same one shrunk. */
const size = () => (window.matchMedia("(max-width: 600px)").matches ? [320, 220] : [480, 260]);

function scale(data, height) {
  const values = data.series.flatMap((one) => one.data.map((point) => point.value));
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const rough = (high - low || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((by) => by * power).find((by) => by >= rough);
  const [bottom, top] = [Math.floor(low / step) * step, Math.ceil(high / step) * step];
  const ticks = Array.from({ length: Math.round((top - bottom) / step) + 1 }, (_, index) => bottom + index * step);
  const y = (value) => EDGE.top + ((top - value) / (top - bottom || 1)) * (height - EDGE.top - EDGE.bottom);
  return { ticks, y };
}

function plot(data) {
  const categories = data.axis_config.categories;
  const [width, height] = size();
  const { ticks, y } = scale(data, height);
  const wide = (width - EDGE.left - EDGE.right) / categories.length;
  const middle = (index) => EDGE.left + wide * (index + 0.5);
  const order = new Map(categories.map((name, index) => [name, index]));
  const lines = ticks.map((tick) => [
    svg("line", { x1: EDGE.left, x2: width - EDGE.right, y1: y(tick), y2: y(tick), class: tick === 0 ? "chart-base" : "chart-rule" }),
    svg("text", { x: EDGE.left - 8, y: y(tick) + 4, class: "chart-text end" }, compact(tick)),
  ]);
  const every = Math.ceil((Math.max(...categories.map((name) => name.length)) * 7 + 12) / wide);
  const names = categories.map((name, index) => (index % every ? null : svg("text", { x: middle(index), y: height - 12, class: "chart-text middle" }, name)));
  const marks = data.series.map((one, index) => (data.type === "bar" ? bars : curve)(one, index, { data, order, wide, middle, y }));
  const { x_label: across = "", y_label: value } = data.axis_config;
  const axes = value && across ? `${value} by ${across.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase())}` : value || across;
  return el(
    "div",
    {},
    axes ? el("div", { class: "muted chart-axes" }, axes) : null,
    svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-hidden": "true" }, lines.flat(), marks.flat(), names),
    legend(data.series.map((one) => one.name)),
  );
}

function bars(one, index, { data, order, wide, y }) {
  const thick = Math.min((wide * 0.75) / data.series.length, 48);
  const from = (wide - thick * data.series.length) / 2;
  return one.data.map((point) => {
    const [top, foot] = [Math.min(y(point.value), y(0)), Math.max(y(point.value), y(0))];
    const x = EDGE.left + order.get(point.label) * wide + from + index * thick;
    const label = `${one.name}, ${point.label}: ${shown(point.value)}`;
    return svg("rect", { x, y: top, width: Math.max(thick - 1, 1), height: Math.max(foot - top, 0.5), class: `chart-fill ${colour(index)}` }, said(label));
  });
}

function curve(one, index, { data, order, middle, y }) {
  const points = [...one.data].sort((a, b) => order.get(a.label) - order.get(b.label)).map((point) => [middle(order.get(point.label)), y(point.value), point]);
  const path = `M ${points.map(([x, at]) => `${x} ${at}`).join(" L ")}`;
  const area = data.type === "area" ? svg("path", { d: `${path} L ${points.at(-1)[0]} ${y(0)} L ${points[0][0]} ${y(0)} Z`, class: `chart-area ${colour(index)}` }) : null;
  const dots = points.map(([x, at, point]) => svg("circle", { cx: x, cy: at, r: 3, class: `chart-fill ${colour(index)}` }, said(`${one.name}, ${point.label}: ${shown(point.value)}`)));
  return [area, svg("path", { d: path, class: `chart-line ${colour(index)}` }), ...dots];
}
