"""Renders the answer to a request, in several messages if it is long, with its gaps, sources and duration below."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from bot.slack.text.cleaning import (
    MAX_PART_CHARACTERS,
    clean_markdown,
    clean_mrkdwn,
    restore_channel_mentions,
    split_answer,
    to_plain_line,
)
from bot.slack.text.link_safety import find_address_spans
from bot.slack.views.button_data import RequestRef, encode_data
from bot.slack.views.contact_line import render_gaps_contact
from bot.slack.views.outgoing import (
    CONTEXT_CHAR_LIMIT,
    SECTION_CHAR_LIMIT,
    Block,
    Outgoing,
    format_duration,
    make_button,
    make_context,
    make_section,
)
from bot.slack.views.thread_coverage import describe_thread_coverage
from bot.slack.views.try_again import describe_earlier_cost, render_retry_buttons
from handoff.answering.findings import list_origins, rank_by_severity
from handoff.answering.fixed_words import render_phrase
from handoff.briefs.addresses import find_addresses, list_known_addresses
from handoff.contracts import SCRIPTED_MODEL_NAME, Finding, Result, Usage
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
REHEARSAL_LABEL_PREFIX = "rehearsal"
"""The start of the model label if the rehearsal's rules work instead of a model."""
SCRIPTED_LABEL = f"{SCRIPTED_MODEL_NAME}; tools, files and Slack calls are real"
"""The label below an answer of a demo."""
SHOW_EVIDENCE = "show_evidence"
"""The action_id of the button below an answer that opens the window with its evidence, and the window's callback_id."""
MAX_SOURCES = 8
MAX_MARKDOWN_CHARACTERS = 11_900
"""Maximum number of characters in the markdown blocks of one message, a little below Slack's limit of 12,000."""
_PREVIEW_LENGTH = 600
"""Maximum number of characters of an answer in notifications and for screen readers."""
_QUERIES_SHOWN, _PIECES_SHOWN, _PIECE_LENGTH = 20, 3, 700
"""Maximum number of queries in a window, pieces of a query, and characters of a piece: a section takes 3,000."""
_LINES_SHOWN, _LINE_LENGTH = 20, 600
"""Maximum number of lines of a list in a window, and characters of a line. Further lines are counted."""
_LINK_IN_BRACKETS = re.compile(r"\(<(https?://[^<>|]+)>\)")
"""A link without a label, in brackets."""
_MAX_UNSOURCED_SHOWN = 3
"""Maximum number of statements without evidence that are named below an answer. Further ones are counted."""


def render_answer(job: Job, request: RequestState, model_label: str) -> list[Outgoing]:
    """Render the messages of an answer, in order. The last one ends with the blocks of `render_answer_footer`.

    The first block of each message is its `markdown` block. Raises ValueError for a request without an answer.
    """
    if request.run.answer is None:
        raise ValueError(f"{request.id} has no answer")
    known_addresses = list_known_addresses(job, request)
    parts = split_clean_markdown(request.run.answer.strip() or "_The answer is empty._", known_addresses)
    preview = clean_mrkdwn(request.run.answer[: 2 * _PREVIEW_LENGTH], limit=_PREVIEW_LENGTH) or "Answered."
    messages = []
    for index, part in enumerate(parts):
        blocks: list[Block] = [{"type": "markdown", "text": part}]
        if index == len(parts) - 1:
            blocks += render_answer_footer(job, request, model_label)
        messages.append(Outgoing(text=preview, blocks=tuple(blocks)))
    return messages


