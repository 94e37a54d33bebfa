"""Tickets: issues in the wire formats of GitHub and GitLab, or a message; once, and with nothing in them that acts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from specialists.tools.messenger import CommonReaders
from specialists.tools.tickets import issue_tracker, ticket_tools
from specialists.tools.tickets.issue_tracker import sanitize_body
from specialists.tools.tickets.ticket_place import read_ticket_place
from specialists.tools.tool import PreparedCall, Tool, ToolOutcome
from specialists.tools.toolkit import ToolSettings
from tests.specialists.deed_bench import KeptMessenger, bench
from tests.specialists.local_web import Site, serving

KEY = "5f9c1c8e-0000-4000-8000-000000000001"
TOKEN = "ghp_of-a-test"


@dataclass
class Tracker:
    """A server that has issues of one project. `drops`: it takes an issue and gives no answer. `says`: its status."""

    site: Site = field(default_factory=lambda: Site(0))
    issues: list[dict[str, Any]] = field(default_factory=list)
    drops: bool = False
    says: int = 201

    async def handle(self, request: web.Request) -> web.StreamResponse:
        github = request.raw_path.startswith("/repos/acme/shop/issues")
        gitlab = request.raw_path.startswith("/api/v4/projects/acme%2Fweb%2Fshop/issues")
        given = request.headers.get("Authorization" if github else "PRIVATE-TOKEN", "").removeprefix("Bearer ")
        if given != TOKEN or not (github or gitlab):
            raise web.HTTPNotFound(text='{"message": "Not Found"}')
        if request.method == "GET":
            assert request.query["state"] == "all"
            size, page = int(request.query["per_page"]), int(request.query["page"])
            newest = self.issues[::-1]
            return web.json_response(newest[(page - 1) * size : page * size])
        if self.says != 201:
            return web.json_response({"message": "Validation Failed"}, status=self.says)
        made = await request.json()
        address = f"{self.site.url()}acme/shop/issues/{len(self.issues) + 1}"
        self.issues.append({**made, "created_at": "2026-11-20T08:00:00Z", "html_url" if github else "web_url": address})
        if self.drops:
            request.transport.abort()
        return web.json_response(self.issues[-1], status=201)

    def tool(self, kind: str) -> Tool:
        env = {"GITHUB_API_URL": self.site.url("").rstrip("/"), "GITLAB_URL": self.site.url("").rstrip("/")}
        env |= {"GITHUB_TOKEN": TOKEN, "GITLAB_TOKEN": TOKEN}
        env["LEADHAND_TICKETS"] = "github:acme/shop" if kind == "github" else "gitlab:acme/web/shop"
        (made,) = ticket_tools.tools(ToolSettings(env))
        return made


@asynccontextmanager
async def tracker() -> AsyncIterator[Tracker]:
    found = Tracker()
    async with serving(found.handle) as site:
        found.site = site
        yield found


def arguments(**more: str) -> ticket_tools.OpenTicketArguments:
    given = {"title": "The nightly export fails", "body": "Since **2 November**.\n\n/close @ops", **more}
    return ticket_tools.OpenTicketArguments(**given)


async def prepare_call(
    ticket_tool: Tool, folder: Path, messenger: KeptMessenger | None = None, **more: str
) -> PreparedCall:
    at = bench(folder, messenger)
    ready = await ticket_tool.prepare(arguments(**more), at)
    assert isinstance(ready, PreparedCall), ready
    assert await ticket_tool.prepare(ready.arguments, at) == ready
    return ready


@pytest.mark.parametrize("kind", ["github", "gitlab"])
async def test_an_issue_is_opened_and_found_again_by_its_key(tmp_path: Path, kind: str) -> None:
    async with tracker() as far:
        made = far.tool(kind)
        ready, at = await prepare_call(made, tmp_path, to="somewhere else"), bench(tmp_path)
        name = "GitHub issues of acme/shop" if kind == "github" else "GitLab issues of acme/web/shop"
        assert made.target(ready.arguments) == name, "a model cannot choose where it goes"
        assert await made.look_up(ready.arguments, at, KEY) is None
        outcome = await made.run(ready.arguments, at, KEY)
        assert outcome.text == f"The ticket is open: {far.site.url()}acme/shop/issues/1."
        assert outcome.sources == (f"{far.site.url()}acme/shop/issues/1",)
        far.issues += [{"body": "another", "description": "another"}] * 150
        assert await made.look_up(ready.arguments, at, KEY) == outcome
    issue = far.issues[0]
    assert issue["title"] == "The nightly export fails"
    text = issue["body" if kind == "github" else "description"]
    assert text == f"Since **2 November**.\n\n\\/close `@ops`\n\n<!-- leadhand:{KEY} -->"


@pytest.mark.parametrize("kind", ["github", "gitlab"])
async def test_what_certainly_failed_is_told_and_what_may_have_happened_is_looked_up(tmp_path: Path, kind: str) -> None:
    async with tracker() as far:
        made, at = far.tool(kind), bench(tmp_path)
        ready = (await prepare_call(made, tmp_path)).arguments
        far.says = 422
        outcome = await made.run(ready, at, KEY)
        assert outcome.failed
        assert outcome.text == "No ticket was opened: 127.0.0.1 answered 422: Validation Failed."
        far.says = 502
        with pytest.raises(issue_tracker.IssueOutcomeUnknown):
            await made.run(ready, at, KEY)
        assert await made.look_up(ready, at, KEY) is None
        far.says, far.drops = 201, True
        with pytest.raises(issue_tracker.IssueOutcomeUnknown):
            await made.run(ready, at, KEY)
        found = await made.look_up(ready, at, KEY)
        assert "The ticket is open" in found.text
        assert len(far.issues) == 1
        far.issues += [{"body": "x", "description": "x", "created_at": "2999-01-01T00:00:00Z"}] * 300
        with pytest.raises(issue_tracker.IssueOutcomeUnknown):
            await made.look_up(ready, at, KEY)
    away = await made.run(ready, at, KEY)
    assert away.failed
    assert "cannot be reached" in away.text
    (other,) = ticket_tools.tools(ToolSettings({"LEADHAND_TICKETS": "github:acme/other", "GITHUB_TOKEN": TOKEN}))
    assert other.sends(ready).to == "github.com"


async def test_without_a_forge_a_ticket_is_a_message_to_the_contact(tmp_path: Path) -> None:
    (made,) = ticket_tools.tools(ToolSettings())
    messenger = KeptMessenger(
        readers=CommonReaders(frozenset({"U1"}), "U1", frozenset(), "this private channel", "#help")
    )
    ready = await prepare_call(made, tmp_path, messenger)
    at = bench(tmp_path, messenger)
    assert (ready.arguments.to, ready.readers) == ("#help (C0HELP)", messenger.readers)  # type: ignore[attr-defined]
    assert "It may tell #help what was said in this private channel" in ready.why
    assert await made.look_up(ready.arguments, at, KEY) is None
    assert (await made.run(ready.arguments, at, KEY)).text == "The ticket was sent to #help (C0HELP)."
    assert messenger.sent_messages[KEY][1].startswith("**The nightly export fails**\n\nSince")
    assert await made.look_up(ready.arguments, at, KEY) == ToolOutcome("The ticket was sent to #help (C0HELP).")
    nobody = await made.prepare(arguments(), bench(tmp_path, KeptMessenger(contact="")))
    assert isinstance(nobody, ToolOutcome)
    assert "Whoever runs the bot sets LEADHAND_TICKETS, such as LEADHAND_TICKETS=message:#help" in nobody.text
    words = await made.prepare(arguments(), bench(tmp_path, KeptMessenger(contact="the help desk")))
    assert words == nobody, "a contact in words is none that a message can go to"
    alone = await made.prepare(arguments(), bench(tmp_path))
    assert isinstance(alone, ToolOutcome)
    assert alone.failed


@pytest.mark.parametrize(
    ("env", "expected_words"),
    [
        ({"LEADHAND_TICKETS": "jira:SHOP"}, "is not understood; set github:OWNER/REPOSITORY"),
        ({"LEADHAND_TICKETS": "github:acme/web/shop"}, "is not understood"),
        ({"LEADHAND_TICKETS": "github:acme/shop"}, "GITHUB_TOKEN is not set"),
        ({"LEADHAND_TICKETS": "list:"}, "is not understood; set github:OWNER/REPOSITORY"),
        (
            {"LEADHAND_TICKETS": "gitlab:a/b", "GITLAB_TOKEN": "t", "GITLAB_URL": "http://git.acme.example"},
            "is not https: the token would go over the network in clear",
        ),
    ],
)
async def test_a_wrong_setting_is_told_once_and_to_who_asks(
    tmp_path: Path, env: dict[str, str], expected_words: str
) -> None:
    assert expected_words in read_ticket_place(env).fault
    toolkit = ticket_tools.toolkit(ToolSettings(env))
    assert await toolkit.prove() == (read_ticket_place(env).fault,)
    (made,) = toolkit.tools
    outcome = await made.prepare(arguments(), bench(tmp_path))
    assert isinstance(outcome, ToolOutcome)
    assert expected_words in outcome.text


def test_nothing_in_an_issue_acts() -> None:
    body = (
        "Ask @ops and (@ben), not a@b.example.\n/assign @eve\n  /label ~x\n![pixel](https://evil.example/p.png)\n"
        "<img src=x>\u202e <!-- leadhand:other -->\n```\n@code stays\n```\n@end"
    )
    text = sanitize_body(body)
    assert sanitize_body(text) == text
    assert text == (
        "Ask `@ops` and (`@ben`), not a@b.example.\n\\/assign `@eve`\n  \\/label ~x\n[pixel](https://evil.example/p.png)\n"
        "&lt;img src=x> &lt;!-- leadhand:other -->\n```\n@code stays\n```\n`@end`"
    )
