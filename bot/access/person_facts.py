"""Classifies a person by Slack's `users.info`: a member, guest, stranger, bot or deactivated account. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

PersonStanding = Literal["ours", "guest", "stranger", "bot", "gone"]
"""`ours`: a full member. `stranger`: of another workspace (Slack Connect). `gone`: the account was deactivated."""
INVISIBLE_ERRORS = frozenset({"user_not_found", "user_not_visible"})
"""Errors of `users.info` for people whom our workspace cannot see. Such people count as strangers."""
_BOT_FLAGS = ("is_bot", "is_workflow_bot", "is_connector_bot")


@dataclass(frozen=True, slots=True)
class HomeWorkspace:
    """Our workspace: the ids of its team and of its organisation. `enterprise` is empty if there is no organisation.

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
    """Parse a reply of `users.info`, or its error. Returns None if the reply does not classify the person.

    A missing field does not count as False, as Slack declares every field as optional.
    """
    if reply.get("error") in INVISIBLE_ERRORS:
        return PersonFacts("stranger")
    profile = reply.get("user")
    if not isinstance(profile, Mapping):
        return None
    team, bot = profile.get("team_id"), profile.get("is_bot")
    if profile.get("deleted") is True:
        return PersonFacts("gone", team if isinstance(team, str) else "")
    if profile.get("id") == "USLACKBOT" or any(profile.get(mark) is True for mark in _BOT_FLAGS):
        return PersonFacts("bot", team if isinstance(team, str) else "")
    if not isinstance(bot, bool) or not isinstance(team, str) or not team or not home.team:
        return None
    if profile.get("is_stranger") is True or not _is_home_member(profile, team, home):
        return PersonFacts("stranger", team)
    guest_flags = (profile.get("is_restricted"), profile.get("is_ultra_restricted"))
    if any(limit is True for limit in guest_flags):
        return PersonFacts("guest", team)
    return PersonFacts("ours", team) if all(limit is False for limit in guest_flags) else None


def _is_home_member(person: Mapping[str, Any], team: str, home: HomeWorkspace) -> bool:
    if team == home.team:
        return True
    organisation = person.get("enterprise_user")
    enterprise = organisation.get("enterprise_id") if isinstance(organisation, Mapping) else None
    return bool(home.enterprise) and enterprise == home.enterprise
