"""Classifies a person by Slack's `users.info`: a member, guest, stranger, bot or deactivated account. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

PersonStanding = Literal["ours", "guest", "stranger", "bot", "gone"]
"""`ours`: a full member. `stranger`: of another workspace (Slack Connect). `gone`: the account was deactivated."""
INVISIBLE_ERRORS = frozenset({"user_not_found", "user_not_visible"})
"""Slack's errors for people whom our workspace cannot see: they count as strangers."""
_BOT_FLAGS = ("is_bot", "is_workflow_bot", "is_connector_bot")


@dataclass(frozen=True, slots=True)
class HomeWorkspace:
    """Our workspace: the ids of its team and of its organisation, which is empty if it belongs to none.

    `is_org_wide`: the app is installed in the whole organisation.
    """

    team: str = ""
    enterprise: str = ""
    is_org_wide: bool = False


@dataclass(frozen=True, slots=True)
class PersonFacts:
    """What Slack says about a person. `team` is the id of their workspace, empty if Slack hides it."""

    standing: PersonStanding
    team: str = ""


def parse_person_facts(reply: Mapping[str, Any], home: HomeWorkspace) -> PersonFacts | None:
    """Parse a reply of `users.info`, or its error. Returns None if the reply leaves open who the person is.

    Slack declares every field as optional, so a missing field is never taken for False.
    """
    if reply.get("error") in INVISIBLE_ERRORS:
        return PersonFacts("stranger")
    about = reply.get("user")
    if not isinstance(about, Mapping):
        return None
    team, bot = about.get("team_id"), about.get("is_bot")
    if about.get("deleted") is True:
        return PersonFacts("gone", team if isinstance(team, str) else "")
    if about.get("id") == "USLACKBOT" or any(about.get(mark) is True for mark in _BOT_FLAGS):
        return PersonFacts("bot", team if isinstance(team, str) else "")
    if not isinstance(bot, bool) or not isinstance(team, str) or not team or not home.team:
        return None
    if about.get("is_stranger") is True or not _is_of_home(about, team, home):
        return PersonFacts("stranger", team)
    limits = (about.get("is_restricted"), about.get("is_ultra_restricted"))
    if any(limit is True for limit in limits):
        return PersonFacts("guest", team)
    return PersonFacts("ours", team) if all(limit is False for limit in limits) else None


def _is_of_home(person: Mapping[str, Any], team: str, home: HomeWorkspace) -> bool:
    if team == home.team:
        return True
    organisation = person.get("enterprise_user")
    found = organisation.get("enterprise_id") if isinstance(organisation, Mapping) else None
    return bool(home.enterprise) and found == home.enterprise
