// Line icons on a 20 x 20 grid, drawn here so that the page needs no font and no network.
import { svg } from "./dom.js";

const PATHS = {
  lock: "M5.5 9h9v7.5h-9zM7.5 9V6.5a2.5 2.5 0 0 1 5 0V9",
  hash: "M8 3 6 17M14 3l-2 14M3.5 7.5h13M3 12.5h13",
  chat: "M3.5 4.5h13v9H9l-3.5 3v-3h-2z",
  menu: "M3.5 5.5h13M3.5 10h13M3.5 14.5h13",
  smile: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM7.4 8v.6M12.6 8v.6M6.8 11.4a3.6 3.6 0 0 0 6.4 0",
  more: "M5 10h.01M10 10h.01M15 10h.01",
  plus: "M10 4v12M4 10h12",
  close: "M5 5l10 10M15 5 5 15",
  down: "M5 8l5 5 5-5",
  right: "M8 5l5 5-5 5",
  download: "M10 3v9.5M6 9l4 4 4-4M4 16.5h12",
  file: "M5 2.5h6.5L15 6v11.5H5zM11.5 2.5V6H15",
  play: "M6.5 4v12L16 10z",
  table: "M3.5 4.5h13v11h-13zM3.5 8.2h13M3.5 11.9h13M8 4.5v11",
  eye: "M2 10s3-5 8-5 8 5 8 5-3 5-8 5-8-5-8-5ZM10 12.3a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6Z",
  check: "M5 10.5l3.2 3.2L15 7",
  warning: "M10 3.5 17.5 16h-15zM10 8v4M10 14.2v.1",
  info: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM10 9.5v4M10 6.6v.1",
  up: "M7 9V17H4.5V9zM7 9l3-6c1.4 0 2 .9 2 2v2.5h3.6a1.4 1.4 0 0 1 1.4 1.7l-1.2 6A1.8 1.8 0 0 1 14 17H7",
  thumbdown: "M7 11V3H4.5v8zM7 11l3 6c1.4 0 2-.9 2-2v-2.5h3.6a1.4 1.4 0 0 0 1.4-1.7l-1.2-6A1.8 1.8 0 0 0 14 3H7",
  trash: "M4 5.5h12M8 5.5V3.5h4v2M5.5 5.5l.7 11h7.6l.7-11M8.5 8.5v5M11.5 8.5v5",
  people: "M7.5 9.5a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4ZM2.5 16c.3-3 2.3-4.5 5-4.5s4.7 1.5 5 4.5M13 4.3a2.6 2.6 0 0 1 0 5M14.5 11.8c1.8.5 2.8 2 3 4.2",
  bolt: "M11 2.5 4.5 11H9.5l-.5 6.5L15.5 9h-5z",
  pencil: "M4 16l.8-3.5L13 4.3l2.7 2.7-8.2 8.2z",
  copy: "M7 7h9.5v9.5H7zM13 7V3.5H3.5V13H7",
  refresh: "M16 6.5V3.5M16 6.5h-3M16 6.5A7 7 0 1 0 17 10.5",
  traffic: "M6.5 16V4M3.5 7l3-3 3 3M13.5 4v12M10.5 13l3 3 3-3",
  link: "M8.5 11.5l3-3M7 8.5 4.9 10.6a3.2 3.2 0 0 0 4.5 4.5L11.5 13M13 11.5l2.1-2.1a3.2 3.2 0 0 0-4.5-4.5L8.5 7",
};

const SOLID = {
  send: "M3 3.3 17.5 10 3 16.7l1.6-5.5L11 10 4.6 8.8z",
  stop: "M6 6h8v8H6z",
};

/** The icon of that name; decoration only, so it is hidden from screen readers. */
export function icon(name, size = 20) {
  const path = PATHS[name]
    ? { d: PATHS[name], fill: "none", stroke: "currentColor", "stroke-width": 1.6, "stroke-linecap": "round", "stroke-linejoin": "round" }
    : { d: SOLID[name] ?? PATHS.info, fill: "currentColor" };
  if (name === "more") path["stroke-width"] = 2.4;
  const frame = { viewBox: "0 0 20 20", width: size, height: size, class: "icon", "aria-hidden": "true" };
  return svg("svg", frame, svg("path", path));
}

/** The mark of a task's state: a ring, a spinner, a tick or a cross. */
export function statusIcon(status) {
  const frame = { viewBox: "0 0 20 20", width: 18, height: 18, class: `status-icon ${status}`, "aria-hidden": "true" };
  const ring = (props) => svg("circle", { cx: 10, cy: 10, r: 7, "stroke-width": 2, fill: "none", ...props });
  const line = (d) => svg("path", { d, fill: "none", stroke: "#fff", "stroke-width": 2, "stroke-linecap": "round", "stroke-linejoin": "round" });
  const disc = () => svg("circle", { cx: 10, cy: 10, r: 8, fill: "currentColor" });
  if (status === "in_progress") {
    const arc = svg("path", { d: "M10 3a7 7 0 0 1 7 7", fill: "none", stroke: "currentColor", "stroke-width": 2, "stroke-linecap": "round" });
    return svg("svg", frame, ring({ class: "track" }), arc);
  }
  if (status === "complete") return svg("svg", frame, disc(), line("M6.3 10.3l2.6 2.6 4.8-5.3"));
  if (status === "error") return svg("svg", frame, disc(), line("M7.2 7.2l5.6 5.6M12.8 7.2l-5.6 5.6"));
  return svg("svg", frame, ring({ stroke: "currentColor", "stroke-dasharray": "2.6 2.1" }));
}
