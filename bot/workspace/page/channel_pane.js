// The middle of the page: a channel with its messages, or the app's tabs.
import { Composer } from "./composer.js";
import { note, popover } from "./dialogs.js";
import { el, morphChildren } from "./dom.js";
import { follow } from "./follow.js";
import { post } from "./live.js";
import { MessageList } from "./message_list.js";
import { avatar, badge, channelSign, kindBadge } from "./people.js";
import { appOf, changed, channelName, channelOf, channelTitle, isApp, nameOf, rootsOf, state } from "./state.js";
import { sidebarButton } from "./sidebar.js";
import { firstNew } from "./unread.js";
import { drawHome } from "./views.js";
import { prompts, welcome } from "./welcome.js";

const panes = new Map(); // channel -> {list, composer, sent, prompts, home}

export function forgetPanes() {
  panes.clear();
}

function paneOf(channel) {
  if (!panes.has(channel.id)) {
    const title = channelName(channel);
    const list = new MessageList(channel.id, `Messages in ${title}`);
    const sent = ({ ts, thread_ts: thread }) => follow(channel.id, ts, thread);
    const composer = new Composer(channel.id, "", `Message ${title}`, () => list.toEnd(), sent);
    panes.set(channel.id, { list, composer, sent, prompts: el("div"), home: el("div", { class: "home-frame" }) });
  }
  return panes.get(channel.id);
}

/** The composer that is on screen, or null. */
export function channelComposer() {
  const channel = channelOf(state.channel);
  return channel && !(channel.is_im && state.tab === "home") ? paneOf(channel).composer : null;
}

export function drawChannel() {
  const channel = channelOf(state.channel);
  if (!channel) return;
  document.title = `${channelTitle(channel)} · Workspace`;
  drawHead(channel);
  const pane = paneOf(channel);
  const body = document.getElementById("channel-body");
  const atHome = channel.is_im && state.tab === "home";
  const wanted = atHome ? [pane.home] : [pane.list.node, pane.prompts, pane.composer.node];
  if (body.firstElementChild !== wanted[0]) {
    body.replaceChildren(...wanted);
    if (!atHome) pane.composer.focus();
  }
  if (atHome) return drawHome(pane.home, appOf(channel));
  const messages = rootsOf(channel.id);
  const complete = state.loaded.has(channel.id);
  pane.list.show(messages, complete ? [welcome(channel, messages.length === 0, pane.composer)] : [], firstNew(channel.id));
  morphChildren(pane.prompts, [channel.is_im ? prompts(channel.id, "", pane.sent) : null]);
}

function drawHead(channel) {
  const title = channel.is_im
    ? [channelSign(channel, 20), el("h2", {}, channelTitle(channel)), badge("APP")]
    : [channelSign(channel, 20), el("h2", {}, channelTitle(channel)), channel.shared ? badge("Shared", "kind") : null, channel.topic ? el("span", { class: "topic" }, channel.topic) : null];
  const side = channel.is_im ? null : membersButton(channel);
  morphChildren(document.getElementById("channel-head"), [sidebarButton(), el("div", { class: "title" }, title), side, channel.is_im ? tabs() : null]);
}

function tabs() {
  const tab = (name, label) => {
    const open = () => {
      state.tab = name;
      changed();
    };
    return el("button", { type: "button", role: "tab", "aria-selected": String(state.tab === name), data: { testid: `tab-${name}` }, onclick: open }, label);
  };
  return el("div", { class: "tabs", role: "tablist", "aria-label": "App" }, tab("home", "Home"), tab("messages", "Messages"));
}

function membersButton(channel) {
  const members = channel.members ?? [];
  return el(
    "button",
    { class: "members", type: "button", "aria-label": `${members.length} members`, "aria-haspopup": "dialog", data: { testid: "members" }, onclick: (event) => showMembers(event.currentTarget, channel.id) },
    members.slice(0, 4).map((id) => avatar(id, "tiny")),
    el("span", {}, String(members.length)),
  );
}

function showMembers(anchor, id) {
  const channel = channelOf(id);
  const change = async (app, inside) => {
    close();
    const answer = await post(inside ? "kick" : "invite", { channel: id, app: app.app_id });
    if (!answer.ok) return note(`The members did not change: ${answer.error}`, "error");
    return note(inside ? `${app.name} was removed from ${channelName(channel)}.` : `${app.name} is in ${channelName(channel)} now.`);
  };
  const people = channel.members.map((member) => el("li", {}, avatar(member, "small"), el("span", {}, nameOf(member)), isApp(member) || state.workspace.bots.some((other) => other.id === member) ? badge("APP") : kindBadge(member)));
  const buttons = state.workspace.apps.map((app) => {
    const inside = channel.members.includes(app.user_id);
    return el("button", { type: "button", class: inside ? "button danger" : "button", data: { testid: inside ? "kick" : "invite" }, onclick: () => change(app, inside) }, inside ? `Remove ${app.name}` : `Add ${app.name}`);
  });
  const close = popover(anchor, el("div", { class: "member-list", role: "dialog", "aria-label": "Members" }, el("h3", {}, "Members"), el("ul", {}, people), buttons));
}
