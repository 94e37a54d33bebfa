"""Tells where a task begins behind the words that say when, and which words in between nobody understood. Pure."""

from __future__ import annotations

import re

_ORDERS = """
    add alert analyse analyze answer archive ask assemble audit back brief build calculate call chart chase check clean
    close collect combine comment compare compile compose confirm convert copy count create cross-check debug delete
    describe detect digest do document double-check download draft draw edit email estimate evaluate examine explain
    export extract fetch file fill filter find fix flag forecast format forward gather generate get give go group
    highlight identify import inform inspect invite investigate keep label list load log look mail make mark measure
    mention merge message monitor move name notify open order organise organize outline pick ping plan plot post predict
    prepare print produce proofread propose publish pull push query quote rank rate read rebuild recap recheck refresh
    remind remove rename reply report request rerun research reset resolve review rewrite roll run say scan schedule
    search see select send set share show sort start state stop store suggest sum summarise summarize survey sync
    tabulate take tally tell test tidy total track transcribe translate triage turn update upload use validate verify
    visualise visualize warn watch work write
"""
_FILLERS = r"(?:please|kindly|just|also|always|then|and|automatically|briefly|quickly)\b"
ORDER = rf"(?:{_FILLERS}\s+)*(?:{'|'.join(_ORDERS.split())})(?=\s|$|[,:;.!?]|/\w)"
"""How a task begins: other marks behind the word make it none."""
ORDER_BEGINS = re.compile(ORDER, re.IGNORECASE)
_OBJECT = re.compile(r"\s+(?!(?:of|for|on|about|in|from|to|with|and|by|is|are|was|were|will|has)\b)\S", re.IGNORECASE)
_NOUN = re.compile(r"(?<!\S)(?:the|an?|my|our|your|their|his|her|its|this|that|each|every|no)\s+$", re.IGNORECASE)
_TELLS = re.compile(
    r"(?:is|are|was|were|has|have|had|will|would|can|could|should|may|might|must|the|an?|my|our|we|i|you|they|it|he|she|of|"
    r"or|but|meeting|report|standup|except|that|who|when|where|if|as|than|this|these|those)\b",
    re.IGNORECASE,
)
"""Words that begin what is told, not ordered."""
_TIMES = re.compile(
    r"(?:at|around|about|by|before|after|from|between|till|during|past|sharp\w*|ish|o'?clock)\b", re.IGNORECASE
)
_NAMES = re.compile(r"\([^)]*\)?|[+\-\u2212]?\d[\w:.]*|[A-Z][\w/.'-]*(?:\s+[A-Z][\w/.'-]*)*")
_CLAUSE = re.compile(r"[:;\n!?]|\s[-\u2013\u2014]\s")
_AT_END = re.compile(r"\s*,?\s*(?:in\s+)?(\([^)]*\)|[A-Z][\w/+-]*(?:\s+[A-Z]\w*){0,2}|(?:UTC|GMT)?\s?[+-]\d[\d:]*)\s*")
LOOKED_AT = 5
"""Words between a time and a task that are looked at."""


def unread_words(rest: str) -> str:
    """Return the words behind a time that belong neither to it nor to a task; empty if there are none.

    A colon, a dash or a new line ends what is said about the time: all behind it is the task.
    """
    said = rest.lstrip(" \t,")
    if said[:1] in "-\u2013\u2014." and said[1:2].isspace():
        return ""
    clause = said[: end.start()] if (end := _CLAUSE.search(said)) is not None else said
    if not clause.strip() or ORDER_BEGINS.match(clause) or _TELLS.match(clause):
        return ""
    starts = [word.start() for word in re.finditer(r"\S+", clause)][: LOOKED_AT + 1]
    for start in starts[1:]:
        order = ORDER_BEGINS.match(clause, start)
        if order is not None and _OBJECT.match(clause, order.end()) and not _NOUN.search(clause[:start]):
            return clause[:start].strip(" ,")
    if _TIMES.match(clause):
        return " ".join(clause.split()[:3])
    name = _NAMES.match(clause)
    return name[0] if name is not None else ""


def is_order(rest: str) -> bool:
    """Return True if a text begins with an order and what it is about, such as "report the numbers"."""
    order = ORDER_BEGINS.match(rest.lstrip(" \t,"))
    return order is not None and _OBJECT.match(order.string, order.end()) is not None


def unread_end(rest: str) -> str:
    """Return the words at the end of a request, behind a time, that look like a zone; empty if they do not."""
    found = _AT_END.fullmatch(rest)
    return found[1] if found is not None else ""
