"""What people say to have something tried again: “retry from prices”, “continue”, “again with the same files”.

Only words that say nothing else are a wish of this kind. “Again for Lisbon” and “the same for Q2” are requests of their
own: the planner is shown the plan of the request before them (`repeats_last_request`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from handoff.contracts import Contract
from handoff.conversation.message_kinds import words_of

AgainMode = Literal["retry", "continue", "whole"]
"""What is taken over of the earlier request.

- `retry`: what has a result stays; what failed, is missing or lacks something is run again, with all that builds on it.
- `continue`: all of it as it stood when a person stopped it: what was under way goes on after its last model turn.
- `whole`: nothing; all of its plan is run again.
"""


class RetryRef(Contract):
    """What a second try takes up: the request of the id `of`.

    `step` is the subtask from which it is run again; empty: what failed. `gone` are the names of files that are not
    kept any more. `groups` and `admin` are those of who asked for it, at that time.
    """

    of: str
    mode: AgainMode = "retry"
    step: str = ""
    gone: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    admin: bool = False


MOST_WORDS = 60
"""Words of a request that is the last one in other words; a longer one says itself what it wants."""
LONGEST = 200
"""Characters of a wish; what is longer asks for more."""


@dataclass(frozen=True, slots=True)
class RetryWish:
    """What is wanted of an earlier request.

    `step` names the step from which it is run again, in the words of who said so; empty: none is named. `when`, if not
    empty, is a time in their words: nothing is tried now. `request` is the id of that request; empty: the last one.
    """

    mode: AgainMode = "retry"
    step: str = ""
    when: str = ""
    request: str = ""


_END = r"[\s.!]*$"
_PLEASE = r"^(?:please[ ,]+)?(?:can you |could you )?"
_RETRY = re.compile(
    rf"{_PLEASE}(?:retry|re-?try|try (?:it |that |this )?again|try once more|retry (?:it|that|this|what failed))"
    rf"(?:,? please)?{_END}",
    re.IGNORECASE,
)
_FROM = re.compile(
    rf"{_PLEASE}(?:retry|try (?:it |that )?again|re-?run|run (?:it |that )?again|continue|go on)"
    r"(?: it| that)? (?:from|at|starting (?:from|at|with)) (?:the )?(?P<step>\S.*?)(?: on| again)?(?:,? please)?"
    rf"{_END}",
    re.IGNORECASE,
)
_STEP = re.compile(rf"{_PLEASE}(?:retry|re-?run) (?P<step>(?:step|part|no\.?|#) ?\S.*?|\d+){_END}", re.IGNORECASE)
_CONTINUE = re.compile(
    rf"{_PLEASE}(?:continue|go on|carry on|resume|proceed)(?: (?:it|that|with (?:it|that)))?(?:,? please)?{_END}",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    rf"{_PLEASE}(?:again|(?:do|run) (?:it|that|this|all of it|everything) again|redo(?: it| that)?)"
    rf"(?: with the same files?)?(?:,? please)?{_END}",
    re.IGNORECASE,
)
_LATER = re.compile(
    rf"{_PLEASE}(?:again|once more|(?:do|run) (?:it|that|this) again|the same(?: again)?)(?: with the same files?)?,? "
    r"(?P<when>(?:on (?:mon|tues?|wednes|thurs?|fri|satur|sun)(?:day)?s?|(?:every|each|daily|weekly|monthly|tomorrow|"
    r"tonight|next (?:week|month|mon|tue|wed|thu|fri|sat|sun)|in \d+ (?:minute|hour|day|week)|at \d))\b.*?)[\s.!]*$",
    re.IGNORECASE,
)
_LAST = re.compile(
    r"^(?:(?:and |now |please )*)(?:the same|same|again|once more|(?:do|run) (?:that|it|this|the same) again|repeat "
    r"(?:that|it|this))\b[ ,]+(?:but |now |only |just )*(?:for|with|in|of|on|about|from|as|to|using|without|per)\b",
    re.IGNORECASE,
)
_ELSEWHERE: Mapping[AgainMode, tuple[str, ...]] = {
    "retry": (
        "nochmal versuchen", "erneut versuchen", "versuch es nochmal", "réessaie", "réessayer", "reintenta",
        "reinténtalo", "inténtalo de nuevo", "riprova", "tenta de novo", "tente novamente", "probeer opnieuw",
    ),
    "continue": (
        "weiter", "mach weiter", "weitermachen", "continuez", "reprends", "continúa", "continua", "sigue", "ga door",
    ),
}  # fmt: skip
"""The same in other languages, as whole messages."""


def wish_of(text: str) -> RetryWish | None:
    """Return what a text wants to have tried again; None if it asks for anything else."""
    said = " ".join(text.split())
    if len(said) > LONGEST or not said:
        return None
    if found := _FROM.match(said) or _STEP.match(said):
        return RetryWish(step=found["step"].strip(" .!"))
    if found := _LATER.match(said):
        return RetryWish("whole", when=found["when"].strip())
    ways: tuple[tuple[re.Pattern[str], AgainMode], ...]
    ways = ((_RETRY, "retry"), (_CONTINUE, "continue"), (_WHOLE, "whole"))
    plain = " ".join(words_of(said))
    modes = [mode for pattern, mode in ways if pattern.match(said)]
    modes += [mode for mode, words in _ELSEWHERE.items() if plain in words]
    return RetryWish(modes[0]) if modes else None


def repeats_last_request(text: str) -> bool:
    """Return True if a request is the last one in other words: “the same for Q2”, “again for Lisbon”."""
    return _LAST.match(" ".join(text.split())) is not None and len(words_of(text)) <= MOST_WORDS
