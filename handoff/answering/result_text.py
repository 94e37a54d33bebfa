"""Renders results as text: the content and the findings that it does not state. Repeated passages appear once. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from handoff.answering.findings import is_graded, list_origins, normalize_place
from handoff.answering.fixed_words import render_phrase
from handoff.contracts import Finding, Result, Terms
from handoff.text.text_words import extract_words

MIN_WORD_SHARE = 0.7
"""The share of a finding's words that a text must have to count as stating it, beside all figures of the finding."""


MAX_NAMED_FINDINGS = 5
"""The number of unsure findings that are named one by one; further ones are only counted."""
MAX_NAMED_FINDING_LENGTH = 100
"""The most characters of the message of an unsure finding that is named."""


def render_result(result: Result, *, skip_graded: bool = False) -> str:
    """Return the content as Markdown, followed by the findings that it does not state.

    A finding counts as stated if the content has its message, place and suggestion. With `skip_graded`, graded findings
    are left out, because they appear in a list of their own.
    """
    text = result.content or result.summary
    unstated_findings = [
        one for one in result.findings if not (skip_graded and is_graded(one)) and not _contains_finding(text, one)
    ]
    return (
        "\n".join([text.rstrip(), "", *(render_finding(one) for one in unstated_findings)])
        if unstated_findings
        else text
    )


def _contains_finding(text: str, finding: Finding) -> bool:
    parts = (finding.message, normalize_place(finding), finding.suggestion)
    return all(states_message(text, part) for part in parts if part.strip())


def render_with_unsure_note(result: Result, terms: Terms, request: str, *, skip_graded: bool = False) -> str:
    """Render a result with a line about its unsure findings, those with a confidence below `terms.confidence`.

    The line names these findings. With `terms.unsure` set to `apart` it only counts them, and unsure findings that the
    content lacks are not added. `request` is a text in the language that the line is written in.
    """
    unsure = [one for one in result.findings if one.confidence < terms.confidence]
    if not unsure:
        return render_result(result, skip_graded=skip_graded)
    if terms.unsure == "apart":
        sure = tuple(one for one in result.findings if one.confidence >= terms.confidence)
        text = render_result(result.model_copy(update={"findings": sure}), skip_graded=skip_graded)
        return f"{text}\n\n_{render_phrase('below', request, n=len(unsure))}_"
    message_texts = [f"“{_shorten_line(one.message)}”" for one in unsure[:MAX_NAMED_FINDINGS]]
    if len(unsure) > MAX_NAMED_FINDINGS:
        message_texts.append(render_phrase("more", request, n=len(unsure) - MAX_NAMED_FINDINGS))
    return (
        f"{render_result(result, skip_graded=skip_graded)}\n\n_{render_phrase('less_sure', request)}: "
        f"{', '.join(message_texts)}_"
    )


def _shorten_line(text: str) -> str:
    flat = " ".join(text.split()).rstrip(".")
    return flat if len(flat) <= MAX_NAMED_FINDING_LENGTH else f"{flat[: MAX_NAMED_FINDING_LENGTH - 1].rstrip()}…"


def render_finding(finding: Finding) -> str:
    """Render a finding as a Markdown bullet, with its severity, place, source and suggestion if it has them."""
    severity = finding.severity if finding.severity != "info" else ""
    about = ", ".join(filter(None, (severity, *list_origins(finding))))
    bullet = f"- {finding.message}" + (f" ({about})" if about else "")
    return f"{bullet} → {finding.suggestion}" if finding.suggestion.strip() else bullet


@lru_cache(maxsize=512)
def states_message(text: str, message: str) -> bool:
    """Return True if a text states a message: word for word, or with most of its words and all of its figures."""
    if " ".join(message.split()).casefold() in " ".join(text.split()).casefold():
        return True
    message_words, there = (
        {word for word in extract_words(message) if not any(sign.isdigit() for sign in word)},
        extract_words(text),
    )
    if not message_words or len(message_words & there) < MIN_WORD_SHARE * len(message_words):
        return False
    from handoff.checking.figures import list_written_numbers  # noqa: PLC0415 - only where words alone do not tell
    from handoff.checking.known_figures import KnownFigures  # noqa: PLC0415

    known_figures = KnownFigures.from_text(text)
    return all(known_figures.contains_figure(*figure) for figure in list_written_numbers(message))


MIN_POINTED_LENGTH = 200
"""The least number of characters of a repeated passage that is replaced by a pointer to its first occurrence."""
POINTER_WORDS = 8
"""The first words of the passage that the pointer repeats."""

_PASSAGE_BREAK = re.compile(r"(\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)])\s))")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")


def replace_repeated_passages(
    contents: Mapping[str, str], order: Sequence[str], titles: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, int]]:
    """Replace passages that an earlier content has, too, by a pointer with the title of that content.

    Code, tables and headings stay as they are, and so do repetitions within one content.

    Args:
        contents: The contents by name.
        order: The names in the order in which a content counts as earlier.
        titles: The titles for people by name.

    Returns:
        The new contents by name, and the number of replaced passages by name, where there are any.
    """
    title_by_passage: dict[str, str] = {}
    new_contents: dict[str, str] = {}
    counts_by_name: dict[str, int] = {}
    for name in order:
        parts = _PASSAGE_BREAK.split(contents[name])
        is_fenced, replaced_count = False, 0
        ours: dict[str, str] = {}
        for place in range(0, len(parts), 2):
            text = parts[place]
            if not is_fenced and _is_long_passage(text):
                key = " ".join(_BULLET.sub("", text, count=1).split())
                if (other := title_by_passage.get(key)) is not None:
                    bullet = _BULLET.match(text)
                    start = " ".join(key.split()[:POINTER_WORDS])
                    parts[place] = f"{bullet[0] if bullet else ''}(word for word as in “{other}”: {start} …)"
                    replaced_count += 1
                else:
                    ours[key] = titles.get(name, name)
            is_fenced ^= text.count("```") % 2 == 1
        title_by_passage.update(ours)
        new_contents[name] = "".join(parts)
        if replaced_count:
            counts_by_name[name] = replaced_count
    return {name: new_contents[name] for name in contents}, counts_by_name


def _is_long_passage(text: str) -> bool:
    return len(text) >= MIN_POINTED_LENGTH and not text.lstrip().startswith(("#", "|")) and "```" not in text
