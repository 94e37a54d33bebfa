"""Who may use the bot, and where: persons x places x ways in x settings, each through the real app, signed.

What must come of each is worked out by `expected`, which knows nothing of the code.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from bot.access.access_values import ChannelValues
from bot.slack.show import notices
from tests.slack.signed import Door, signed_door

PERSONS = {
    "member": "ana",
    "guest": "gus",
    "guest of one channel": "uma",
    "stranger": "sol",
    "bot": "buildbot",
    "admin": "cleo",
    "in a group": "ben",
    "deleted": "ana",
}
GROUP_DM = "mpdm-ana--ben--gus-1"
PLACES = ("sales", "leads", "northwind", "dm", GROUP_DM)
WAYS = ("mention", "follow_up", "answer", "stop", "command", "typed", "shortcut", "view")
RULES = ("default", "open", "named", "closed")
SERVICE_CALLS = {
    "follow_up": "reply",
    "answer": "answer",
    "stop": "stop",
    "command": "status",
    "typed": "typed",
    "view": "request",
}
LINES = {
    "guest": "Guests cannot use me here",
    "stranger": "People of your workspace cannot use me here",
    "place": "not used in this channel",
    "not named": "Only certain people",
    "gone": "account is deactivated",
    "bot": "for people only",
}


def why_not(kind: str, place: str, rule: str) -> str:
    """Why a kind of person may not use it there; empty if they may. The rules as docs/install.md tells them."""
    if rule == "closed" and place != "dm" and kind != "admin":
        return "place"
    if kind in ("deleted", "bot"):
        return {"deleted": "gone", "bot": "bot"}[kind]
    if kind == "admin":
        return ""
    if rule == "named":
        # Named are the group @reviewers (ben) and gus, by his id. Strangers and guests are not let in besides.
        named = kind in ("in a group", "guest")
        outside = {"stranger": "stranger", "guest of one channel": "guest"}.get(kind, "not named")
        return "" if named else outside
    if rule == "open":
        return ""
    return {"stranger": "stranger", "guest": "guest", "guest of one channel": "guest"}.get(kind, "")


@dataclass(frozen=True)
class Outcome:
    """What came of something: what reached the service, the line that its person saw, the line of a command."""

    service_calls: tuple[str, ...] = ()
    line: str = ""
    answer: str = ""


def expected(kind: str, place: str, way: str, rule: str, told_reasons: set[tuple[str, str]]) -> Outcome:
    why = why_not(kind, place, rule)
    spoken = way == "mention" or (way == "follow_up" and place == "dm")
    if not why:
        # In a direct message a reply in a thread may go on with its job, or begin something new.
        reached = ("reply", "request") if spoken and way == "follow_up" else ("request",)
        return Outcome(reached if spoken else () if way == "shortcut" else (SERVICE_CALLS[way],))
    if kind == "bot" and why == "bot" and way in ("mention", "follow_up"):
        # As ever: a mention is answered in the thread, once; what it says besides is ignored.
        first = ("turned away", place) not in told_reasons
        told_reasons.add(("turned away", place))
        return Outcome(("turned away",) if way == "mention" and place != "dm" and first else ())
    if way in ("command", "typed"):
        return Outcome(answer=LINES[why])
    silent = (
        (way == "follow_up" and not spoken) or why in ("gone", "bot") or (kind == "bot" and spoken and place == "dm")
    )
    if silent or (place, why) in told_reasons:
        return Outcome()
    told_reasons.add((place, why))
    return Outcome(line=LINES[why])


def rules_of(door: Door, rule: str) -> ChannelValues:
    gus, group = door.user("gus"), door.town.group_id("reviewers")
    return {
        "default": ChannelValues(),
        "open": ChannelValues(guests=True, strangers=(door.team("sol"),)),
        "named": ChannelValues(users=(group, gus)),
        "closed": ChannelValues(allowed=False),
    }[rule]


async def outcome(door: Door, way: str, person: str, place: str, **forged_fields: Any) -> Outcome:
    """What really comes of it."""
    seen, told, opened = len(door.service.seen_calls), len(door.list_ephemerals()), door.count_windows()
    answer = await door.come(way, person, place, **forged_fields)
    reached = tuple(door.service.seen_calls[seen:])
    if way == "shortcut" and door.count_windows() > opened:
        reached = ("window",)
    lines = [str(one["text"]) for one in door.list_ephemerals()[told:] if one["user"] == door.user(person)]
    mine = [line for line in lines if line not in (notices.STOPPING, notices.OLD_BUTTON)]
    assert len(mine) <= 1, mine
    words = json.dumps(answer, ensure_ascii=False) if way in ("command", "typed") and not reached else ""
    return Outcome(reached, "".join(mine), words)


def same(actual_outcome: Outcome, expected_outcome: Outcome, way: str) -> bool:
    window = way == "shortcut" and expected_outcome == Outcome()
    return (
        (
            actual_outcome.service_calls == expected_outcome.service_calls
            or (window and actual_outcome.service_calls in {(), ("window",)})
        )
        and bool(actual_outcome.line) == bool(expected_outcome.line)
        and expected_outcome.line in actual_outcome.line
        and bool(actual_outcome.answer) == bool(expected_outcome.answer)
        and expected_outcome.answer in actual_outcome.answer
    )


@pytest.mark.parametrize("kind", PERSONS)
async def test_who_may_use_it_where_in_which_way(kind: str) -> None:
    person, tried, told = PERSONS[kind], 0, set[tuple[str, str]]()
    async with signed_door(admins=("cleo",)) as door:
        if kind == "deleted":
            door.town.deactivate("ana")
        for rule in RULES:
            door.gate.everywhere = rules_of(door, rule)
            door.gate.marks.clear()
            told = {one for one in told if one[0] == "turned away"}  # that mark is the service's
            for place in PLACES:
                for way in WAYS:
                    refused, windows = len(door.gate.audit_entries), door.count_windows()
                    wanted = expected(kind, place, way, rule, told)
                    found = await outcome(door, way, person, place)
                    assert same(found, wanted, way), (kind, rule, place, way, found, wanted)
                    why = why_not(kind, place, rule)
                    if way == "shortcut":
                        assert (door.count_windows() > windows) == (not why), (kind, rule, place)
                    deed = bool(why) and (way != "follow_up" or (place == "dm" and kind != "bot"))
                    deed = deed and not (kind == "bot" and way == "mention" and place == "dm")
                    notes = door.gate.audit_entries[refused:]
                    assert len(notes) == deed, (kind, rule, place, way, notes)
                    tried += 1
        assert all(note.outcome == "refused" and note.user and note.why for note in door.gate.audit_entries)
        assert door.town.call_count("users.info") <= 1, "asked once, and kept for a few minutes"
        assert all(place.team == door.town.team_id for place in door.service.places)
    assert tried == len(RULES) * len(PLACES) * len(WAYS)


FORGERIES: list[tuple[str, str, str, dict[str, Any], str]] = [
    # who, where, way, what the payload claims, the line that must come of it (empty: it is let through)
    ("gus", "sales", "mention", {"event__user_profile": {"team": "HOME", "is_restricted": False}}, LINES["guest"]),
    ("gus", "sales", "stop", {"user__is_restricted": False, "team__id": "HOME"}, LINES["guest"]),
    ("sol", "northwind", "mention", {"event__team": "HOME", "event__user_team": "HOME"}, LINES["stranger"]),
    ("sol", "northwind", "mention", {"event__team": None, "event__user_team": None}, LINES["stranger"]),
    ("sol", "northwind", "mention", {"is_ext_shared_channel": False, "event__team": "HOME"}, LINES["stranger"]),
    ("sol", "northwind", "answer", {"user__team_id": "HOME", "team__id": "HOME"}, LINES["stranger"]),
    ("sol", "northwind", "view", {"user__team_id": "HOME", "team__id": "HOME"}, LINES["stranger"]),
    ("ana", "sales", "mention", {"event__user_team": "T0OTHER"}, LINES["stranger"]),
    ("ana", "leads", "mention", {"event__user_profile": {"team": "T0OTHER"}}, LINES["stranger"]),
    ("ana", "northwind", "mention", {"event__user_profile": {"is_ultra_restricted": True}}, LINES["guest"]),
    ("ana", "sales", "answer", {"team__id": "T0OTHER"}, LINES["stranger"]),
    ("ana", "leads", "answer", {"user__team_id": "T0OTHER"}, LINES["stranger"]),
    ("ana", "northwind", "mention", {"event__team": None, "event__user_team": None, "event__source_team": None}, ""),
    ("ana", "sales", "mention", {"team_id": "T0OTHER"}, ""),
    ("ana", "sales", "mention", {"event__user_team": "E0ORG"}, ""),
]


async def test_what_a_payload_claims_counts_against_a_person_only() -> None:
    async with signed_door() as door:
        for person, place, way, claims, line in FORGERIES:
            door.gate.marks.clear()
            door.gate.people._cache.clear()
            home = json.loads(json.dumps(claims).replace('"HOME"', json.dumps(door.town.team_id)))
            found = await outcome(door, way, person, place, **home)
            told = (bool(found.service_calls), line in found.line, bool(found.line))
            assert told == (not line, True, bool(line)), (person, place, way, claims, found)
        assert all(where.team == door.town.team_id for where in door.service.places), "all is kept by our own team"


async def test_a_payload_for_another_installation_does_nothing() -> None:
    async with signed_door() as door:
        wide = {"team_id": None, "enterprise_id": "E0OTHER", "is_enterprise_install": True}
        for named in ({"team_id": "T0OTHER"}, wide):
            found = await outcome(door, "mention", "ana", "sales", authorizations=[named])
            assert found == Outcome(), named
        assert (door.gate.audit_entries, door.town.call_count("users.info")) == ([], 0)


async def test_what_the_payload_says_itself_costs_no_question_to_slack() -> None:
    async with signed_door() as door:
        assert LINES["stranger"] in (await outcome(door, "mention", "sol", "northwind")).line
        door.gate.everywhere = ChannelValues(allowed=False)
        assert LINES["place"] in (await outcome(door, "mention", "gus", "sales")).line
        assert door.town.call_count("users.info") == 0


async def test_a_mention_is_put_off_where_slack_cannot_be_asked_and_taken_when_it_comes_again() -> None:
    async with signed_door() as door:
        body = door._mention("ana", "sales")
        door.town.faults.add("users.info", "error", error="internal_thing", times=2)
        door.expected_status = 500
        for _ in range(2):
            await door.knock(body)
        assert ["Slack brings it to me again" in one["text"] for one in door.list_ephemerals()] == [True], "told once"
        assert (door.service.seen_calls, door.gate.audit_entries) == ([], [])
        door.expected_status = 200
        await door.knock(body)
        assert door.service.seen_calls == ["request"]
        door.town.faults.add("users.info", "error", error="internal_thing")
        door.gate.people._cache.clear()
        door.expected_status = 500
        assert await outcome(door, "follow_up", "ana", "sales") == Outcome(), "put off, without a word"


@pytest.mark.parametrize("way", ["answer", "stop", "command", "shortcut", "view"])
async def test_where_slack_cannot_be_asked_nothing_is_done_and_it_is_no_refusal_for_ever(way: str) -> None:
    async with signed_door() as door:
        for error in ("internal_thing", "missing_scope"):
            door.town.faults.add("users.info", "error", error=error)
            found = await outcome(door, way, "ana", "sales")
            assert not found.service_calls
            assert "could not ask Slack" in (found.line or found.answer)
            assert "Try again" in (found.line or found.answer), "each time: what was lost was another thing"
        assert [note.why for note in door.gate.audit_entries] == ["Slack could not say who it is"] * 2
        opened = door.count_windows()
        found = await outcome(door, way, "ana", "sales")
        assert found.service_calls or door.count_windows() > opened


async def test_a_group_that_cannot_be_read_is_no_refusal_for_ever() -> None:
    async with signed_door() as door:
        door.gate.everywhere = rules_of(door, "named")
        door.town.faults.add("usergroups.list", "error", error="internal_thing")
        assert "could not ask Slack" in (await outcome(door, "stop", "ben", "sales")).line
        assert (await outcome(door, "mention", "ben", "sales")).service_calls == ("request",)


async def test_other_peoples_talk_is_not_looked_up() -> None:
    async with signed_door() as door:
        await door.come("follow_up", "ana", "sales", event__thread_ts=None)
        assert {call.method for call in door.town.calls()} == {"auth.test"}, (
            "a message at the top of a channel that is not for the bot"
        )

        door.service.is_job_known = False
        assert (await outcome(door, "follow_up", "gus", "sales")) == Outcome()
        assert door.town.call_count("users.info") == 0, "nobody is looked up in a thread without a job"


async def test_an_edit_by_somebody_who_may_not_changes_nothing_and_a_deletion_always_does() -> None:
    async with signed_door() as door:
        for person, reached in (("gus", ()), ("ana", ("edit",))):
            said = {"ts": "1.5", "thread_ts": "1.1", "user": door.user(person), "text": "b", "edited": {"ts": "2.1"}}
            change = {"type": "message", "subtype": "message_changed", "hidden": True, "channel_type": "channel"}
            before = {**said, "text": "a"}
            body = door._event(person, "sales", {**change, "message": said, "previous_message": before, "ts": "9.1"})
            del body["event"]["user"]
            seen = len(door.service.seen_calls)
            await door.knock(body)
            assert tuple(door.service.seen_calls[seen:]) == reached
        gone = {"type": "message", "subtype": "message_deleted", "hidden": True, "deleted_ts": "1.5", "ts": "9.2"}
        body = door._event("gus", "sales", {**gone, "previous_message": {"ts": "1.5", "user": door.user("gus")}})
        del body["event"]["user"]
        await door.knock(body)
        assert door.service.changes == ["1.5 is gone"]


@pytest.mark.parametrize(
    ("windows", "why"),
    [
        (('{"channel": "C"}', '{"place": {"team": "T", "channel": "C"}}'), []),
        (('{"place": ["C"]}', '{"channel": ["C"]}', "[]", "null", "C"), ["a guest"]),
    ],
)
async def test_a_window_is_judged_by_the_channel_that_it_was_opened_in(
    windows: tuple[str, ...], why: list[str]
) -> None:
    async with signed_door() as door:
        channel = door.place("sales")
        door.gate.file[channel] = ChannelValues(guests=True)
        for metadata in windows:
            door.gate.audit_entries.clear()
            await door.come("view", "gus", "sales", view__private_metadata=metadata.replace('"C"', json.dumps(channel)))
            assert [note.why for note in door.gate.audit_entries] == why, metadata


async def test_the_home_of_somebody_who_may_not_says_so() -> None:
    async with signed_door() as door:
        for person, words in (("gus", LINES["guest"]), ("ana", "mention me in a channel")):
            await door.knock(door._event(person, "dm", {"type": "app_home_opened", "tab": "home"}))
            home = door.town.person(person).home()
            assert home is not None
            assert words in json.dumps(home, ensure_ascii=False)


async def test_while_the_store_is_away_what_was_last_read_holds() -> None:
    async with signed_door() as door:
        door.gate.everywhere = ChannelValues(guests=True)
        assert (await outcome(door, "mention", "gus", "sales")).service_calls == ("request",)
        door.gate.memory_settings.away = True
        door.gate.settings._forms = {team: (0.0, rows) for team, (_, rows) in door.gate.settings._forms.items()}
        assert (await outcome(door, "mention", "gus", "sales")).service_calls == ("request",)
        door.gate.settings._forms.clear()
        found = await outcome(door, "command", "gus", "sales")
        assert notices.NOT_RECORDED in found.answer
        found = await outcome(door, "answer", "gus", "sales")
        assert (found.service_calls, found.line) == ((), notices.NOT_RECORDED)
        with pytest.raises(AssertionError, match="500"):
            await door.come("mention", "gus", "sales")
