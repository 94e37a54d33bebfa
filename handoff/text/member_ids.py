"""The patterns of Slack ids: people, user groups, channels and workspaces."""

from __future__ import annotations

import re

PERSON = re.compile(r"[UW][A-Z0-9]{1,30}")
GROUP = re.compile(r"S[A-Z0-9]{1,30}")
CHANNEL = re.compile(r"[CGD][A-Z0-9]{1,30}")
TEAM = re.compile(r"[TE][A-Z0-9]{1,30}")


def is_person(one: str) -> bool:
    """Return True if an id is that of a person."""
    return PERSON.fullmatch(one) is not None


def is_group(one: str) -> bool:
    """Return True if an id is that of a user group."""
    return GROUP.fullmatch(one) is not None
