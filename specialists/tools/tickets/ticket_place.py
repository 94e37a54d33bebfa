"""Reads the operator's setting of the place where tickets are opened."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote, urlsplit

from handoff.text.slack_ids import CHANNEL_ID, is_person_id
from specialists.service_url import find_web_url_fault, parse_service_url

TICKETS_SETTING = "LEADHAND_TICKETS"
CONTACT_KEYWORD = "contact"
NO_PLACE_MESSAGE = (
    f"No ticket can be opened here: nothing is set up. Whoever runs the bot sets {TICKETS_SETTING}, such as "
    f"{TICKETS_SETTING}=message:#help "
    "or list:#help, or gives the crew's contact in crew.yml as an id of Slack (C0123ABCD)"
)
SETTING_FORMS = (
    "github:OWNER/REPOSITORY, gitlab:GROUP/PROJECT, list:#channel (rows of a Slack list) or message:#channel "
    "(contact in place of #channel: the crew's contact)"
)
_PROJECT_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+")
_TOKEN_SETTINGS = {"github": "GITHUB_TOKEN", "gitlab": "GITLAB_TOKEN"}
_LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class TicketPlace:
    """The place where tickets are opened.

    Attributes:
        kind: `github` and `gitlab` take issues, `list` rows of a Slack list, `message` messages.
        path: The repository or project; for rows and messages the channel or `contact`; for messages also a person.
        issues_url: The API address of its list of issues; "" if it is in Slack.
        token: The token for its forge.
        fault: Why it cannot be used, and what to do; "" if it can be.
    """

    kind: Literal["github", "gitlab", "list", "message"]
    path: str
    issues_url: str = ""
    token: str = ""
    fault: str = ""

    @property
    def display_name(self) -> str:
        """Its name for people."""
        names = {"github": "GitHub", "gitlab": "GitLab"}
        return f"{names[self.kind]} issues of {self.path}" if self.kind in names else self.path

    @property
    def host(self) -> str:
        """The host of its issues, as people know it."""
        host = urlsplit(self.issues_url).hostname or ""
        return "github.com" if host == "api.github.com" else host


def read_ticket_place(env: Mapping[str, str]) -> TicketPlace:
    """Read the setting. If nothing is set up, a ticket is a message to the crew's contact."""
    text = env.get("LEADHAND_TICKETS", "").strip()
    kind, _, path = (text or f"message:{CONTACT_KEYWORD}").partition(":")
    path = path.strip()
    if kind == "message" and path:
        return TicketPlace("message", path)
    if kind == "list" and path:
        return TicketPlace("list", path)
    if kind not in _TOKEN_SETTINGS or not _PROJECT_PATH.fullmatch(path) or (kind == "github" and path.count("/") != 1):
        return TicketPlace("message", "", fault=f"{TICKETS_SETTING}={text!r} is not understood; set {SETTING_FORMS}.")
    return _make_forge_place(kind, path, env)


def is_addressable(contact: str) -> bool:
    """Return True if a crew's contact can get messages: a Slack id, #channel or @person, and not just a description."""
    return is_person_id(contact) or CHANNEL_ID.fullmatch(contact) is not None or contact.startswith(("#", "@"))


def _make_forge_place(kind: str, path: str, env: Mapping[str, str]) -> TicketPlace:
    if kind == "github":
        token = env.get("GITHUB_TOKEN", "").strip()
        base_url = (env.get("GITHUB_API_URL") or "https://api.github.com").rstrip("/")
        place = TicketPlace("github", path, f"{base_url}/repos/{path}/issues", token)
    else:
        token = env.get("GITLAB_TOKEN", "").strip()
        base_url = (env.get("GITLAB_URL") or "https://gitlab.com").rstrip("/")
        place = TicketPlace("gitlab", path, f"{base_url}/api/v4/projects/{quote(path, safe='')}/issues", token)
    setting = "GITHUB_API_URL" if kind == "github" else "GITLAB_URL"
    if fault := find_web_url_fault(base_url):
        return TicketPlace(place.kind, path, fault=f"{setting} {fault}.")
    return TicketPlace(
        place.kind, place.path, place.issues_url, place.token, _find_place_fault(place, base_url, setting)
    )


def _find_place_fault(place: TicketPlace, base: str, setting: str) -> str:
    if not place.token:
        return (
            f"{TICKETS_SETTING} names {place.path}, and {_TOKEN_SETTINGS[place.kind]} is not set: nobody may open "
            "issues without it."
        )
    address = parse_service_url(base, ("https", "http"))
    if address.scheme != "https" and address.host not in _LOOPBACK_HOSTS:
        return f"{setting} is not https: the token would go over the network in clear. Name an https address."
    return ""
