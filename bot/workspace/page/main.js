// The page: what happens in the workspace goes into the state, and the state is drawn.
import { channelComposer, drawChannel, forgetPanes } from "./channel_pane.js";
import { fileOfLink, read } from "./canvas.js";
import { takeDrops } from "./composer.js";
import { note } from "./dialogs.js";
import { placeOfLink } from "./entities.js";
import { answered, forgetAsked } from "./follow.js";
import { drawInspector, reloadTraffic, takeTraffic } from "./inspector.js";
import { connect, post } from "./live.js";
import { readOutputs } from "./sheets.js";
import { closeSidebar, drawSidebar } from "./sidebar.js";
import { appOf, changed, channelOf, forget, onChange, remove, state, threadKey, upsert } from "./state.js";
import { closeThread, drawThread, forgetThreads, threadComposer } from "./thread_pane.js";
import { count, recall, see } from "./unread.js";
import { closeAllViews, closeView, openView, pushView, showErrors, updateView } from "./views.js";

const EARLIER = "This page belongs to an earlier run of the workspace. Open the address that the workspace printed last.";
const REMEMBERED = "workspace-act-as"; // per tab, so that two tabs can be two people

const events = {
  hello,
  message: ({ channel, message }) => {
    if (!upsert(channel, message)) return;
    count(channel, message);
    answered(channel, message);
  },
  deleted: ({ channel, ts }) => remove(channel, ts),
  ephemeral: ({ channel, thread_ts: thread, message }) => upsert(channel, { ...message, thread_ts: thread || message.thread_ts, ephemeral: true }),
  status: ({ channel, thread_ts: thread, ...status }) => state.statuses.set(threadKey(channel, thread), status),
  session: ({ channel, thread_ts: thread, status, title }) => setSession(channel, thread, { status, title }),
  view_open: ({ view }) => openView(view),
  view_push: ({ view }) => pushView(view),
  view_update: ({ view }) => updateView(view),
  view_close: ({ view_id: id }) => closeView(id),
  view_errors: ({ view_id: id, errors }) => showErrors(id, errors),
  members: ({ channel, members }) => {
    const known = channelOf(channel);
    if (known) known.members = members;
    else if (members.includes(state.me)) start(state.me); // a channel that is new here: all is told again
  },
  topic: ({ channel, topic }) => channelOf(channel) && (channelOf(channel).topic = topic),
  home: ({ view }) => state.homes.set(view.app_id, view),
  prompts: ({ channel, thread_ts: thread, prompts }) => state.prompts.set(thread ? threadKey(channel, thread) : channel, prompts),
  step: ({ title, outputs, error }) => (error ? note(`${title} failed: ${error}`, "error") : note([`${title} is done.`, ...readOutputs(outputs)].join(" "))),
  notice: ({ text }) => (state.workspace.notice = text),
  error: ({ text }) => note(text, "error"),
};

function hello({ workspace, me }) {
  const same = state.me === me;
  if (!same) {
    forget();
    forgetPanes();
    forgetThreads();
    forgetAsked();
    closeAllViews();
  }
  state.loaded.clear(); // what happened while the connection was lost
  state.workspace = workspace;
  state.me = me;
  state.ready = true;
  reloadTraffic();
  sessionStorage.setItem(REMEMBERED, me);
  if (!channelOf(state.channel)) route();
  if (!channelOf(state.channel)) {
    const general = workspace.channels.find((channel) => channel.name === "general") ?? workspace.channels[0];
    state.channel = general?.id ?? "";
    state.thread = "";
  }
  recall();
}

function setSession(channel, thread, session) {
  const key = threadKey(channel, thread);
  const known = state.sessions.get(key);
  // The same object as long as nothing changed: rows compare it to see whether to redraw.
  if (known?.status === session.status && known?.title === session.title) return;
  state.sessions.set(key, session);
}

let looked = ""; // what the app was last told that the person has open

/** Tells the workspace what the person opened, which an agent gets with their next direct message. */
function look() {
  const { channel, thread, me } = state;
  const open = `${me}/${channel}/${thread}`;
  if (!state.connected || channelOf(channel)?.is_im || open === looked) return;
  looked = open;
  post("look", thread ? { channel, thread_ts: thread } : { channel });
}

/** Fetches what the screen needs and is not here yet. */
function load() {
  if (!state.ready || !state.connected) return;
  const { channel, thread, tab, me } = state;
  once(channel, () => loadChannel(channel, me));
  if (thread) once(threadKey(channel, thread), () => loadThread(channel, thread, me));
  if (tab !== "home" || !channelOf(channel)?.is_im) return;
  const app = appOf(channelOf(channel)).app_id;
  once(`home ${app}`, () => loadHome(app, me));
}

