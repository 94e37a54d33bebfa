"""Recognises messages that ask for a retry: “retry from prices”, “continue”, “again with the same files”.

A message counts only if it says nothing else. “Again for Lisbon” and “the same for Q2” are requests of their own, for
which the planner sees the plan of the last request (`repeats_last_request`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from handoff.contracts import Contract
from handoff.conversation.message_kinds import split_words

RetryMode = Literal["retry", "continue", "whole"]
"""The parts of the earlier request that a retry reuses.

- `retry`: the complete results. Subtasks that failed or lack something run again, with all that build on them.
- `continue`: everything, as it was when a person stopped the request. Running attempts go on after their last turn.
- `whole`: nothing. The whole plan runs again.
"""


class RetryRef(Contract):
    """A reference from a retry to the request that it repeats."""

    of: str
    """The id of that request."""
    mode: RetryMode = "retry"
    step: str = ""
    """The subtask from which the request is run again; empty: all incomplete subtasks run again."""
    gone: tuple[str, ...] = ()
    """The names of files that are no longer stored."""
    groups: tuple[str, ...] = ()
    """The user groups of the person who asks for the retry, at that time."""
    admin: bool = False
    """True if that person was an admin at that time."""


MAX_REPEAT_WORDS = 60
"""The most words of a request that repeats the last one with a change; a longer one counts as a new request."""
MAX_WISH_LENGTH = 200
"""The most characters of a message that asks for a retry and nothing else."""


@dataclass(frozen=True, slots=True)
class RetryWish:
    """A person's wish to retry a request."""

    mode: RetryMode = "retry"
    step_words: str = ""
    """The step from which to run again, in the person's words; empty: no step is named."""
    time_words: str = ""
    """The time for the retry, in the person's words; empty: now."""
    request: str = ""
    """The id of the request to try again; empty: the last one."""


_END = r"[\s.!]*$"
_PLEASE = r"^(?:please[ ,]+)?(?:can you |could you )?"
_RETRY = re.compile(
    rf"{_PLEASE}(?:retry|re-?try|try (?:it |that |this )?again|try once more|retry (?:it|that|this|what failed))"
    rf"(?:,? please)?{_END}",
    re.IGNORECASE,
)
_FROM_STEP = re.compile(
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
_REPEATS_LAST = re.compile(
    r"^(?:(?:and |now |please )*)(?:the same|same|again|once more|(?:do|run) (?:that|it|this|the same) again|repeat "
    r"(?:that|it|this))\b[ ,]+(?:but |now |only |just )*(?:for|with|in|of|on|about|from|as|to|using|without|per)\b",
    re.IGNORECASE,
)
_FOREIGN_RETRY_WISHES: Mapping[RetryMode, tuple[str, ...]] = {
    "retry": (
        "nochmal versuchen", "erneut versuchen", "versuch es nochmal", "réessaie", "réessayer", "reintenta",
        "reinténtalo", "inténtalo de nuevo", "riprova", "tenta de novo", "tente novamente", "probeer opnieuw",
    ),
    "continue": (
        "weiter", "mach weiter", "weitermachen", "continuez", "reprends", "continúa", "continua", "sigue", "ga door",
    ),
}  # fmt: skip
"""Messages in other languages that ask for a retry. The whole message must be one of them."""


def parse_retry_wish(text: str) -> RetryWish | None:
    """Return the wish of a message that asks for a retry and nothing else; None for any other message."""
    wish_text = " ".join(text.split())
    if len(wish_text) > MAX_WISH_LENGTH or not wish_text:
        return None
    if match := _FROM_STEP.match(wish_text) or _STEP.match(wish_text):
        return RetryWish(step_words=match["step"].strip(" .!"))
    if match := _LATER.match(wish_text):
        return RetryWish("whole", time_words=match["when"].strip())
    patterns: tuple[tuple[re.Pattern[str], RetryMode], ...]
    patterns = ((_RETRY, "retry"), (_CONTINUE, "continue"), (_WHOLE, "whole"))
    plain = " ".join(split_words(wish_text))
    modes = [mode for pattern, mode in patterns if pattern.match(wish_text)]
    modes += [mode for mode, words in _FOREIGN_RETRY_WISHES.items() if plain in words]
    return RetryWish(modes[0]) if modes else None


def repeats_last_request(text: str) -> bool:
    """Return True if a request repeats the last one with a change: “the same for Q2”, “again for Lisbon”."""
    return _REPEATS_LAST.match(" ".join(text.split())) is not None and len(split_words(text)) <= MAX_REPEAT_WORDS
