"""Opens a job from its stored log, with the same outcome as `fold`, but without parsing every line.

Most lines of a long log are checkpoints, and the engine drops the checkpoints of an attempt when the attempt ends. So
the checkpoints of ended attempts are counted, not parsed. Lines are parsed if they could change the outcome: the
attempt called a writing tool, the request ended before its attempts did, or a line has an unknown type or form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import get_args

from handoff import events as ev
from handoff.contracts import PATH_SEPARATOR
from handoff.engine.engine import fold_log
from handoff.state.job_state import Job, replace

CHECKPOINT_TYPES = frozenset({"TurnTaken", "ToolReturned"})
ATTEMPT_END_TYPES = frozenset({"ResultReturned", "AttemptFailed", "Escalated"})
CHECKPOINT_INDEPENDENT_TYPES = frozenset(
    {
        "RequestAdded",
        "MessageHeard",
        "MessageAcknowledged",
        "MaterialGathered",
        "SettingKnown",
        "PlannerAsked",
        "PlanProposed",
        "AttemptStarted",
        "BriefRefined",
        "QuestionAnswered",
        "QuestionReminded",
        "TakenOver",
        "WorkResumed",
        "Posted",
        "ThreadOpened",
        "FeedbackGiven",
    }
)
"""Types of events whose outcome does not depend on checkpoints.

After such an event, no attempt is still running in a request that has ended.
"""
_EVENT_CLASSES = get_args(get_args(ev.Event)[0])
CLOSING_TYPES = (
    frozenset(one.__name__ for one in _EVENT_CLASSES if not issubclass(one, ev.AttemptEvent))
    - CHECKPOINT_INDEPENDENT_TYPES
)
"""Types of all other events that belong to no attempt. They may end a request while an attempt is running."""

# Parts of a line as `events.dump_event` writes it.
_TYPE_FIELD = '"type":"'
_TYPE_AT_END = re.compile(rf'{_TYPE_FIELD}([A-Za-z]+)","v":[0-9]+\}}')
_LINE_END_LENGTH = 60
_CONTINUE_MODE = '"mode":"continue"'
_ATTEMPT_FIELD = '","attempt":'
_ATTEMPT_FIELDS = re.compile(r'\{"at":[0-9.e+-]+,("request":"[^"\\]*","subtask":"[^"\\]*","attempt":[0-9]+),')


def parse_log(lines: Sequence[str]) -> Job | None:
    """Return the job of a whole log with one event per line; None for an empty log.

    Raises:
        NewerEventError: A newer release wrote one of the events.
        ValueError: A line is not a valid event, or the first event is not RequestAdded.
    """
    events = [ev.load_event(line) for line in _select_needed_lines(lines)]
    job = fold_log(events)
    return replace(job, seq=len(lines)) if job is not None else None


def _select_needed_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines of a log without the checkpoints of ended attempts that certainly change nothing.

    The first line always stays. All lines stay if one cannot be read, or if a request continues another one's attempts.
    """
    kinds, attempts, kept_lines = [], [], []
    # Attempts whose lines are all parsed; "" stands for lines without a recognised attempt.
    fully_parsed_attempts = {""}
    kind_by_tail: dict[str, str] = {}  # the event type by the end of the line, as there are few different ends
    match = _ATTEMPT_FIELDS.match
    for line in lines:
        tail = line[line.rfind(_TYPE_FIELD, -_LINE_END_LENGTH) :]
        kind = kind_by_tail.get(tail)
        if kind is None:
            type_match = _TYPE_AT_END.fullmatch(tail)
            kind = kind_by_tail[tail] = type_match[1] if type_match else ""
        # Its attempts continue from checkpoints of another request.
        if kind == "RequestAdded" and _CONTINUE_MODE in line:
            return list(lines)
        attempt_match = match(line) if kind not in CHECKPOINT_INDEPENDENT_TYPES else None
        attempt = attempt_match[1] if attempt_match else ""
        if kind not in CHECKPOINT_TYPES and kind not in ATTEMPT_END_TYPES:
            if not attempt and kind not in CHECKPOINT_INDEPENDENT_TYPES and kind not in CLOSING_TYPES:
                return list(lines)
            fully_parsed_attempts.add(attempt)
        kinds.append(kind)
        attempts.append(attempt)
    ended_attempts: set[str] = set()
    for place in range(len(lines) - 1, 0, -1):
        kind, attempt = kinds[place], attempts[place]
        if kind in ATTEMPT_END_TYPES:
            # A crew's attempt ends those inside it.
            inner_prefix = attempt[: attempt.rfind(_ATTEMPT_FIELD)] + PATH_SEPARATOR
            ended_attempts = {one for one in ended_attempts if not one.startswith(inner_prefix)}
            ended_attempts.add(attempt)
        elif kind not in CHECKPOINT_TYPES and kind not in CHECKPOINT_INDEPENDENT_TYPES:
            ended_attempts.clear()
        elif attempt in ended_attempts and attempt not in fully_parsed_attempts:
            continue
        kept_lines.append(lines[place])
    kept_lines += lines[:1]
    kept_lines.reverse()
    return kept_lines
