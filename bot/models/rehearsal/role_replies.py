"""Rules for the supervisor's smaller roles in the rehearsal. They judge and change almost nothing, and say so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from bot.models.rehearsal.brief_parsing import read_sections, split_subsections
from bot.models.rehearsal.word_lists import read_word_list
from handoff.conversation.message_kinds import is_question, is_thanks, may_address_somebody, split_words
from handoff.text.text_words import split_sentences

FOLLOW_UP_WORDS = read_word_list("follows_up")
UNDER_WAY_HEADING, QUESTION_HEADING = "# It is under way", "# Open question of the bot"
_MAX_SOURCE_SENTENCES = 3
"""Maximum sentences of each source that are kept."""
_RESULT = re.compile(r'^<result id="(?P<id>[^"]+)" sure="(?P<confidence>\d+)"/>[ \t]*$', re.MULTILINE)
_FAILURE = re.compile(r"^Brief: (?P<brief>.*?)\n(?:Criterion|For): .*?^Error: (?P<error>.*)", re.DOTALL | re.MULTILINE)


def classify_message(text: str) -> dict[str, Any]:
    """Return the dispatcher's decision on the aim of the message at the end of its brief, with the reason."""
    situation, _, message = text.rpartition("# Message")
    heading, _, message_text = message.partition("\n")
    if is_thanks(message_text):
        return {"why": "it thanks", "aim": "thanks"}
    if QUESTION_HEADING in situation:
        asks = is_question(message_text)
        return {"why": "it asks back" if asks else "a question is open", "aim": "explain" if asks else "answer"}
    words = split_words(message_text)
    is_follow_up = bool(words) and words[0] in FOLLOW_UP_WORDS and not may_address_somebody(message_text)
    if UNDER_WAY_HEADING in situation and is_follow_up:
        return {"why": "it changes what is under way", "aim": "correction"}
    if "names the bot" in heading or is_follow_up:
        return {"why": "it asks for something", "aim": "request"}
    return {"why": "the rehearsal hears plain follow-ups only", "aim": "nothing"}


def refine_brief(text: str) -> dict[str, Any]:
    """Return the refiner's reply: `intent` is the failed brief with the error as a warning, "" without a failure."""
    match = _FAILURE.search(text)
    intent = f"{match['brief'].strip()}\n\nMind what went wrong before: {match['error'].strip()}" if match else ""
    return {"intent": intent}


def select_result(text: str) -> dict[str, Any]:
    """Return the selector's reply, which chooses the first of the results with the highest confidence."""
    matches = _RESULT.findall(text)
    choice = max(matches, key=lambda one: int(one[1]))[0] if matches else ""
    return {"reason": "rules compare nothing, so the first of the surest is taken", "chosen": choice}


def condense_sources(text: str) -> str:
    """Return the headings of the material, each with its first `_MAX_SOURCE_SENTENCES` sentences as a list."""
    parts = split_subsections(read_sections(text, ("Request", "Goal", "Length", "Material")).get("Material", ""))
    return "\n".join(
        "\n- ".join([f"## {name}", *split_sentences(body)[:_MAX_SOURCE_SENTENCES]]) for name, body in parts
    )


_REPLANNER_REPLY = {"why": "the rehearsal keeps to its plan", "add": [], "drop": [], "reassign": [], "rebrief": []}
_VERIFIER_REPLY: dict[str, Any] = {"sentences": [], "unanswered": [], "contradictions": []}
_RULE_READER_REPLY: dict[str, Any] = {
    "schedule": True,
    "asks": "",
    "cron": "",
    "at": "",
    "zone": "",
    "until": "",
    "cannot": "no model is connected that could read it.",
}
_RULES_BY_ROLE: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "dispatcher": classify_message,
    "refiner": refine_brief,
    "replanner": lambda _: _REPLANNER_REPLY,
    "rule_reader": lambda _: _RULE_READER_REPLY,
    "selector": select_result,
    "verifier": lambda _: _VERIFIER_REPLY,
}


def reply_for_role(purpose: str, text: str) -> str | None:
    """Return a role's reply to a message, as JSON or for the reducer as text; None for a role without rules here."""
    if purpose == "reducer":
        return condense_sources(text)
    return json.dumps(_RULES_BY_ROLE[purpose](text), ensure_ascii=False) if purpose in _RULES_BY_ROLE else None
