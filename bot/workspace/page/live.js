// The connection to the workspace: one WebSocket for what happens, and POST for what the person does.
import { state } from "./state.js";

const RETRY_MS = [250, 500, 1000, 2000, 4000];

let socket = null;
let tries = 0;

/** Connects as that user ("": the first one), and again whenever the connection is lost. */
export function connect(user, onEvent, onState) {
  socket?.close();
  const query = user ? `?as=${encodeURIComponent(user)}` : "";
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const mine = new WebSocket(`${scheme}://${location.host}/local/live${query}`);
  socket = mine;
  mine.onmessage = (event) => {
    if (mine !== socket) return;
    tries = 0;
    onEvent(JSON.parse(event.data));
  };
  mine.onclose = () => {
    if (mine !== socket) return;
    onState(false);
    isRefused().then((refused) => mine === socket && onState(false, refused));
    const wait = RETRY_MS[Math.min(tries, RETRY_MS.length - 1)];
    tries += 1;
    setTimeout(() => mine === socket && connect(user, onEvent, onState), wait);
  };
  mine.onopen = () => mine === socket && onState(true);
}

/** Resolves to true if the workspace is there and does not know this page: it was started again without its data. */
async function isRefused() {
  try {
    return (await fetch("/", { method: "HEAD", cache: "no-store" })).status === 403;
  } catch {
    return false;
  }
}

/** POST /local/NAME as the current person. Always resolves: {ok: true, ...} or {ok: false, error}. */
export async function post(name, body = {}) {
  const request = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ as: state.me, ...body }),
  };
  return answer(fetch(`/local/${name}`, request));
}

/** Uploads one File. Resolves to {ok: true, file} or {ok: false, error}. */
export async function upload(file) {
  const form = new FormData();
  form.append("as", state.me);
  form.append("file", file, file.name || "pasted.png");
  return answer(fetch("/local/upload", { method: "POST", body: form }));
}

async function answer(pending) {
  try {
    const response = await pending;
    const type = response.headers.get("Content-Type") ?? "";
    if (response.status === 403) return { ok: false, error: "This page belongs to an earlier run of the workspace." };
    if (!type.includes("json")) return { ok: false, error: `The workspace answered ${response.status}.` };
    return await response.json();
  } catch {
    return { ok: false, error: "The workspace does not answer. Is it still running?" };
  }
}
