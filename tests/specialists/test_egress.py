"""Where a model that was talked into it may send what it knows: nowhere that people or the web did not name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import BaseModel

from handoff.contracts import Note, Result, ToolReply
from handoff.events import ToolReturned, TurnTaken
from handoff.provenance import Provenance
from specialists.runner import run
from specialists.toolkits.tool import Tool, ToolOutcome, Workbench
from specialists.turns.egress import EgressGuard
from tests.specialists.scripted_model import (
    EmptyBench,
    KeptLog,
    Looker,
    ScriptedModel,
    calling,
    handoff,
    returning,
    specialist,
)

PAGE = "A page. [More](https://a.example/more?page=2), see https://b.example/wiki/Sea_(north). Also www.c.example."


def bound(*words: str, page: str = "") -> EgressGuard:
    guard = EgressGuard(words, ["open"], derived=True)
    guard.reply_read("open", ToolReply(call_id="1", text=page))
    guard.turn_ended()
    return guard


@pytest.mark.parametrize(
    "address",
    [
        "https://a.example/more?page=2",
        "http://www.a.example/more/?page=2#part",
        "https://a.example:443/more",
        "https://A.EXAMPLE/more",
        "https://b.example/wiki/Sea_(north)",
        "https://b.example/wiki/Sea_%28north%29",
    ],
)
def test_what_a_page_gave_may_be_opened_however_it_is_written(address: str) -> None:
    assert bound(page=PAGE).allows(address)


@pytest.mark.parametrize(
    "address",
    [
        "https://a.example/more?page=2&d=salaries",
        "https://a.example/more/salaries",
        "https://a.example/",
        "https://salaries.a.example/more",
        "https://a.example:8443/more",
        "https://salaries@a.example/more",
        "https://evil.example\\@a.example/more",
        "https://c.example/salaries",
        "ftp://a.example/more",
        "//a.example/more",
        "https://[a.example/more",
        "",
    ],
)
def test_what_the_model_put_together_may_not(address: str) -> None:
    assert not bound(page=PAGE).allows(address)


@pytest.mark.parametrize("words", ["see acme.example/prices", "Acme.example, please", "(https://www.acme.example)"])
def test_any_page_of_a_host_that_people_named_may_be_opened(words: str) -> None:
    guard = bound(words)
    assert guard.allows("https://acme.example/terms?year=2026")
    assert not guard.allows("https://acme.example.evil.example/")
    assert not guard.allows("https://docs.acme.example/")
    assert not bound("ask bob@acme.example").allows("https://acme.example/")


def test_other_tools_name_no_addresses_since_a_model_can_have_them_say_anything() -> None:
    guard = EgressGuard((), ["open"])
    guard.reply_read("calculate", ToolReply(call_id="1", text="https://evil.example/?d=salaries"))
    guard.reply_read("open", ToolReply(call_id="2", text="refused: https://evil.example/?d=salaries", failed=True))
    guard.turn_ended()
    assert not guard.allows("https://evil.example/?d=salaries")


class Where(BaseModel):
    url: str


def opener(seen: list[str]) -> Tool:
    async def fetch(arguments: Where, _bench: Workbench) -> ToolOutcome:
        """Open a page."""
        seen.append(arguments.url)
        return ToolOutcome(PAGE)

    return Tool("open", "read", Where, fetch, url_of=lambda call: call.url, finds_urls=True)


FREE, LEAK, LINK = "https://x.example/a", "https://evil.example/?d=salaries", "https://a.example/more?page=2"


async def opened(*turns: tuple[str, ...], log: KeptLog | None = None, told: str = "", bench: EmptyBench) -> list[str]:
    seen: list[str] = []
    moves = [*(calling(*(("open", {"url": url}) for url in urls)) for urls in turns), returning()]
    task = handoff()
    if told:
        task = task.model_copy(update={"context": (Note(source="Salaries", text=told),)})
    who = specialist(opener(seen), Looker().tool())
    log = log or KeptLog()
    await run(who, task, model=ScriptedModel(moves), workbench=bench, log=log)
    return seen


async def test_a_fresh_brief_may_be_looked_up_freely_until_something_was_read() -> None:
    log = KeptLog()
    seen = await opened((FREE, "https://y.example"), (LEAK, LINK), log=log, bench=EmptyBench())
    assert seen == [FREE, "https://y.example", LINK]
    refused = next(reply for reply in log.replies if reply.failed)
    assert refused.text.startswith("open was not run.")
    assert "Search for the page" in refused.text


async def test_what_others_found_goes_nowhere_from_the_first_turn_on() -> None:
    named = "https://acme.example/x"
    people = Provenance(("On acme.example?",))
    assert await opened((LEAK, named), told=f"see {LEAK}", bench=EmptyBench(people)) == [named]
    assert await opened((LEAK, named), bench=EmptyBench(replace(people, has_derived_content=True))) == [named]


async def test_an_attempt_that_changed_hands_decides_as_the_first_would_have() -> None:
    log = KeptLog()
    whole = await opened((FREE, "https://y.example"), (LEAK, LINK), log=log, bench=EmptyBench())
    for cut in range(1, len(log.history)):
        kept = KeptLog(history=list(log.history[:cut]))
        rest = [(FREE, "https://y.example"), (LEAK, LINK)][len(kept.turns) :]
        done = [url for url in whole if _replied(kept, url)]
        assert [*done, *await opened(*rest, log=kept, bench=EmptyBench())] == whole, cut


def _replied(log: KeptLog, url: str) -> bool:
    calls = {}
    for item in log.history:
        if isinstance(item, TurnTaken):
            calls = {call.id: call.arguments.get("url") for call in item.turn.calls}
        elif isinstance(item, ToolReturned) and calls.get(item.reply.call_id) == url:
            return True
    return False


def finder(page: str) -> Tool:
    async def find(_: Where, _bench: Workbench) -> ToolOutcome:
        """Open a page."""
        return ToolOutcome(page)

    return Tool("open", "read", Where, find, finds_urls=True)


async def test_a_result_says_which_of_its_addresses_tools_that_find_them_gave() -> None:
    given, told, made = "https://a.example/more?page=2", "https://looked.example/x", "https://a.example/more?d=SECRET"
    content = f"See {given}, {told} and {made}."
    moves = [
        calling(("open", {"url": "https://a.example"})),
        calling(("look", {"at": told})),
        returning(content, addresses=[made]),
    ]
    tools = (finder(PAGE), Looker().tool())
    log = KeptLog()
    outcome = await run(specialist(*tools), handoff(), model=ScriptedModel(moves), workbench=EmptyBench(), log=log)
    assert isinstance(outcome, Result)
    assert outcome.addresses == (given,)
    resumed = KeptLog(log.history[:4])  # whoever takes over knows the same
    again = ScriptedModel([returning(content)])
    outcome = await run(specialist(*tools), handoff(), model=again, workbench=EmptyBench(), log=resumed)
    assert isinstance(outcome, Result)
    assert outcome.addresses == (given,)
