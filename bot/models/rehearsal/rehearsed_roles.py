"""The supervisor's short roles in the rehearsal: rules that compare and change nothing, and say so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from bot.models.rehearsal.rehearsed_brief import chunks, sections, sentences
from bot.models.rehearsal.rehearsed_words import word_set
from handoff.conversation.spoken import is_question, is_thanks, may_call, words_of

FOLLOWS_UP = word_set(
    "shorter longer simpler again instead also add remove only without as by in now please make put translate explain "
    "kürzer länger einfacher nochmal bitte nur ohne als pro auch court long seulement sans comme par más menos sin "
    "como por solo più meno senza come per"
)
"""Words with which people begin to ask for more of an answer, or for another one."""
UNDER_WAY, QUESTION = "# It is under way", "# Open question of the bot"
_KEPT = 3
"""Sentences of each source that are kept."""
_RESULT = re.compile(r'^<result id="(?P<id>[^"]+)" sure="(?P<confidence>\d+)"/>[ \t]*$', re.MULTILINE)
_DAYS = {
    "montag": "mon", "dienstag": "tue", "mittwoch": "wed", "donnerstag": "thu", "freitag": "fri", "samstag": "sat",
    "sonntag": "sun", "tag": "*", "werktag": "mon-fri", "morgen": "*",
}  # fmt: skip
_RULE = re.compile(rf"jeden ({'|'.join(_DAYS)})(?: um (\d{{1,2}})(?::(\d\d))?(?: uhr)?)?[\s,:]+", re.IGNORECASE)


def sort(text: str) -> dict[str, Any]:
    """Say what the message at the end of a dispatcher's brief is for."""
    situation, _, message = text.rpartition("# Message")
    heading, _, said = message.partition("\n")
    if is_thanks(said):
        return {"why": "it thanks", "aim": "thanks"}
    if QUESTION in situation:
        asks = is_question(said)
        return {"why": "it asks back" if asks else "a question is open", "aim": "explain" if asks else "answer"}
    words = words_of(said)
    follows = bool(words) and words[0] in FOLLOWS_UP and not may_call(said)
    if UNDER_WAY in situation and follows:
        return {"why": "it changes what is under way", "aim": "correction"}
    if "names the bot" in heading or follows:
        return {"why": "it asks for something", "aim": "request"}
    return {"why": "the rehearsal hears plain follow-ups only", "aim": "nothing"}


def refine(text: str) -> dict[str, Any]:
    """Return the brief as it was, and what to mind."""
    found = re.search(
        r"^Brief: (?P<brief>.*?)\n(?:Criterion|For): .*?^Error: (?P<error>.*)", text, re.DOTALL | re.MULTILINE
    )
    told = f"{found['brief'].strip()}\n\nMind what went wrong before: {found['error'].strip()}" if found else ""
    return {"intent": told}


def read_rule(text: str) -> dict[str, Any]:
    """Say what the words at the end of a rule reader's brief ask for, and when: in German, as it reads no other."""
    words = text.rpartition("# Words\n")[2].strip()
    empty = {"asks": "", "cron": "", "at": "", "zone": "", "until": "", "cannot": ""}
    if (found := _RULE.match(words)) is None:
        return {"schedule": True, **empty, "cannot": "no model is connected that could read it."}
    cron = f"{int(found[3] or 0)} {int(found[2] or 9)} * * {_DAYS[found[1].lower()]}"
    return {"schedule": True, **empty, "asks": words[found.end() :], "cron": cron}


def select(text: str) -> dict[str, Any]:
    """Choose the surest result, as its specialist says."""
    found = _RESULT.findall(text)
    chosen = max(found, key=lambda one: int(one[1]))[0] if found else ""
    return {"reason": "rules compare nothing, so the first of the surest is taken", "chosen": chosen}


def condense(text: str) -> str:
    """Keep the first sentences under each heading."""
    parts = chunks(sections(text, ("Request", "Goal", "Length", "Material")).get("Material", ""))
    return "\n".join("\n- ".join([f"## {name}", *sentences(body)[:_KEPT]]) for name, body in parts)


_KEEPS_PLAN = {"why": "the rehearsal keeps to its plan", "add": [], "drop": [], "reassign": [], "rebrief": []}
_REFUTES_NOTHING: dict[str, Any] = {"sentences": [], "unanswered": [], "contradictions": []}
_DECIDED: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "dispatcher": sort,
    "refiner": refine,
    "replanner": lambda _: _KEEPS_PLAN,
    "rule_reader": read_rule,
    "selector": select,
    "verifier": lambda _: _REFUTES_NOTHING,
}


def reply(purpose: str, text: str) -> str | None:
    """Return what a role says to a call's message; None for one that is not among these."""
    if purpose == "reducer":
        return condense(text)
    return json.dumps(_DECIDED[purpose](text), ensure_ascii=False) if purpose in _DECIDED else None
