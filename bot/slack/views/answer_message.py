"""Renders the answer to a request, in several messages if it is long, with its gaps, sources and duration below."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from bot.slack.text.cleaning import (
    MESSAGE_LIMIT,
    clean_markdown,
    clean_mrkdwn,
    render_channel_mentions,
    split_answer,
    to_plain_line,
)
from bot.slack.text.safe_text import find_address_spans
from bot.slack.views.button_data import AboutRequest, encode_data
from bot.slack.views.contact_line import render_gaps_contact
from bot.slack.views.outgoing import (
    CONTEXT_LIMIT,
    SECTION_LIMIT,
    Block,
    Outgoing,
    format_duration,
    make_button,
    make_context,
    make_section,
)
from bot.slack.views.thread_read_note import describe_read
from bot.slack.views.try_again import describe_earlier_cost, render_retry_buttons
from handoff.answering.findings import list_origins, rank_by_severity
from handoff.answering.fixed_words import render_phrase
from handoff.briefs.addresses import find_addresses, list_known_addresses
from handoff.contracts import SCRIPTED_REPLIES, Finding, Result, Usage
from handoff.engine.answer import list_answer_gaps
from handoff.evidence.work_receipts import (
    Receipts,
    collect_receipts,
    describe_unsourced_statements,
    render_receipt_lines,
)
from handoff.state.job_state import Job, RequestState
from handoff.summaries.summary import describe_speed_up, list_notes
from handoff.text.counts import format_dollars, format_short_number

FEEDBACK = "feedback"
"""The action_id of the thumbs below an answer."""
REHEARSAL = "rehearsal"
"""The beginning of the model label if rules stand in for a model."""
SCRIPTED_LABEL = f"{SCRIPTED_REPLIES}; tools, files and Slack calls are real"
"""The label below an answer of a demo."""
SHOW_EVIDENCE = "show_evidence"
"""The action_id of the button below an answer that opens the window with its evidence, and the window's callback_id."""
MAX_SOURCES = 8
MARKDOWN_LIMIT = 11_900
"""Most characters in the markdown blocks of one message, a little below Slack's limit of 12,000."""
_PREVIEW_LENGTH = 600
"""Most characters of an answer in notifications and for screen readers."""
_QUERIES_SHOWN, _PIECES_SHOWN, _PIECE_LENGTH = 20, 3, 700
"""Most queries in a window, pieces of one query, and characters of a piece: a section takes 3,000 after escaping."""
_LINES_SHOWN, _LINE_LENGTH = 20, 600
"""The most lines of a list in a window, and characters of a line. Of the other lines only the number is shown."""
_LINK_IN_BRACKETS = re.compile(r"\(<(https?://[^<>|]+)>\)")
"""A link without a label, in brackets."""
_UNFOUND_SHOWN = 3
"""Most statements without evidence that are named below an answer. Further ones are counted."""


def render_answer(job: Job, ask: RequestState, model_label: str) -> list[Outgoing]:
    """Render the messages of an answer, in order. Below the last one stand the blocks of `render_answer_end`.

    The first block of each message is its `markdown` block. Raises ValueError for a request without an answer.
    """
    if ask.run.answer is None:
        raise ValueError(f"{ask.id} has no answer")
    known = list_known_addresses(job, ask)
    parts = split_clean_markdown(ask.run.answer.strip() or "_The answer is empty._", known)
    preview = clean_mrkdwn(ask.run.answer[: 2 * _PREVIEW_LENGTH], limit=_PREVIEW_LENGTH) or "Answered."
    made = []
    for index, part in enumerate(parts):
        blocks: list[Block] = [{"type": "markdown", "text": part}]
        if index == len(parts) - 1:
            blocks += render_answer_end(job, ask, model_label)
        made.append(Outgoing(text=preview, blocks=tuple(blocks)))
    return made


