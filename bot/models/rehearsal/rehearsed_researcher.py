"""The rehearsed researcher: searches, opens pages, and quotes their first fitting sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bot.models.rehearsal.moves import Move, fitted, give_up, hand_in, what_failed
from bot.models.rehearsal.rehearsed_brief import Brief, keywords, sentences, urls, words
from handoff.contracts import ToolCall, ToolReply
from handoff.text.text_words import stem
from specialists.tools.tool import ToolSpec

_MOST_PAGES = 3
_MOST_LINKS = 5
_QUOTED = 2
_SHORTEST = 40
_LONGEST = 400
_HIT = re.compile(r"^\d+\. (?P<title>.+)\n\s+(?P<url>https?://\S+)\n?(?P<snippet>(?:(?!\d+\. ).*\n?)*)", re.MULTILINE)


def next_move(brief: Brief, history: Sequence[tuple[ToolCall, ToolReply]], tools: Mapping[str, ToolSpec]) -> Move:
    """Return the researcher's next move, from its task and the tool calls so far."""
    searched = [reply for call, reply in history if call.name == "web_search"]
    fetched = [(str(call.arguments.get("url")), reply) for call, reply in history if call.name == "fetch_page"]
    links = urls(brief.objective) or urls(brief.task)
    if not fetched and "fetch_page" in tools:
        wanted = links[:_MOST_LINKS]
        if not wanted and searched and not searched[-1].failed:
            wanted = [hit["url"] for hit in _HIT.finditer(searched[-1].text)][:_MOST_PAGES]
        arguments = [fitted(tools["fetch_page"], {"url": url}) for url in wanted]
        if wanted and all(each is not None for each in arguments):
            return Move(tuple(("fetch_page", each) for each in arguments if each is not None))
    if not searched and not links and "web_search" in tools:
        query = " ".join(keywords(brief.objective, 8)) or brief.objective[:100]
        search = fitted(tools["web_search"], {"query": query})
        if search is not None:
            return Move((("web_search", search),), "I search the web for it.")
    return _report(brief, searched, fetched)


def _report(brief: Brief, searched: Sequence[ToolReply], fetched: Sequence[tuple[str, ToolReply]]) -> Move:
    quotes = [
        (url, quote) for url, reply in fetched if not reply.failed for quote in _quotes(reply.text, brief.objective)
    ]
    snippets = [
        (hit["url"], " ".join(hit["snippet"].split()))
        for reply in searched
        if not reply.failed
        for hit in _HIT.finditer(reply.text)
    ]
    read = {url for url, _ in quotes}
    snippets = [(url, text[:_LONGEST]) for url, text in snippets if text and url not in read]
    failed = what_failed([*searched, *(reply for _, reply in fetched)])
    if not quotes and not snippets:
        return give_up("out_of_scope", f"Nothing could be read about this. {failed}".strip())
    blocks = [f"> {quote}\n>\n> {url}" for url, quote in quotes]
    if snippets and not quotes:
        blocks.append("No page could be opened; these are only the search engine's own excerpts:")
        blocks += [f"> {text}\n>\n> {url}" for url, text in snippets]
    shown = quotes or snippets
    sites = len({url for url, _ in shown})
    summary = f"{len(shown)} passages from {sites} {'page' if sites == 1 else 'pages'}; the first: “{shown[0][1]}”"
    return hand_in(
        summary,
        "\n\n".join(blocks),
        findings=[{"message": quote, "source": url, "confidence": 100} for url, quote in shown],
        gaps=[f"not read: {failed}"] if failed else [],
    )


def _quotes(page: str, task: str) -> list[str]:
    """The sentences of a page that share most words with the task, in the page's order."""
    body = page.partition("\n\n")[2] if page.startswith("Untrusted text") else page
    about = {stem(word) for word in words(" ".join(keywords(task, 30)))}
    found = [each for each in sentences(body) if _SHORTEST <= len(each) <= _LONGEST and not each.startswith("[")]
    if not found:
        short = [each for each in sentences(body) if not each.startswith("[")]
        return [each[:_LONGEST] for each in short[:1]]
    scored = sorted(
        range(len(found)), key=lambda index: (-len(about & {stem(word) for word in words(found[index])}), index)
    )
    return [found[index] for index in sorted(scored[:_QUOTED])]
