// Menus whose options the app gives while the person types.
import { chip } from "./chips.js";
import { el } from "./dom.js";
import { post } from "./live.js";
import { bare, plain } from "./mrkdwn.js";

const PAUSE_MS = 250;
const LEAST = 3; // characters before the app is asked, where it does not say
let menus = 0;

/** A builder as in inputs.js: chips for what is chosen, a field to type into, and a list of what the app offers. */
export function external(key, initial, many) {
  return (element, changed, { block_id: _block, ...place }) => {
    menus += 1;
    const id = `external-${menus}`;
    const most = many ? (element.max_selected_items ?? Infinity) : 1;
    let chosen = [element[initial] ?? []].flat();
    let asked = 0;
    const chips = el("span", { class: "chips" });
    const list = el("ul", { class: "completion below", role: "listbox", id, hidden: true, "aria-label": "Options" });
    const words = bare(element.placeholder) || "Type to search";
    const area = el("input", { class: "field", type: "text", role: "combobox", autocomplete: "off", placeholder: words, "aria-label": words, "aria-controls": id, "aria-expanded": "false" });
    const close = () => {
      list.hidden = true;
      area.setAttribute("aria-expanded", "false");
    };
    const draw = () => chips.replaceChildren(...chosen.map((option) => chip(bare(option.text), () => ((chosen = chosen.filter((other) => other !== option)), draw(), changed()))));
    const pick = (option) => {
      chosen = [...chosen.filter((other) => many && other.value !== option.value), option].slice(-most);
      area.value = "";
      close();
      draw();
      changed();
    };
    const row = (option) => el("li", { role: "option", tabindex: -1, data: { testid: "external-option" }, onmousedown: (event) => (event.preventDefault(), pick(option)) }, el("span", { class: "label" }, plain(option.text)));
    const show = (rows) => {
      list.replaceChildren(...rows);
      list.firstElementChild?.setAttribute("aria-selected", "true");
      list.hidden = false;
      area.setAttribute("aria-expanded", "true");
      list.scrollIntoView({ block: "nearest" });
    };
    const ask = async () => {
      asked += 1;
      const mine = asked;
      const answer = await post("suggest", { ...place, action_id: element.action_id, value: area.value });
      if (mine !== asked) return;
      const options = answer.ok ? answer.options.flatMap((entry) => entry.options ?? [entry]) : [];
      show(options.length ? options.map(row) : [el("li", { class: "muted" }, answer.ok ? "No results" : answer.error)]);
    };
    let timer = 0;
    area.onfocus = area.oninput = () => {
      clearTimeout(timer);
      if (area.value.length < (element.min_query_length ?? LEAST)) return close();
      timer = setTimeout(ask, PAUSE_MS);
    };
    area.onblur = close;
    area.onkeydown = (event) => {
      if (!list.hidden) onKey(event, list, close);
    };
    draw();
    return [el("span", { class: "several external" }, chips, area, list), () => ({ [key]: many ? [...chosen] : (chosen[0] ?? null) })];
  };
}

function onKey(event, list, close) {
  const rows = [...list.querySelectorAll("[role=option]")];
  const at = rows.findIndex((row) => row.getAttribute("aria-selected") === "true");
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && rows.length) rows.forEach((row, index) => row.setAttribute("aria-selected", String(index === (at + step + rows.length) % rows.length)));
  else if (event.key === "Enter") rows[at]?.dispatchEvent(new MouseEvent("mousedown", { bubbles: true, cancelable: true }));
  else if (event.key === "Escape") close();
  else return;
  event.preventDefault();
  event.stopPropagation();
}
