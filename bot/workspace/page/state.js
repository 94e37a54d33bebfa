// The page's state: the workspace, its messages, and which of them are on screen.
// Everything that changes it calls `changed()`, which draws once for a burst of changes.

export const state = {
  connected: false,
  refused: false, // the workspace is there, but does not know this page
  ready: false,
  me: "",
  workspace: { team: { id: "", name: "" }, bot: { user_id: "", name: "" }, apps: [], people: [], bots: [], groups: [], channels: [], commands: [], shortcuts: [], steps: [], notice: "" },
  channel: "",
  thread: "",
  tab: "messages",
  messages: new Map(), // channel -> Map(ts -> message)
  loaded: new Set(), // channels and channel/thread pairs whose history is here
  sessions: new Map(), // channel/thread -> {status, title}
  statuses: new Map(), // channel/thread -> {status, loading_messages}
  prompts: new Map(), // channel or channel/thread -> [{title, message}]
  unread: new Map(), // channel -> {mentions, after}, after being the ts that was read last
  fresh: { channel: "", after: "" }, // the channel on screen, and after which ts its messages were new
  editing: null, // {channel, ts} of the message that is being changed
  sidebar: false, // whether it is open where there is no room for it
  homes: new Map(), // app_id -> what the person sees at its home
};

let draw = () => {};
let due = false;

export function onChange(callback) {
  draw = callback;
}

/** Draws soon, and once for all changes until then. A timer, not a frame: hidden tabs keep up too. */
export function changed() {
  if (due) return;
  due = true;
  setTimeout(() => {
    due = false;
    draw();
  }, 12);
}

export const threadKey = (channel, ts) => `${channel}/${ts}`;

export function channelOf(id) {
  return state.workspace.channels.find((channel) => channel.id === id);
}

/** The app at the other end of a direct message; elsewhere the first one. */
export function appOf(channel) {
  return state.workspace.apps.find((app) => app.user_id === channel?.bot) ?? state.workspace.bot;
}

/** The app that works in a thread: the one that wrote in it last. */
export function appIn(channel, ts) {
  const author = threadOf(channel, ts).findLast((message) => isApp(message.user))?.user;
  return state.workspace.apps.find((app) => app.user_id === author) ?? appOf(channelOf(channel));
}

/** True for the bot user of an app that runs here. */
export function isApp(id) {
  return state.workspace.apps.some((app) => app.user_id === id);
}

/** Returns the channel's name, or for a direct message who is at its other end. */
export function channelTitle(channel) {
  if (channel.is_im) return appOf(channel).name;
  if (channel.kind !== "mpim") return channel.name;
  return channel.members.filter((id) => id !== state.me && !isApp(id)).map(handleOf).join(", ");
}

/** The channel's name as people write it: with its sign, unless it is a conversation of people. */
export function channelName(channel) {
  return channel.is_im || channel.kind === "mpim" ? channelTitle(channel) : `#${channel.name}`;
}

export function personOf(id) {
  return [...state.workspace.people, ...state.workspace.bots].find((person) => person.id === id);
}

/** The name to show for a user id; the id itself where nobody is known by it. */
export function nameOf(id) {
  const app = state.workspace.apps.find((one) => one.user_id === id);
  if (app) return app.name;
  if (id === "USLACKBOT") return "Slackbot"; // whose name stands over a deleted message
  const person = personOf(id);
  return person ? person.real_name || person.name : id;
}

/** The name people type behind an @. */
export function handleOf(id) {
  const app = state.workspace.apps.find((one) => one.user_id === id);
  if (app) return app.name;
  return personOf(id)?.name ?? id;
}

export function isBot(message) {
  return isApp(message.user) || state.workspace.bots.some((bot) => bot.id === message.user) || (!message.user && Boolean(message.bot_id));
}

export function isReply(message) {
  return Boolean(message.thread_ts) && message.thread_ts !== message.ts;
}

function messagesOf(channel) {
  if (!state.messages.has(channel)) state.messages.set(channel, new Map());
  return state.messages.get(channel);
}

/** Keeps a message, new or changed. Returns whether it was new. */
export function upsert(channel, message) {
  const known = messagesOf(channel);
  const fresh = !known.has(message.ts);
  known.set(message.ts, message);
  return fresh;
}

export function remove(channel, ts) {
  messagesOf(channel).delete(ts);
}

const byTime = (one, other) => Number(one.ts) - Number(other.ts) || (one.ts < other.ts ? -1 : 1);

/** The messages of a channel's own list, oldest first. */
export function rootsOf(channel) {
  return [...messagesOf(channel).values()]
    .filter((message) => !isReply(message) || message.subtype === "thread_broadcast")
    .sort(byTime);
}

/** A thread: its root first, then the replies, oldest first. */
export function threadOf(channel, ts) {
  return [...messagesOf(channel).values()]
    .filter((message) => message.ts === ts || message.thread_ts === ts)
    .sort(byTime);
}

export function messageOf(channel, ts) {
  return messagesOf(channel).get(ts);
}

/** Forgets what belongs to one person, for the page is about to act as somebody else. */
export function forget() {
  for (const part of ["messages", "loaded", "sessions", "statuses", "prompts", "unread"]) state[part].clear();
  state.homes.clear();
  state.editing = null;
  state.fresh = { channel: "", after: "" };
}

/** True while work goes on in a thread's session, so that it can be stopped. An "active" one is at rest. */
export function isBusy(session) {
  return session?.status === "processing";
}
