// The beginning of a conversation, and in an empty one how to start.
import { note } from "./dialogs.js";
import { el } from "./dom.js";
import { icon } from "./icons.js";
import { post } from "./live.js";
import { avatar, channelSign } from "./people.js";
import { appOf, channelName, state, threadKey } from "./state.js";

/** The beginning of a channel: always its name, and while it is empty how to start. */
export function welcome(channel, empty, composer) {
  const bot = appOf(channel);
  const name = channelName(channel);
  const face = channel.is_im ? avatar(bot.user_id, "large") : el("span", { class: "welcome-face" }, channelSign(channel, 30));
  const line = channel.is_im ? `This is your direct message with ${bot.name}. Only the two of you see it.` : `This is the very beginning of ${name}. ${whoSees(channel)}`;
  const steps = empty && channel.members.includes(bot.user_id) ? start(channel, composer) : null;
  return el("div", { class: "welcome", key: "welcome", data: { testid: "welcome" } }, face, el("h3", {}, name), el("p", { class: "muted" }, line), steps);
}

function whoSees(channel) {
  if (channel.shared) return "Its members see it, including those from another workspace.";
  return channel.kind === "channel" ? "Everybody in the workspace sees it." : "Only its members see it.";
}

function start(channel, composer) {
  const { drafts } = state.workspace;
  const bot = appOf(channel);
  const ask = channel.is_im ? "Write what you need" : [el("strong", {}, `Mention @${bot.name}`), " and say what you need"];
  const mention = () => {
    if (!composer.area.value.includes(`@${bot.name}`)) composer.insert(`@${bot.name} `);
    else composer.focus();
  };
  return el(
    "div",
    { class: "start", data: { testid: "start-hint" } },
    el("p", {}, el("strong", {}, "Start here")),
    el(
      "ol",
      {},
      el("li", {}, ask, ". It answers in a thread, where you can watch it work."),
      el("li", {}, el("strong", {}, "Attach a file"), " with the plus sign, by dropping it here or by pasting it."),
      el("li", {}, "Answer its questions with the buttons or a reply. ", el("strong", {}, "Stop"), " ends the work."),
    ),
    el(
      "div",
      { class: "actions" },
      channel.is_im ? null : el("button", { type: "button", class: "button solid primary", data: { testid: "start-mention" }, onclick: mention }, `Mention @${bot.name}`),
      ...drafts.map((draft, number) => offer(composer, bot, draft, number)),
    ),
  );
}

/** A button that fills in a message, or attaches its files, or (where it has neither) lets one choose a file of one's own. */
function offer(composer, bot, draft, number) {
  const kind = draft.text ? "draft" : draft.files.length ? "sample" : "own";
  const take = kind === "own" ? () => composer.picker.click() : () => fillIn(composer, bot, draft, number);
  return el("button", { type: "button", class: "button", data: { testid: `start-${kind}` }, onclick: take }, icon(draft.files.length || kind === "own" ? "file" : "play", 18), draft.label);
}

async function fillIn(composer, bot, draft, number) {
  const found = await Promise.all(draft.files.map((_, file) => fetch(`/local/draft/${number}/${file}`)));
  if (found.some((response) => !response.ok)) return note("One of its files is missing from this installation.", "error");
  const files = await Promise.all(found.map(async (response, file) => new File([await response.blob()], draft.files[file])));
  if (draft.text && !composer.area.value.includes(draft.text)) composer.insert(`@${bot.name} ${draft.text}`);
  return composer.add(files);
}

/** Returns the app's suggested prompts as buttons; a click sends one and calls `sent(answer)`. */
export function prompts(channel, thread, sent = () => {}) {
  const found = state.prompts.get(thread ? threadKey(channel, thread) : channel) ?? [];
  if (!found.length) return null;
  const send = async (prompt) => {
    const place = thread ? { channel, thread_ts: thread } : { channel };
    const answer = await post("say", { ...place, text: prompt.message, files: [] });
    if (!answer.ok) return note(`The message was not sent: ${answer.error}`, "error");
    return sent(answer);
  };
  const buttons = found.map((prompt) => el("button", { type: "button", class: "prompt", title: prompt.message, data: { testid: "prompt" }, onclick: () => send(prompt) }, prompt.title));
  return el("div", { class: "prompts", role: "group", "aria-label": "Suggestions" }, buttons);
}