def split_clean_markdown(text: str, known: Collection[str] = ()) -> list[str]:
    """Clean Markdown, and cut it into parts that each fit into a message. Addresses that are `known` become links."""
    limit = MESSAGE_LIMIT
    while True:
        parts = [clean_markdown(part, known=known) for part in split_answer(text, limit)]
        longest = max(len(part) for part in parts)
        if longest <= MARKDOWN_LIMIT:
            return parts
        limit = max(limit * MARKDOWN_LIMIT // longest - 100, 200)


def render_answer_end(job: Job, ask: RequestState, model_label: str) -> list[Block]:
    """Render the blocks below an answer: its gaps, sources, notes and receipts, how long it took, and the thumbs."""
    blocks: list[Block] = []
    known = list_known_addresses(job, ask)
    if lacks := list_answer_gaps(ask, ask.run):
        lines = "\n".join(f"• {clean_mrkdwn(gap, known=known, limit=400)}" for gap in lacks[:6])
        more = f"\n• {render_phrase('more', ask.text, n=len(lacks) - 6)}" if len(lacks) > 6 else ""
        rest = f"\n{who}" if (who := render_gaps_contact(ask)) else ""
        blocks.append(make_section(f":warning: {render_phrase('partly', ask.text)}\n{lines}{more}{rest}"))
    if sources := list_sources(ask):
        blocks.append(_render_sources(job, ask, sources, known))
    if known_besides := list_notes(ask):
        blocks.append(
            make_context(" · ".join(clean_mrkdwn(note, known=known, limit=200) for note in known_besides[:MAX_SOURCES]))
        )
    if recalled := render_remembered_line(ask):
        blocks.append(make_context(recalled))
    if unfound := describe_unsourced_statements(ask):
        blocks.append(
            make_context(clean_mrkdwn(_render_unfound_line(unfound, ask.text), known=known, limit=CONTEXT_LIMIT))
        )
    receipts = render_receipt_lines(ask)
    blocks += [_render_receipt_line(line, known) for line in receipts]
    blocks.append(make_context(render_context_line(ask, model_label)))
    value = encode_data(AboutRequest(job.id, ask.id))
    label = "Evidence" if receipts else "Details"
    blocks.append({"type": "actions", "elements": [make_button(label, SHOW_EVIDENCE, value)]})
    blocks += render_retry_buttons(job, ask) if lacks else []
    blocks.append(_render_feedback_buttons(job, ask))
    return blocks


def _render_receipt_line(line: str, known: Collection[str]) -> Block:
    """Render a line as small print. Without an address it is plain text, so that Slack reads no markup in it."""
    if "://" not in line and render_channel_mentions(line) == line:
        return {"type": "context", "elements": [{"type": "plain_text", "text": to_plain_line(line, CONTEXT_LIMIT)}]}
    shown = render_channel_mentions(clean_mrkdwn(line, known=known, limit=CONTEXT_LIMIT))
    return make_context(_LINK_IN_BRACKETS.sub(r"(<\1|open>)", shown))


def _render_unfound_line(statements: Sequence[str], request: str) -> str:
    named = "; ".join(statements[:_UNFOUND_SHOWN])
    more = len(statements) - _UNFOUND_SHOWN
    what = f"{named}; {render_phrase('more', request, n=more)}" if more > 0 else named
    return render_phrase("not_from_files", request, what=what)


def render_evidence_modal(job: Job, ask: RequestState) -> Block:
    """Render the window with the evidence of an answer: findings, what was read, queried and done, and details."""
    known, receipts = list_known_addresses(job, ask), collect_receipts(ask)
    blocks: list[Block] = []
    for title, lines in (
        ("Findings", _list_finding_lines(ask)),
        ("Not from your files", describe_unsourced_statements(ask)),
        *_list_receipt_sections(receipts),
    ):
        if lines:
            shown = [
                render_channel_mentions(clean_mrkdwn(line, known=known, limit=_LINE_LENGTH))
                for line in lines[:_LINES_SHOWN]
            ]
            more = [f"and {len(lines) - _LINES_SHOWN} more"] if len(lines) > _LINES_SHOWN else []
            blocks.append(make_section(f"*{title}*"))
            blocks += [*_render_bullets(shown), *(make_context(line) for line in more)]
    if receipts.queries:
        blocks.append(make_section("*Queries*"))
        blocks += _render_queries(receipts.queries)
    blocks.append(
        make_context("\n".join(clean_mrkdwn(line, limit=_LINE_LENGTH) for line in list_detail_lines(job, ask)))
    )
    return {
        "type": "modal",
        "callback_id": SHOW_EVIDENCE,
        "title": {"type": "plain_text", "text": "Evidence"},
        "close": {"type": "plain_text", "text": "Close"},
        "blocks": blocks,
    }


def _render_bullets(lines: Sequence[str]) -> list[Block]:
    """Render lines as bullets, in as many sections as Slack's limit requires."""
    sections: list[str] = []
    for line in lines:
        if sections and len(sections[-1]) + len(line) < SECTION_LIMIT - 10:
            sections[-1] += f"\n• {line}"
        else:
            sections.append(f"• {line}")
    return [make_section(text) for text in sections]


def _list_receipt_sections(receipts: Receipts) -> list[tuple[str, Sequence[str]]]:
    return [
        ("Worked out", receipts.workings),
        ("Read", receipts.sources_read),
        ("Read in part", receipts.sources_read_partly),
        ("Not opened", receipts.unopened_files),
        ("Done", receipts.completed_actions or ("Nothing was sent or changed.",)),
        ("Not done", receipts.failed_calls),
    ]


def _list_finding_lines(ask: RequestState) -> list[str]:
    """Return a line for each finding of all results, the gravest first, with its quotations and their places."""
    results = [work.result for work in ask.list_all_subtasks("") if work.result is not None and work.run is None]
    found = sorted((one for result in results for one in result.findings), key=rank_by_severity)
    return list(dict.fromkeys(_render_finding(one) for one in found))


def _render_finding(finding: Finding) -> str:
    severity = f"{finding.severity.capitalize()}: " if finding.severity != "info" else ""
    found = [one for one in finding.evidence if one.is_found]
    about = ", ".join(one for one in list_origins(finding) if one not in {each.source for each in found})
    quotes = (f"“{one.quotation}” ({', '.join(filter(None, (one.source, one.place)))})" for one in found)
    return " — ".join((f"{severity}{finding.message}" + (f" ({about})" if about else ""), *quotes))


def _render_queries(queries: Sequence[str]) -> list[Block]:
    """Render queries as code, word for word."""
    blocks: list[Block] = []
    for query in queries[:_QUERIES_SHOWN]:
        pieces = [query[at : at + _PIECE_LENGTH] for at in range(0, len(query), _PIECE_LENGTH)]
        blocks += [make_section(f"```{_escape_code(piece)}```") for piece in pieces[:_PIECES_SHOWN]]
        if len(pieces) > _PIECES_SHOWN:
            blocks.append(make_context("The rest of this query is in the trace of the job."))
    if len(queries) > _QUERIES_SHOWN:
        blocks.append(make_context(f"{len(queries) - _QUERIES_SHOWN} more are in the trace of the job."))
    return blocks


def _escape_code(code: str) -> str:
    """Escape a text for a code block. Backticks that would end the block are spaced out."""
    return code.replace("```", "` ` `").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def list_sources(ask: RequestState) -> list[str]:
    """Return the sources of all findings, each once, in the order of the plan's subtasks, at most `MAX_SOURCES`."""
    found = [
        finding.source.strip()
        for work in ask.list_subtasks("")
        if work.result is not None
        for finding in work.result.findings
        if finding.source.strip()
    ]
    return list(dict.fromkeys(found))[:MAX_SOURCES]


def _render_sources(job: Job, ask: RequestState, sources: Sequence[str], known: Collection[str]) -> Block:
    """Render the sources as small print.

    Slack would make a link of `notes.md`, as .md is the domain of Moldova. So sources that name only files of the job
    or documents of a folder are plain text, in which Slack makes no links.
    """
    title = render_phrase("sources", ask.text)
    read = (
        name
        for work in ask.list_all_subtasks("")
        if work.result is not None
        for name in _iterate_read_documents(work.result)
    )
    files = sorted({*(one.name for each in job.asks for one in each.materials), *read}, key=len, reverse=True)
    names = [one for one in sources if _names_only_files(one, files)]
    if not any(_contains_address(one) for one in names):
        return make_context(f"{title} " + " · ".join(clean_mrkdwn(one, known=known, limit=200) for one in sources))
    text = to_plain_line(f"{title} {' · '.join(names)}", CONTEXT_LIMIT)
    rest = [clean_mrkdwn(one, known=known, limit=200) for one in sources if one not in names]
    block = make_context(*([" · ".join(rest)] if rest else []))
    return {**block, "elements": [{"type": "plain_text", "text": text}, *block["elements"]]}


def _iterate_read_documents(result: Result) -> Iterator[str]:
    """Yield the names of the documents that tools read."""
    for one in result.readings:
        name = one.name.partition(", section ")[0]
        if "://" not in name and "/" in name:
            yield name


def _contains_address(text: str) -> bool:
    return any(True for word in text.split() for _ in find_address_spans(word))


def _names_only_files(source: str, files: Sequence[str]) -> bool:
    """Return True if a source holds no address other than names of files. `files` has the longest names first."""
    for name in files:
        source = source.replace(name, " ")
    return not _contains_address(source)


def render_context_line(ask: RequestState, model_label: str) -> str:
    """Return the line with what was read of the thread, how long the answer took, and a note if no model wrote it."""
    rehearsed = clean_mrkdwn(model_label, limit=200) if model_label.startswith(REHEARSAL) else ""
    rehearsed = SCRIPTED_LABEL if ask.usage.model == SCRIPTED_REPLIES else rehearsed
    took = format_duration((ask.run.written or ask.request.at) - ask.request.at)
    return " · ".join(part for part in (describe_read(ask), rehearsed, took) if part)


def list_detail_lines(job: Job, ask: RequestState) -> list[str]:
    """Return the details of an answer for the bot's operator: model, tokens, cost, time gained, and the job's id."""
    spent = ", ".join(part for part in (*list_usage_words(ask.usage), describe_earlier_cost(ask)) if part)
    model = f"Model: {ask.usage.model}" if ask.usage.model else ""
    return [*filter(None, (model, f"Spent: {spent}" if spent else "", describe_speed_up(ask))), f"Job {job.id}"]


def list_usage_words(usage: Usage) -> list[str]:
    """Return tokens and cost in words; [] if no model was called."""
    tokens = usage.tokens_in + usage.tokens_out
    words = []
    if tokens:
        words.append(f"{format_short_number(tokens)} {'token' if tokens == 1 else 'tokens'}")
    if usage.cost is not None and tokens:
        words.append(format_dollars(usage.cost))
    return words


@dataclass(frozen=True, slots=True)
class Thumb:
    """The value of a thumb button below an answer. `good`: it is the thumb up."""

    job: str
    request: str
    good: bool


def _render_feedback_buttons(job: Job, ask: RequestState) -> Block:
    def thumb(label: str, *, good: bool) -> Block:
        value = encode_data(Thumb(job.id, ask.id, good))
        return {"text": {"type": "plain_text", "text": label}, "value": value, "accessibility_label": label}

    buttons = {
        "type": "feedback_buttons",
        "action_id": FEEDBACK,
        "positive_button": thumb("Good answer", good=True),
        "negative_button": thumb("Bad answer", good=False),
    }
    return {"type": "context_actions", "elements": [buttons]}


MEMORIES_SHOWN = 3


def render_remembered_line(ask: RequestState) -> str:
    """Return the line (mrkdwn) that names the remembered messages that were used, the newest first; "" if none was.

    It names each message by its title, without the remembered words.
    """
    sections = [one for each in ask.materials if each.kind == "memory" for one in each.outline if one.message]
    told = [_render_title_link(one.name) for one in sections[::-1][:MEMORIES_SHOWN]]
    if not told:
        return ""
    more = [f"{len(sections) - MEMORIES_SHOWN} more"] if len(sections) > MEMORIES_SHOWN else []
    return f"Kept in mind, as asked: {'; '.join((*told, *more))}"[:CONTEXT_LIMIT]


def _render_title_link(title: str) -> str:
    """Render a title as a link if it ends with the address of its message."""
    who, _, end = title.rpartition(", ")
    if who and find_addresses(end) == {end}:
        return f"<{end.replace('&', '&amp;')}|{clean_mrkdwn(who)}>"
    return clean_mrkdwn(title)
