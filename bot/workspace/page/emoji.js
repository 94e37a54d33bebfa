// Emoji by their Slack names. The ones people meet most are drawn in emoji.svg, because many
// machines have no emoji font; the character stays in the text, so that copying it works.
import { el } from "./dom.js";

/** In the order of the cells of emoji.svg. */
const DRAWN = {
  eyes: "👀", white_check_mark: "✅", "+1": "👍", "-1": "👎", tada: "🎉", heart: "❤️", rocket: "🚀", warning: "⚠️",
  x: "❌", hourglass_flowing_sand: "⏳", question: "❓", bulb: "💡", memo: "📝", bar_chart: "📊", mag: "🔍", octagonal_sign: "🛑",
  speech_balloon: "💬", star: "⭐", fire: "🔥", smile: "😄", wave: "👋", lock: "🔒", link: "🔗", page_facing_up: "📄",
};

const OTHERS = {
  thinking_face: "🤔", joy: "😂", grinning: "😀", slightly_smiling_face: "🙂", wink: "😉", sob: "😭", cry: "😢", heart_eyes: "😍",
  sunglasses: "😎", robot_face: "🤖", clap: "👏", raised_hands: "🙌", pray: "🙏", muscle: "💪", point_right: "👉", point_up: "☝️",
  ok_hand: "👌", sparkles: "✨", zap: "⚡", boom: "💥", "100": "💯", exclamation: "❗", heavy_check_mark: "✔️", no_entry: "⛔",
  stop_sign: "🛑", hourglass: "⌛", stopwatch: "⏱️", clock1: "🕐", calendar: "📅", date: "📅", chart_with_upwards_trend: "📈",
  chart_with_downwards_trend: "📉", clipboard: "📋", books: "📚", book: "📖", pencil2: "✏️", pencil: "📝", paperclip: "📎",
  file_folder: "📁", package: "📦", hammer: "🔨", hammer_and_wrench: "🛠️", wrench: "🔧", gear: "⚙️", bug: "🐛", computer: "💻",
  email: "📧", bell: "🔔", moneybag: "💰", dollar: "💵", globe_with_meridians: "🌐", earth_africa: "🌍", house: "🏠", key: "🔑",
  unlock: "🔓", shield: "🛡️", mega: "📣", loudspeaker: "📢", pushpin: "📌", round_pushpin: "📍", art: "🎨", trophy: "🏆",
  red_circle: "🔴", large_green_circle: "🟢", large_yellow_circle: "🟡", large_blue_circle: "🔵", white_circle: "⚪", black_circle: "⚫",
  arrow_right: "➡️", arrow_left: "⬅️", arrow_up: "⬆️", arrow_down: "⬇️", repeat: "🔁", arrows_counterclockwise: "🔄",
  information_source: "ℹ️", coffee: "☕", pizza: "🍕", cake: "🍰", sunny: "☀️", seedling: "🌱", ghost: "👻", see_no_evil: "🙈",
};

const ALIASES = { thumbsup: "+1", thumbsdown: "-1", thinking: "thinking_face", robot: "robot_face", stop: "octagonal_sign", hourglass_sand: "hourglass_flowing_sand" };

const CELLS = new Map(Object.keys(DRAWN).map((name, index) => [name, index]));
const BY_CHARACTER = new Map(Object.entries(DRAWN).map(([name, character]) => [character.replace("\uFE0F", ""), name]));
const DRAWN_CHARACTERS = new RegExp(`(${[...BY_CHARACTER.keys()].join("|")})\\uFE0F?`, "gu");

/** Names to offer where an emoji is picked: the drawn ones, and the rest where the machine can show them. */
export function pickable() {
  hasFont ??= drawsColour();
  return hasFont ? [...Object.keys(DRAWN), ...Object.keys(OTHERS)] : Object.keys(DRAWN);
}

let hasFont = null;

/** True if an emoji comes out in colour: written in black, a missing one stays black. */
function drawsColour() {
  const pen = Object.assign(document.createElement("canvas"), { width: 20, height: 20 }).getContext("2d");
  pen.font = "16px sans-serif";
  pen.fillText(OTHERS.robot_face, 0, 16);
  const { data } = pen.getImageData(0, 0, 20, 20);
  return data.some((value, index) => index % 4 < 3 && value > 40);
}

/** The emoji of a Slack name, or null where none is known. */
export function emoji(name) {
  const base = name.split("::")[0];
  const known = ALIASES[base] ?? base;
  const character = DRAWN[known] ?? OTHERS[known];
  if (!character) return null;
  const props = { class: "emoji", role: "img", "aria-label": `${known.replaceAll("_", " ")} emoji`, title: `:${base}:` };
  if (!CELLS.has(known)) return el("span", props, character);
  return el("span", { ...props, class: "emoji drawn", style: { "--cell": CELLS.get(known) } }, character);
}

/** The text as nodes, with the emoji that are drawn here shown as such. */
export function withEmoji(text) {
  return text.split(DRAWN_CHARACTERS).map((part, index) => (index % 2 ? emoji(BY_CHARACTER.get(part)) : part));
}
