"""The patterns of Slack ids: people, user groups, channels and workspaces."""

from __future__ import annotations

import re

PERSON_ID = re.compile(r"[UW][A-Z0-9]{1,30}")
GROUP_ID = re.compile(r"S[A-Z0-9]{1,30}")
CHANNEL_ID = re.compile(r"[CGD][A-Z0-9]{1,30}")
TEAM_ID = re.compile(r"[TE][A-Z0-9]{1,30}")


def is_person_id(member_id: str) -> bool:
    """Return True if an id has the form of a person's Slack id, such as `U012AB`."""
    return PERSON_ID.fullmatch(member_id) is not None


def is_group_id(member_id: str) -> bool:
    """Return True if an id has the form of a user group's Slack id, such as `S012AB`."""
    return GROUP_ID.fullmatch(member_id) is not None
