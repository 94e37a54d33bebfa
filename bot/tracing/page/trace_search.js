// Search in all steps of the request, and filters.

const indexed = new Map();

function textOf(span) {
  if (!indexed.has(span.id)) {
    const parts = [span.name, span.words, span.lane, span.outcome, span.state, span.reason, span.brief, span.text, span.model];
    if (span.arguments) parts.push(...flat(span.arguments));
    for (const one of span.decisions || []) parts.push(one.what, one.why);
    indexed.set(span.id, parts.filter(Boolean).join("\n").toLowerCase());
  }
  return indexed.get(span.id);
}

function flat(value) {
  if (value && typeof value === "object") return Object.entries(value).flatMap(([name, one]) => [name, ...flat(one)]);
  return [String(value)];
}

function pathOf(span) {
  const names = [];
  for (let one = byId.get(span.parent); one && one.kind !== "request"; one = byId.get(one.parent)) {
    names.unshift(one.kind === "attempt" ? `attempt ${one.attempt}` : one.name);
  }
  return names.join(" › ");
}

function search() {
  const query = document.getElementById("words").value.trim().toLowerCase();
  const chosen = FILTERS.filter(([name]) => document.getElementById(`only-${name}`).checked);
  const found = document.getElementById("found");
  const tree = document.getElementById("tree");
  const count = document.getElementById("count");
  const all = trace.spans.filter((span) => !span.request || !shown || span.request === shown.id);
  found.hidden = !query && !chosen.length;
  tree.hidden = !found.hidden;
  if (found.hidden) {
    found.replaceChildren();
    count.textContent = counted(all.length, "step");
    return;
  }
  const hits = all.filter((span) => chosen.every(([, , test]) => test(span)) && (!query || textOf(span).includes(query)));
  found.replaceChildren(...hits.slice(0, MOST_FOUND).map((span) => stepOf(span, { path: pathOf(span), query, nested: false })));
  const more = hits.length > MOST_FOUND ? `; the first ${MOST_FOUND} are shown` : "";
  count.textContent = `${hits.length.toLocaleString("en")} of ${counted(all.length, "step")}${more}`;
}

function clearSearch() {
  document.getElementById("words").value = "";
  for (const [name] of FILTERS) document.getElementById(`only-${name}`).checked = false;
  search();
}

function marked(node, query) {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  let left = 200;
  for (const text of texts) {
    let rest = text;
    let at = rest.data.toLowerCase().indexOf(query);
    while (at >= 0 && left > 0) {
      const hit = rest.splitText(at);
      rest = hit.splitText(query.length);
      const mark = make("mark");
      hit.replaceWith(mark);
      mark.append(hit);
      left -= 1;
      at = rest.data.toLowerCase().indexOf(query);
    }
  }
}

function listen() {
  const filters = document.getElementById("filters");
  filters.append(...FILTERS.map(([name, words]) => make("label", {},
    make("input", { type: "checkbox", id: `only-${name}`, onchange: search }), ` ${words}`)));
  let timer = 0;
  document.getElementById("words").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, 120);
  });
  document.getElementById("search").addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLInputElement;
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      document.getElementById("words").focus();
    } else if (event.key === "Escape" && typing) {
      clearSearch();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && event.target.tagName === "SUMMARY") {
      const all = [...document.querySelectorAll(".steps:not([hidden]) summary")].filter((one) => one.offsetParent);
      const next = all[all.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)];
      if (next) {
        event.preventDefault();
        next.focus();
      }
    }
  });
}

listen();
drawLegend();
drawHead();
drawRequests();
drawWaterfall();
drawTree();
search();
document.getElementById("foot").append(
  `Trace of job ${trace.job}, format ${trace.version}. Made from the job's log; the page asks no network for anything. Times that the log does not hold say how they are known.`);
