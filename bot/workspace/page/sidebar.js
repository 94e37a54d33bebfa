// The sidebar: the workspace, its channels, the app, and whom the page acts as.
import { el, morphChildren } from "./dom.js";
import { icon } from "./icons.js";
import { avatar, badge, channelSign } from "./people.js";
import { changed, channelTitle, nameOf, personOf, state } from "./state.js";

export function drawSidebar(actAs) {
  const { channels, team } = state.workspace;
  const app = document.getElementById("app");
  const opens = state.sidebar && !app.classList.contains("with-sidebar");
  app.classList.toggle("with-sidebar", state.sidebar);
  document.getElementById("team").textContent = team.name;
  const apps = channels.filter((channel) => channel.is_im);
  const list = (chosen) => el("ul", {}, chosen.map(entry));
  morphChildren(document.getElementById("channels"), [
    el("h2", {}, "Channels"),
    list(channels.filter((channel) => !channel.is_im)),
    ...(apps.length ? [el("h2", {}, "Apps"), list(apps)] : []),
  ]);
  drawPerson(actAs);
  // After the drawing, never on a timer: Escape pressed at once has closed it by then, and the focus stays with its button.
  if (opens) document.querySelector("#sidebar [aria-current]")?.focus();
}

function entry(channel) {
  const current = channel.id === state.channel;
  const unread = current ? null : state.unread.get(channel.id);
  const open = () => {
    state.channel = channel.id;
    state.thread = "";
    state.sidebar = false;
    changed();
  };
  const props = {
    type: "button",
    class: `channel${unread ? " unread" : ""}`,
    "aria-current": current ? "page" : null,
    data: { testid: "channel", name: channelTitle(channel), channel: channel.id },
    onclick: open,
  };
  const face = channelSign(channel, 16);
  return el("li", {}, el("button", props, face, el("span", { class: "channel-name" }, channelTitle(channel)), channel.shared ? badge("Shared", "kind") : null, unread ? el("span", { class: "visually-hidden" }, "unread") : null, unread?.mentions ? badge(String(unread.mentions), "count") : null));
}

export function closeSidebar() {
  state.sidebar = false;
  changed();
  document.querySelector(".sidebar-button")?.focus();
}

/** Opens the sidebar where there is no room to show it beside the rest. */
export function sidebarButton() {
  const open = () => {
    state.sidebar = true;
    changed();
  };
  return el("button", { type: "button", class: "quiet sidebar-button", "aria-label": "Channels", "aria-expanded": String(state.sidebar), data: { testid: "sidebar-button" }, onclick: open }, icon("menu"));
}

function label(id) {
  const kind = personOf(id)?.kind;
  return kind ? `${nameOf(id)} (${kind})` : nameOf(id);
}

function drawPerson(actAs) {
  const box = document.getElementById("person");
  morphChildren(box, [
    avatar(state.me),
    el(
      "label",
      {},
      el("span", { class: "act-as-label" }, "You act as"),
      el("select", { data: { testid: "act-as" }, "aria-label": "Act as", onchange: (event) => actAs(event.target.value) }, state.workspace.people.map((person) => el("option", { value: person.id }, label(person.id)))),
    ),
  ]);
  const select = box.querySelector("select");
  if (select.value !== state.me) select.value = state.me;
}
