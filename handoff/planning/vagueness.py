"""Finds briefs that say nothing specific ("analyze the data").

A brief is refused only if nothing specific is left of it without the words that fit every task. Any name, number,
file, quotation or word of a subject counts as specific, and so does every word of a language other than English. So
the check errs on the side of letting a brief pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MIN_WORDS = 2
MIN_UNSPACED = 4
"""Letters that a brief must have in a script without spaces between words."""
ENOUGH = 3
"""The number of subject words that make a brief specific enough if it only says what to look at."""

_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*", re.UNICODE)
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_MARKED = re.compile(r"\d|[\"“”«»`#@$€£%]|https?:|\w[._/]\w|(?<!\w)'\w")
"""Signs of something specific: numbers, quotations, names of files and columns, addresses."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LITTLE = _words(
    """
    a about above accordingly after again all also always an and any appropriate are around as asap ask asked asks
    assigned at available back be been before below best better both but by can carefully completed completely
    comprehensive correctly could detailed different do does done each either else entire entirely etc every
    everything existing first fit following for from full fully further general give given go good has have helpful
    here high-quality how if important in in-depth into is it its itself just like main make may me more most much
    must my necessary need needed needs next not of off on once one only or other our out over overall own please
    possible proper properly provided quickly really relevant required see several should so some specific such
    suitable sure take takes than that the their them then there these they this thorough thoroughly those through
    to too under until up upon us various very want was way we well were what whatever when where whether which
    while who whole will with within without would you your
    """
)
_DOING = _words(
    """
    address analyse analyses analysing analyze analyzing approach assess assist check clean collect complete conduct
    consider consult continue cover deal dive ensure evaluate examine execute explore figure finalise finalize find
    finish fix gather generate get handle help identify improve inspect investigate look manage obtain optimise
    optimize perform prepare proceed process produce provide read report respond review run show solve start study
    support tackle think try understand use using utilise utilize work
    """
)
_ANYTHING = _words(
    """
    action actions analyses analysis answer area areas aspect aspects attachment attachments background case content
    contents context data dataset datasets deliverable deliverables detail details document documents effort
    examination example examples fact facts file files finding findings goal goals info information input inputs
    insight insights instruction instructions issue issues item items job material materials matter matters
    objective objectives output outputs part parts piece pieces point points problem problems project purpose
    question questions request requested requester requirement requirements research resource resources result
    results set sets situation solution solutions source sources step steps stuff subject subtask task tasks thing
    things topic topics user user's users
    """
)
_ONLY_LOOKING = re.compile(
    r"^(please\s+)?(analy[sz]e|look\s+(at|through|over)|handle|process|work\s+(on|with)|deal\s+with|take\s+care\s+of|"
    r"explore|examine|inspect|study|manage)\b",
    re.IGNORECASE,
)
_WITH_AN_END = re.compile(
    r"\b(and|then|to|by|for|so|whether|why|how|which|who|when|where|what|per|against|versus|vs|between|find|name|list|"
    r"report|say|tell|give|rank|compare|count|quote|return|summar\w+|explain|state)\b|[:;?]",
    re.IGNORECASE,
)
_EARLIER = re.compile(
    r"\b(earlier|previous|prior|preceding|results?|findings?|contents?|documents?|outputs?|materials?|solutions?)\b",
    re.IGNORECASE,
)


def fault_of(intent: str, done_when: str = "", *, builds_on: bool = False) -> str:
    """Say why a brief is too vague to work by, and what to add; empty if it is good enough.

    `done_when` is its acceptance criterion, which may name the deliverable that the brief leaves out. `builds_on`: it
    waits for other subtasks, so that "the earlier results" is an object like any other.
    """
    words = [word.casefold() for word in _WORD.findall(intent)]
    unspaced = len(_UNSPACED.findall(intent))
    if unspaced:
        return "" if unspaced >= MIN_UNSPACED or _MARKED.search(intent) else _TOO_SHORT
    if len(intent.split()) < MIN_WORDS:
        return _TOO_SHORT
    if builds_on and _EARLIER.search(intent):
        return ""
    if not _is_specific(intent, words):
        return _no_object(words)
    if _ONLY_LOOKING.match(intent.strip()) and _is_thin(intent, words) and not _says_an_end(intent, done_when):
        return "it says what to look at, not what to hand back; add the question to answer or the deliverable"
    return ""


_TOO_SHORT = "say what, of what, how"


def _is_specific(text: str, words: Iterable[str]) -> bool:
    return bool(_MARKED.search(text)) or any(word not in _LITTLE | _DOING | _ANYTHING for word in words)


def _is_thin(text: str, words: Iterable[str]) -> bool:
    about = [word for word in words if word not in _LITTLE | _DOING | _ANYTHING]
    return len(about) < ENOUGH and not _MARKED.search(text)


def _no_object(words: list[str]) -> str:
    """Name the words that would have to be more specific, as nothing in the brief is about this task."""
    anything = next((word for word in words if word in _ANYTHING), "")
    if anything:
        return f"{anything!r} could be any; name which, what to find in it and what to hand back"
    return "it names no object and no deliverable; say what to work on and what to hand back"


def _says_an_end(intent: str, done_when: str) -> bool:
    if _WITH_AN_END.search(_ONLY_LOOKING.sub("", intent.strip(), count=1)):
        return True
    return _is_specific(done_when, [word.casefold() for word in _WORD.findall(done_when)])
