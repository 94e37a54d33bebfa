"""Finds where the task begins behind the words that say when, and the words in between that nobody understood. Pure."""

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
"""How a task begins: a verb, followed by a space or by one of these marks."""
_ORDER = re.compile(ORDER, re.IGNORECASE)
_OBJECT = re.compile(
    r"\s*$|\s+(?!(?:of|for|on|about|in|from|to|with|and|by|is|are|was|were|will|has)\b)\S", re.IGNORECASE
)
_ARTICLE = re.compile(r"(?<!\S)(?:the|an?|my|our|your|their|his|her|its|this|that|each|every|no)\s+$", re.IGNORECASE)
_TELLS = re.compile(
    r"(?:is|are|was|were|has|have|had|will|would|can|could|should|may|might|must|the|an?|my|our|we|i|you|they|it|he|she|of|"
    r"for|to|or|but|meeting|report|standup|except|that|who|when|where|if|as|than|this|these|those)\b",
    re.IGNORECASE,
)
"""Words that begin a statement, such as "every Monday we meet"."""
_CLAUSE_END = re.compile(r"[:;\n!?]|\s[-\u2013\u2014]\s")
MOST_UNREAD = 5
"""Words between a time and a task that are looked at."""


def is_order(rest: str) -> bool:
    """Return True if a text begins with an order and its object, if it goes on, such as "report the numbers"."""
    order = _ORDER.match(rest.lstrip(" \t,"))
    return order is not None and _OBJECT.match(order.string, order.end()) is not None


def find_unread_words(rest: str) -> str:
    """Return the words between a time and the order after it that belong to neither, or "".

    A colon, a dash or a new line ends the words about the time: all behind it is the task.
    """
    said = rest.lstrip(" \t,")
    clause = _CLAUSE_END.split(said, 1)[0]
    if re.match(r"[-\u2013\u2014.]\s", said) or not clause.strip() or _ORDER.match(clause) or _TELLS.match(clause):
        return ""
    starts = [word.start() for word in re.finditer(r"\S+", clause)][1 : MOST_UNREAD + 1]
    orders = (at for at in starts if is_order(clause[at:]) and not _ARTICLE.search(clause[:at]))
    if (order := next(orders, None)) is not None:
        return clause[:order].strip(" ,")
    return "" if clause[0].islower() else clause.split()[0]


def is_statement(rest: str, *, is_timed: bool, is_once: bool) -> bool:
    """Return True if the words behind a time tell something ("every day matters") and order nothing.

    Behind a colon stands an order. One day ("on Friday") is more often told of than meant as a time to come.
    """
    if re.match(r"\s*:", rest) or not rest.strip() or (is_timed and not is_once and is_order(rest)):
        return False
    first = re.match(r"[\s,;\-\u2013]*([\w']+)", rest)
    if first is None or _TELLS.fullmatch(first[1]):
        return True
    word = first[1]
    if is_timed:
        return is_once and word[0].isupper()
    return is_once or word[0].isupper() or bool(re.fullmatch(r"\w{3,}[^s\W]s", word))
