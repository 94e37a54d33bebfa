"""The child process that calculates: it starts the sandboxed Python (Monty), which inherits its sandbox and limits.

Input: `{"code", "program"}`. Output: `{"value", "printed"}`, or `{"error", "of_code", "printed"}` with Monty's
message; `of_code` is true if the code failed, and false if Monty itself did.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from typing import TYPE_CHECKING, Any

from specialists.sandbox.confine import claim_stdout

if TYPE_CHECKING:
    from pydantic_monty import ResourceLimits

CODE_SECONDS = 1.0
REQUEST_SECONDS = 2.5
MEMORY_BYTES = 64 * 1024 * 1024
_MAX_PRINTED_BYTES = 20_000


def main() -> None:
    """Read a request from stdin, run its code and write the reply to stdout."""
    request = json.load(sys.stdin)
    reply = claim_stdout()
    answer = _calculate(request["code"], request["program"])
    with reply:
        reply.write(json.dumps(answer).encode())


def _calculate(code: str, program: str) -> dict[str, Any]:
    import pydantic_monty  # noqa: PLC0415 - after the limits

    limits: ResourceLimits = {
        "max_feed_duration_secs": CODE_SECONDS,
        "max_memory": MEMORY_BYTES,
        "max_recursion_depth": 200,
        "max_total_sleep_secs": 0.0,
    }
    print_collector = pydantic_monty.CollectString(max_bytes=_MAX_PRINTED_BYTES)
    try:
        with (
            pydantic_monty.Monty(max_processes=1, request_timeout=REQUEST_SECONDS, binary_path=program) as pool,
            pool.checkout(limits=limits, os_policy={"sleep": "zero"}) as session,
        ):
            value = session.feed_run(code, print_callback=print_collector)
    except (pydantic_monty.MontySyntaxError, pydantic_monty.MontyRuntimeError) as error:
        location = "".join(f"line {frame.line}: " for frame in error.traceback()[-1:])
        return {"error": location + error.display("type-msg"), "printed": print_collector.output, "of_code": True}
    except pydantic_monty.MontyError as error:  # the sandbox itself ended: out of memory, or its watchdog
        return {"error": str(error), "printed": print_collector.output, "of_code": False}
    return {"value": _format_value(value), "printed": print_collector.output}


def _format_value(value: Any) -> str:
    try:
        return "" if value is None else str(value) if isinstance(value, str | dt.date | dt.time) else repr(value)
    except ValueError:  # Python refuses to write integers of more than 4,300 digits
        return f"an integer of about {value.bit_length() * 30103 // 100000 + 1:,} digits"
