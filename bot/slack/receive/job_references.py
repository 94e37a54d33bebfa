"""Parses the reference to a job in a person's words: its id, or a link to its thread or to a message in the thread."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from handoff.contracts import Place

_JOB_ID = re.compile(r"J[0-9A-HJKMNP-TV-Z]{10}", re.IGNORECASE)
_JOB_ID_LIKE = re.compile(r"J(?=\w*\d)\w+", re.IGNORECASE)
_MESSAGE_LINK_PATH = re.compile(r"/archives/([CDG][A-Z0-9]{2,30})/p(\d{7,20})/?")
_BARE_PLACE = re.compile(r"([CDG][A-Z0-9]{2,30})/(\d{1,12}\.\d{1,9})")
_TS = re.compile(r"\d{1,12}\.\d{1,9}")


def parse_job_reference(team: str, words: str) -> tuple[str, str]:
    """Parse the first word as a reference to a job. Returns a pair of (id of the job, words after it).

    The word may be an id, `C1/1700000000.000100`, or Slack's link to a message
    (`https://x.slack.com/archives/C1/p1700000000000100?thread_ts=...`). If it names no job, the id is "" and all words
    are returned. Whether the job exists is not checked. `team` is the id of the workspace that links are taken to mean.
    """
    first, _, rest = words.strip().partition(" ")
    word = first.strip("`<>").partition("|")[0]
    if _JOB_ID.fullmatch(word):
        return word.upper(), rest.strip()
    place = _parse_place(team, word)
    return (place.job_id, rest.strip()) if place is not None else ("", words.strip())


def looks_like_job_id(word: str) -> bool:
    """Return True for a word that was probably meant as the id of a job: J, then letters and at least one digit."""
    return _JOB_ID_LIKE.fullmatch(word.strip("`<>,.?!")) is not None


def _parse_place(team: str, word: str) -> Place | None:
    if bare := _BARE_PLACE.fullmatch(word):
        return Place(team=team, channel=bare[1], thread_ts=bare[2])
    if not word.startswith(("https://", "http://")):
        return None
    try:
        link = urlsplit(word.replace("&amp;", "&"))
        query = parse_qs(link.query)
    except ValueError:
        return None
    match = _MESSAGE_LINK_PATH.fullmatch(link.path)
    if match is None:
        return None
    thread = query.get("thread_ts", [""])[0]
    root = thread if _TS.fullmatch(thread) else f"{match[2][:-6]}.{match[2][-6:]}"
    return Place(team=team, channel=match[1], thread_ts=root)
