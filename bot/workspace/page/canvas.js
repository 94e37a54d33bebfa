// Reading a file of the workspace in place: canvases and Markdown as pages, other text as it is.
import { note, settle } from "./dialogs.js";
import { el } from "./dom.js";
import { icon } from "./icons.js";
import { markdown } from "./markdown.js";

const CANVAS = "application/vnd.slack-docs";
const MOST = 200_000; // characters; the rest is there in the download

export const canRead = (file) => file.mimetype === CANVAS || Boolean(file.mimetype?.startsWith("text/"));

/** The id of the file that a permalink of this workspace leads to, or null. */
export function fileOfLink(address) {
  const url = new URL(address, location.origin);
  const found = /^\/files\/[^/]+\/([A-Za-z0-9_-]+)(?:\/|$)/.exec(url.pathname);
  return url.origin === location.origin && found ? found[1] : null;
}

/** Shows the file; what is not text is downloaded instead. */
export async function read(id, title) {
  const address = `/local/files/${encodeURIComponent(id)}`;
  const response = await fetch(address);
  if (!response.ok) return note(`${title} is gone.`, "error");
  const type = (response.headers.get("Content-Type") ?? "").split(";")[0];
  if (!canRead({ mimetype: type })) return location.assign(address);
  const text = await response.text();
  const shown = text.slice(0, MOST);
  const page = type === CANVAS || type === "text/markdown" ? el("div", { class: "markdown" }, markdown(shown)) : el("pre", {}, shown);
  return show(title, address, page, text.length > MOST);
}

function show(title, address, page, cut) {
  const close = () => {
    dialog.close();
    dialog.remove();
    settle();
  };
  const dialog = el(
    "dialog",
    { class: "sheet wide", "aria-label": title, data: { testid: "canvas" }, oncancel: close },
    el(
      "header",
      {},
      el("h2", {}, title),
      el("a", { class: "icon-button", href: address, download: title, "aria-label": `Download ${title}`, title: "Download" }, icon("download", 18)),
      el("button", { class: "quiet", type: "button", "aria-label": "Close", onclick: close }, icon("close")),
    ),
    el("div", { class: "sheet-body canvas", tabindex: 0 }, page, cut ? el("p", { class: "muted" }, "The rest is in the download.") : null),
  );
  document.body.append(dialog);
  dialog.showModal();
}