def split_clean_markdown(text: str, known_addresses: Collection[str] = ()) -> list[str]:
    """Clean Markdown and cut it into parts that fit into a message. Addresses in `known_addresses` become links."""
    limit = MAX_PART_CHARACTERS
    while True:
        parts = [clean_markdown(part, known_addresses=known_addresses) for part in split_answer(text, limit)]
        longest = max(len(part) for part in parts)
        if longest <= MAX_MARKDOWN_CHARACTERS:
            return parts
        limit = max(limit * MAX_MARKDOWN_CHARACTERS // longest - 100, 200)


def render_answer_footer(job: Job, request: RequestState, model_label: str) -> list[Block]:
    """Render the blocks below an answer: its gaps, sources, notes and receipts, how long it took, and the thumbs."""
    blocks: list[Block] = []
    known_addresses = list_known_addresses(job, request)
    if lacks := list_answer_gaps(request, request.run):
        lines = "\n".join(f"• {clean_mrkdwn(gap, known_addresses=known_addresses, limit=400)}" for gap in lacks[:6])
        more = f"\n• {render_phrase('more', request.text, n=len(lacks) - 6)}" if len(lacks) > 6 else ""
        rest = f"\n{who}" if (who := render_gaps_contact(request)) else ""
        blocks.append(make_section(f":warning: {render_phrase('partly', request.text)}\n{lines}{more}{rest}"))
    if sources := list_sources(request):
        blocks.append(_render_sources(job, request, sources, known_addresses))
    if known_besides := list_notes(request):
        blocks.append(
            make_context(
                " · ".join(
                    clean_mrkdwn(note, known_addresses=known_addresses, limit=200)
                    for note in known_besides[:MAX_SOURCES]
                )
            )
        )
    if remembered_line := render_remembered_line(request):
        blocks.append(make_context(remembered_line))
    if unsourced_statements := describe_unsourced_statements(request):
        blocks.append(
            make_context(
                clean_mrkdwn(
                    _render_unsourced_line(unsourced_statements, request.text),
                    known_addresses=known_addresses,
                    limit=CONTEXT_CHAR_LIMIT,
                )
            )
        )
    receipts = render_receipt_lines(request)
    blocks += [_render_receipt_line(line, known_addresses) for line in receipts]
    blocks.append(make_context(render_context_line(request, model_label)))
    value = encode_data(RequestRef(job.id, request.id))
    label = "Evidence" if receipts else "Details"
    blocks.append({"type": "actions", "elements": [make_button(label, SHOW_EVIDENCE, value)]})
    blocks += render_retry_buttons(job, request) if lacks else []
    blocks.append(_render_feedback_buttons(job, request))
    return blocks


def _render_receipt_line(line: str, known_addresses: Collection[str]) -> Block:
    """Render a line as small print. A line without an address or channel becomes plain text, without markup."""
    if "://" not in line and restore_channel_mentions(line) == line:
        return {
            "type": "context",
            "elements": [{"type": "plain_text", "text": to_plain_line(line, CONTEXT_CHAR_LIMIT)}],
        }
    cleaned_line = restore_channel_mentions(
        clean_mrkdwn(line, known_addresses=known_addresses, limit=CONTEXT_CHAR_LIMIT)
    )
    return make_context(_LINK_IN_BRACKETS.sub(r"(<\1|open>)", cleaned_line))


def _render_unsourced_line(statements: Sequence[str], request: str) -> str:
    statement_text = "; ".join(statements[:_MAX_UNSOURCED_SHOWN])
    more = len(statements) - _MAX_UNSOURCED_SHOWN
    what = f"{statement_text}; {render_phrase('more', request, n=more)}" if more > 0 else statement_text
    return render_phrase("not_from_files", request, what=what)


def render_evidence_modal(job: Job, request: RequestState) -> Block:
    """Render the window with the evidence of an answer: findings, what was read, queried and done, and details."""
    known_addresses, receipts = list_known_addresses(job, request), collect_receipts(request)
    blocks: list[Block] = []
    for title, lines in (
        ("Findings", _list_finding_lines(request)),
        ("Not from your files", describe_unsourced_statements(request)),
        *_list_receipt_sections(receipts),
    ):
        if lines:
            shown_lines = [
                restore_channel_mentions(clean_mrkdwn(line, known_addresses=known_addresses, limit=_LINE_LENGTH))
                for line in lines[:_LINES_SHOWN]
            ]
            more = [f"and {len(lines) - _LINES_SHOWN} more"] if len(lines) > _LINES_SHOWN else []
            blocks.append(make_section(f"*{title}*"))
            blocks += [*_render_bullets(shown_lines), *(make_context(line) for line in more)]
    if receipts.queries:
        blocks.append(make_section("*Queries*"))
        blocks += _render_queries(receipts.queries)
    blocks.append(
        make_context("\n".join(clean_mrkdwn(line, limit=_LINE_LENGTH) for line in list_detail_lines(job, request)))
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
        if sections and len(sections[-1]) + len(line) < SECTION_CHAR_LIMIT - 10:
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


def _list_finding_lines(request: RequestState) -> list[str]:
    """Return a line for each finding of all results, the gravest first, with its quotations and their places."""
    results = [
        subtask.result
        for subtask in request.list_all_subtasks("")
        if subtask.result is not None and subtask.run is None
    ]
    findings = sorted((one for result in results for one in result.findings), key=rank_by_severity)
    return list(dict.fromkeys(_render_finding(one) for one in findings))


def _render_finding(finding: Finding) -> str:
    severity = f"{finding.severity.capitalize()}: " if finding.severity != "info" else ""
    found_evidence = [one for one in finding.evidence if one.is_found]
    about = ", ".join(one for one in list_origins(finding) if one not in {each.source for each in found_evidence})
    quotes = (f"“{one.quotation}” ({', '.join(filter(None, (one.source, one.place)))})" for one in found_evidence)
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
    """Escape a text for a code block. Three backticks, which would end the block, are separated by spaces."""
    return code.replace("```", "` ` `").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def list_sources(request: RequestState) -> list[str]:
    """Return the sources of all findings without duplicates, in the order of the subtasks, at most `MAX_SOURCES`."""
    sources = [
        finding.source.strip()
        for subtask in request.list_subtasks("")
        if subtask.result is not None
        for finding in subtask.result.findings
        if finding.source.strip()
    ]
    return list(dict.fromkeys(sources))[:MAX_SOURCES]


def _render_sources(job: Job, request: RequestState, sources: Sequence[str], known_addresses: Collection[str]) -> Block:
    """Render the sources as small print.

    Slack would turn `notes.md` into a link, as .md is a top-level domain. So sources that are just names of files or of
    documents that were read become plain text, in which Slack makes no links.
    """
    title = render_phrase("sources", request.text)
    document_names = (
        name
        for subtask in request.list_all_subtasks("")
        if subtask.result is not None
        for name in _iterate_read_documents(subtask.result)
    )
    files = sorted(
        {*(one.name for each in job.requests for one in each.materials), *document_names}, key=len, reverse=True
    )
    names = [one for one in sources if _names_only_files(one, files)]
    if not any(_contains_address(one) for one in names):
        return make_context(
            f"{title} " + " · ".join(clean_mrkdwn(one, known_addresses=known_addresses, limit=200) for one in sources)
        )
    text = to_plain_line(f"{title} {' · '.join(names)}", CONTEXT_CHAR_LIMIT)
    rest = [clean_mrkdwn(one, known_addresses=known_addresses, limit=200) for one in sources if one not in names]
    block = make_context(*([" · ".join(rest)] if rest else []))
    return {**block, "elements": [{"type": "plain_text", "text": text}, *block["elements"]]}


def _iterate_read_documents(result: Result) -> Iterator[str]:
    """Yield the paths of the documents that tools read, such as `folder/notes.md`; no URLs and no plain names."""
    for one in result.readings:
        name = one.name.partition(", section ")[0]
        if "://" not in name and "/" in name:
            yield name


def _contains_address(text: str) -> bool:
    return any(True for word in text.split() for _ in find_address_spans(word))


def _names_only_files(source: str, files: Sequence[str]) -> bool:
    """Return True if a source has no address apart from names in `files`, which are sorted longest first."""
    for name in files:
        source = source.replace(name, " ")
    return not _contains_address(source)


def render_context_line(request: RequestState, model_label: str) -> str:
    """Return the line with what was read of the thread, how long the answer took, and a note if no model wrote it."""
    rehearsal_note = clean_mrkdwn(model_label, limit=200) if model_label.startswith(REHEARSAL_LABEL_PREFIX) else ""
    rehearsal_note = SCRIPTED_LABEL if request.usage.model == SCRIPTED_MODEL_NAME else rehearsal_note
    took = format_duration((request.run.concluded_at or request.spec.at) - request.spec.at)
    return " · ".join(part for part in (describe_thread_coverage(request), rehearsal_note, took) if part)


def list_detail_lines(job: Job, request: RequestState) -> list[str]:
    """Return the details of an answer for the bot's operator: model, tokens, cost, time gained, and the job's id."""
    usage_text = ", ".join(part for part in (*list_usage_words(request.usage), describe_earlier_cost(request)) if part)
    model = f"Model: {request.usage.model}" if request.usage.model else ""
    return [
        *filter(None, (model, f"Spent: {usage_text}" if usage_text else "", describe_speed_up(request))),
        f"Job {job.id}",
    ]


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
    """The value of a thumb button below an answer. `good` is True for the thumb up."""

    job: str
    request: str
    good: bool


def _render_feedback_buttons(job: Job, request: RequestState) -> Block:
    def thumb(label: str, *, good: bool) -> Block:
        value = encode_data(Thumb(job.id, request.id, good))
        return {"text": {"type": "plain_text", "text": label}, "value": value, "accessibility_label": label}

    buttons = {
        "type": "feedback_buttons",
        "action_id": FEEDBACK,
        "positive_button": thumb("Good answer", good=True),
        "negative_button": thumb("Bad answer", good=False),
    }
    return {"type": "context_actions", "elements": [buttons]}


MAX_MEMORIES_SHOWN = 3


def render_remembered_line(request: RequestState) -> str:
    """Return the line (mrkdwn) that names the remembered messages that were used, the newest first; "" if none was.

    It names each message by its title, without the remembered words.
    """
    sections = [one for each in request.materials if each.kind == "memory" for one in each.outline if one.message]
    title_links = [_render_title_link(one.name) for one in sections[::-1][:MAX_MEMORIES_SHOWN]]
    if not title_links:
        return ""
    more = [f"{len(sections) - MAX_MEMORIES_SHOWN} more"] if len(sections) > MAX_MEMORIES_SHOWN else []
    return f"Kept in mind, as asked: {'; '.join((*title_links, *more))}"[:CONTEXT_CHAR_LIMIT]


def _render_title_link(title: str) -> str:
    """Render a title as a link if it ends with ", " and the address of its message; otherwise cleaned."""
    who, _, end = title.rpartition(", ")
    if who and find_addresses(end) == {end}:
        return f"<{end.replace('&', '&amp;')}|{clean_mrkdwn(who)}>"
    return clean_mrkdwn(title)
