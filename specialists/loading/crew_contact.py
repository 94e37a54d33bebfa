"""Reads a crew's `contact`: whom people are sent to when nothing works."""

from __future__ import annotations

import re

import yaml

from specialists.files import crew_nodes as nodes
from specialists.files.crew_nodes import FaultCollector

PLACE = "{contact}"
"""Where the contact stands in a specialist's prompt."""
NOBODY = "nobody (the crew names no contact)"
LONGEST = 120
_ODD = re.compile(r"[<>\n\r]")
_SPOKEN = re.compile(r"<[@#!]")


def read(noting: FaultCollector, node: yaml.Node) -> str:
    """Read a Slack id of a person (U...), user group (S...) or channel (C...), or words such as a mail address."""
    said = nodes.text(noting, node, "contact").strip()
    if _SPOKEN.match(said):
        noting.fault(node, f"contact takes the bare id, not {said}: U0123ABCD, S0123ABCD or C0123ABCD")
        return ""
    if _ODD.search(said) or len(said) > LONGEST:
        text = f"contact takes an id of Slack, or words on one line, at most {LONGEST} characters and without < and >"
        noting.fault(node, text)
        return ""
    return said


def insert_contact(prompt: str, contact: str) -> str:
    """Put the contact into a prompt that has a place for it."""
    return prompt.replace(PLACE, contact or NOBODY)
