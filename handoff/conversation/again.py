"""How a request takes up an earlier one of its thread: the values of second tries."""

from __future__ import annotations

from typing import Literal

from handoff.contracts import Contract

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
