"""A child that misbehaves on request. Imported by the tests' children only."""

from __future__ import annotations

import json
import os
import sys
import time


def main() -> None:
    request = json.load(sys.stdin)
    if "die" in request:
        raise ValueError(request["die"])
    if "look" in request:
        sys.stdout.write(f"{os.getcwd()}\n{json.dumps(dict(os.environ))}")  # noqa: PTH109 - as the system says it
        return
    sys.stdout.write("x" * request.get("say", 0))
    sys.stdout.flush()
    time.sleep(60)
