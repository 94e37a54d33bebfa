// Files under a message: pictures as pictures, anything else as a card.
import { canRead, read } from "./canvas.js";
import { el } from "./dom.js";
import { enlarge } from "./dialogs.js";
import { icon } from "./icons.js";

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const UNITS = ["bytes", "kB", "MB", "GB"];
const TABLES = /\.(csv|tsv|xlsx?|parquet|json|ods)$/i;

/** A size in bytes as people say it. */
export function sizeOf(bytes) {
  if (!Number.isFinite(bytes)) return "";
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit && value < 10 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

export function fileAddress(file) {
  return `/local/files/${encodeURIComponent(file.id)}`;
}

export function fileCard(file) {
  if (file.mode === "tombstone") return el("div", { class: "file gone" }, "This file was deleted.");
  return PICTURES.has(file.mimetype) ? picture(file) : card(file);
}

function picture(file) {
  const address = fileAddress(file);
  return el(
    "figure",
    { class: "file-picture", data: { testid: "file", file: file.id, name: file.name } },
    el("figcaption", {}, el("span", { class: "file-name" }, file.title || file.name), download(file)),
    el("button", { class: "picture", type: "button", "aria-label": `Enlarge ${file.name}`, onclick: () => enlarge(address, file.name) }, el("img", { src: address, alt: file.alt_txt || file.title || file.name })),
  );
}

function card(file) {
  const kind = file.mimetype === "application/vnd.slack-docs" ? "Canvas" : (file.name?.split(".").pop() ?? "").slice(0, 5).toUpperCase();
  const name = file.title || file.name || "Untitled";
  const open = canRead(file) ? { type: "button", class: "file-name open", title: "Read it here", onclick: () => read(file.id, name) } : null;
  return el(
    "div",
    { class: "file-card", data: { testid: "file", file: file.id, name: file.name } },
    el("span", { class: `file-icon kind-${TABLES.test(file.name ?? "") ? "table" : "text"}` }, icon(TABLES.test(file.name ?? "") ? "table" : "file", 22)),
    el("span", { class: "file-words" }, open ? el("button", open, name) : el("span", { class: "file-name" }, name), el("span", { class: "muted" }, [kind, sizeOf(file.size)].filter(Boolean).join(" · "))),
    download(file),
  );
}

function download(file) {
  return el("a", { class: "icon-button", href: fileAddress(file), download: file.name ?? "", "aria-label": `Download ${file.name}`, title: "Download" }, icon("download", 18));
}
