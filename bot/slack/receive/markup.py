"""Turns Slack's markup (`<@U1>`, `<https://x|label>`, `&lt;`) into plain text, and joins texts in markup. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from types import MappingProxyType

from handoff.text.invisible_characters import remove_invisible
from handoff.text.slack_ids import PERSON_ID
from specialists.turns.known_urls import find_urls_and_domains

NO_NAMES: Mapping[str, str] = MappingProxyType({})
PERSON_MENTION = re.compile(rf"<@({PERSON_ID.pattern})(?:\|[^<>]*)?>")
_MARKUP_TOKEN = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
_STYLE_REMOVAL = str.maketrans("", "", "*_~`")
_WORD = re.compile(r"\w+")


def to_plain_text(text: str, bot_user: str, names: Mapping[str, str] = NO_NAMES) -> str:
    """Turn Slack's markup into plain text: mentions become names, and links show their addresses.

    Mentions of the bot are left out. Slack makes a link of each word that ends like a domain; a file name such as
    `notes.md` becomes a plain word again. `names` are people's names by their ids, for mentions that carry no name.
    """

    def replace_token(match: re.Match[str]) -> str:
        target, label = match.group(1), match.group(2) or ""
        if bot_user and target == f"@{bot_user}":
            return " "
        if target.startswith(("@", "#")):
            name = label.lstrip("@#") or names.get(target[1:])
            return target[0] + name if name else target
        if target.startswith("!"):
            return label or "@" + target[1:].partition("^")[0]
        address = target.removeprefix("mailto:")
        if address == f"http://{label}" and not find_urls_and_domains(label):  # a link that Slack made of a file name
            return label
        return f"{label} ({address})" if label and label not in address else address

    plain = html.unescape(_MARKUP_TOKEN.sub(replace_token, text))
    lines = (" ".join(line.split(" ")).rstrip() for line in remove_invisible(plain).split("\n"))
    return re.sub(r"[ \t]{2,}", " ", "\n".join(lines)).strip()


def join_texts(text: str, blocks: str, *, is_summary: bool = False) -> str:
    """Join the text and the blocks of one message, both in markup. If one contains the other, only the longer is kept.

    With `is_summary`, `text` is also dropped if it is a shorter form of the blocks: some of their words, in order.
    """
    if not text.strip() or not blocks.strip():
        return text if text.strip() else blocks
    if _contains_lines(text, blocks):
        return text
    if _contains_lines(blocks, text) or (is_summary and _is_summary(text, blocks)):
        return blocks
    return f"{text}\n{blocks}"


def _contains_lines(whole: str, part: str) -> bool:
    """Return True if `whole` contains each line of `part`, in the same order. Styles and punctuation are ignored."""
    there, at = f" {' '.join(_split_words(whole))} ", 0
    for line in part.split("\n"):
        words = _split_words(line)
        if not words and line.strip() and line.strip() not in whole:
            return False
        start = there.find(f" {' '.join(words)} ", at) if words else at
        if start < 0:
            return False
        at = start + len(" ".join(words)) + 1 if words else at
    return True


def _is_summary(text: str, blocks: str) -> bool:
    remaining_words = iter(_split_words(blocks))
    return all(word in remaining_words for word in _split_words(text))


def _split_words(text: str) -> list[str]:
    """Return the words of a text in markup in a form for comparison: case-folded, without styles and punctuation."""

    def strip_token(match: re.Match[str]) -> str:
        target, label = match.group(1), match.group(2) or ""
        if target.startswith(("@", "#")) or not label or label in target:
            return f" {target} "
        return f" {label} " if target.startswith("!") else f" {target} {label} "

    return _WORD.findall(html.unescape(_MARKUP_TOKEN.sub(strip_token, text)).translate(_STYLE_REMOVAL).casefold())