function once(key, fetchIt) {
  if (!key || state.loaded.has(`asked ${key}`)) return;
  state.loaded.add(`asked ${key}`);
  fetchIt();
}

async function loadChannel(channel, me) {
  await receive(channel, post("history", { channel }), me);
  state.loaded.add(channel);
  changed();
}

async function loadThread(channel, ts, me) {
  const key = threadKey(channel, ts);
  const session = state.sessions.get(key);
  const status = state.statuses.get(key);
  const answer = await receive(channel, post("thread", { channel, ts }), me);
  if (!answer) return;
  // What was told live while the answer was under way is newer than the answer.
  if (answer.session?.status && state.sessions.get(key) === session) setSession(channel, ts, answer.session);
  if (answer.status && state.statuses.get(key) === status) {
    state.statuses.set(key, typeof answer.status === "string" ? { status: answer.status } : answer.status);
  }
  changed();
}

async function loadHome(app, me) {
  const before = state.homes.get(app);
  const answer = await post("home", { app });
  if (state.me !== me) return;
  if (!answer.ok) note(`App Home did not open: ${answer.error}`, "error");
  // The app may have published a newer one while the answer was under way.
  if (state.homes.get(app) === before) state.homes.set(app, answer.view ?? {});
  changed();
}

/** Keeps the messages of an answer, but for those that changed while it was under way. */
async function receive(channel, pending, me) {
  const before = new Map(state.messages.get(channel) ?? []);
  const answer = await pending;
  if (state.me !== me) return null;
  if (!answer.ok) {
    note(`The messages could not be read: ${answer.error}`, "error");
    return null;
  }
  const now = state.messages.get(channel) ?? new Map();
  for (const message of answer.messages) {
    if (now.get(message.ts) === before.get(message.ts)) upsert(channel, message);
  }
  changed();
  return answer;
}

function draw() {
  const offline = document.getElementById("offline");
  offline.hidden = state.connected || !(state.ready || state.refused);
  offline.textContent = state.refused ? EARLIER : "Connection lost. Trying again…";
  if (!state.ready) return;
  see();
  const notice = document.getElementById("notice");
  notice.textContent = state.workspace.notice ?? "";
  notice.hidden = !notice.textContent;
  drawSidebar(actAs);
  drawChannel();
  drawThread();
  drawInspector();
  const address = `#/${[state.channel, state.thread].filter(Boolean).join("/")}`;
  if (location.hash !== address) history.replaceState(null, "", address);
  look();
  load();
}

function route() {
  const [, channel = "", thread = ""] = location.hash.split("/");
  if (!channelOf(channel)) return;
  state.channel = channel;
  state.thread = /^\d+\.\d+$/.test(thread) ? thread : "";
  changed();
}

function actAs(user) {
  if (user === state.me) return;
  state.sidebar = false;
  state.channel = channelOf(state.channel)?.is_im ? "" : state.channel;
  state.thread = state.channel ? state.thread : "";
  start(user);
}

function start(user) {
  connect(
    user,
    (event) => {
      if (event.type === "traffic" && !takeTraffic(event.entry)) return; // nothing of it shows
      events[event.type]?.(event);
      changed();
    },
    (connected, refused = false) => {
      state.connected = connected;
      state.refused = refused;
      changed();
    },
  );
}

onChange(draw);
window.addEventListener("hashchange", route);
window.addEventListener("keydown", (event) => {
  const free = !document.querySelector("dialog[open], :popover-open");
  if (event.key !== "Escape" || event.defaultPrevented || !free) return;
  if (state.sidebar) closeSidebar();
  else if (document.getElementById("thread-pane").contains(document.activeElement)) closeThread();
});
// Links to messages and files of this workspace, a canvas say, are followed in place.
window.addEventListener("click", (event) => {
  const target = event.target.closest?.("a[target=_blank]");
  const file = target ? fileOfLink(target.href) : null;
  const place = target ? placeOfLink(target.href) : null;
  if (!file && !place) return;
  event.preventDefault();
  if (file) read(file, target.textContent);
  else location.hash = place;
});
// If the sidebar lies over the page, a click beside it closes it, and so does Escape.
document.getElementById("app").addEventListener("click", (event) => state.sidebar && !event.target.closest("#sidebar, .sidebar-button") && closeSidebar());
// A file dropped beside the panes would replace the page.
for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => event.preventDefault());
takeDrops(document.getElementById("channel-pane"), channelComposer);
takeDrops(document.getElementById("thread-pane"), threadComposer);
start(sessionStorage.getItem(REMEMBERED) ?? "");
