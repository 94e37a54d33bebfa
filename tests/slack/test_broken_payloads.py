"""No payload that Slack may sign ends in a 500 or goes without an answer, however broken it is."""

import json
import os
from collections import Counter
from urllib.parse import urlencode

import pytest

from tests.slack.broken_payloads import Json, make_broken_payloads, payloads
from tests.slack.test_slack_http import FORM, JSON, Door, door

__all__ = ["door"]

SEED = int(os.environ.get("LEADHAND_TEST_SEED", "20261123"))


async def knock(door: Door, way: str, payload: Json) -> int:
    """Send a payload with the ids of a person and a workspace that are there, so that the gate lets it in."""
    text = json.dumps(payload).replace('"U1"', f'"{door.ana}"').replace('"T1"', f'"{door.team}"')
    if way == "json":
        return (await door.knock(text.encode(), JSON))[0]
    fields = {"payload": text} if way == "payload" else json.loads(text)
    return (await door.knock(urlencode(fields).encode(), FORM))[0]


async def test_no_broken_payload_is_answered_with_a_500(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    seen: Counter[int] = Counter()
    wrong = []
    for way, payload in make_broken_payloads(SEED, 600):
        status = await knock(door, way, payload)
        seen[status] += 1
        if status >= 500:
            wrong.append((way, payload, caplog.records[-1].getMessage() if caplog.records else ""))
    assert not wrong, f"seed {SEED}: {len(wrong)} of {seen.total()}, such as {wrong[0]}"
    assert seen[200] > 100, seen
    assert seen[400] > 20, seen


async def test_a_payload_that_slack_could_not_record_comes_again_and_one_that_breaks_does_not(door: Door) -> None:
    way, whole = payloads()[0]
    door.service.away = True
    assert await knock(door, way, whole) == 500
    door.service.away = False
    assert await knock(door, way, {**whole, "authorizations": [1]}) == 400
    assert await knock(door, way, whole) == 200
