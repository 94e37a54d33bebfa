"""Where a model that was talked into it may send what it knows: nowhere that people or the web did not name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from pydantic import BaseModel

from handoff.contracts import Note, ToolReply
from handoff.events import ToolReturned, TurnTaken
from handoff.state.state_values import Provenance
from specialists.tools.tool import OutgoingData, Tool, ToolOutcome, Workbench
from specialists.turns.egress import MAX_REQUESTS, MAX_REQUESTS_PER_SITE, MAX_SHOWN_CHARACTERS, EgressGuard
from tests.specialists.scripted_model import (
    EmptyBench,
    KeptLog,
    Looker,
    calling,
    finish,
    handoff,
    play,
    returning,
)

PAGE = "A page. [More](https://a.example/more?page=2), see https://b.example/wiki/Sea_(north). Also www.c.example."


class Where(BaseModel):
    url: str
    start: int = 0


class Words(BaseModel):
    query: str
    count: int = 5


def opener(seen_urls: list[str], page: str = PAGE) -> Tool:
    async def fetch(arguments: Where, _bench: Workbench) -> ToolOutcome:
        """Open a page."""
        seen_urls.append(arguments.url)
        return ToolOutcome(page)

    return Tool("open", "read", Where, fetch, url="url", finds_urls=True)


def searcher(seen_queries: list[tuple[str, int]]) -> Tool:
    async def find(arguments: Words, _bench: Workbench) -> ToolOutcome:
        """Search."""
        seen_queries.append((arguments.query, arguments.count))
        return ToolOutcome("1. https://a.example/found")

    def sends(call: Words) -> OutgoingData:
        return OutgoingData("engine.example", f"q={quote(call.query)}&n={call.count}", call.query)

    return Tool("find", "read", Words, find, sends=sends, sent_words="query", finds_urls=True)


OPEN, FIND = opener([]), searcher([])


def make_guard(
    *words: str, page: str = "", private: tuple[str, ...] = (), allow_out: tuple[str, ...] = ()
) -> EgressGuard:
    """A guard that was handed what others found, and has read a page."""
    tools = {tool.name: tool for tool in (OPEN, FIND, Looker().tool())}
    guard = EgressGuard(
        Provenance(words, private_names=private, leak_share=0.25), tools, has_derived_content=True, allow_out=allow_out
    )
    guard.record_reply("open", ToolReply(call_id="1", text=page))
    guard.begin_turn_calls()
    return guard


def judge_url(guard: EgressGuard, url: str) -> str:
    """The URL that would go out, `asks`, or the note of a refusal."""
    verdict = guard.judge_call(OPEN, Where(url=url))
    return verdict.refusal_note or ("asks" if verdict.unreleased_data else str(verdict.arguments.model_dump()["url"]))


def judge_query(guard: EgressGuard, query: str, count: int = 5) -> str:
    verdict = guard.judge_call(FIND, Words(query=query, count=count))
    sent = verdict.arguments.model_dump()
    return "asks" if verdict.unreleased_data else f"{sent['query']}/{sent['count']}"


# ---------------------------------------------------------------- with nothing private in view


@pytest.mark.parametrize(
    ("address", "given_url"),
    [
        ("https://a.example/more?page=2", "https://a.example/more?page=2"),
        ("https://b.example/wiki/Sea_%28north%29", "https://b.example/wiki/Sea_(north)"),
    ],
)
def test_what_a_page_gave_is_asked_for_as_it_was_given_however_it_is_spelt(address: str, given_url: str) -> None:
    assert judge_url(make_guard(page=PAGE), address) == given_url


MADE_UP_URLS = [
    "https://a.example/more?page=2&d=salaries",
    "https://a.example/more/salaries",
    "https://a.example/",
    "https://salaries.a.example/more",
    "https://a.example:8443/more",
    "https://salaries@a.example/more",
    "https://evil.example\\@a.example/more",
    "https://c.example/salaries",
    "https://a.example/more;salaries?page=2",
    "https://2130706433/more",
    "ftp://a.example/more",
    "//a.example/more",
    "https://[a.example/more",
    "",
]


@pytest.mark.parametrize("address", MADE_UP_URLS)
def test_what_the_model_put_together_is_refused(address: str) -> None:
    assert judge_url(make_guard(page=PAGE), address) == "url_refused"


@pytest.mark.parametrize("words", ["see acme.example/prices", "Acme.example, please", "(https://www.acme.example)"])
def test_any_page_of_a_host_that_the_requester_named_may_be_opened(words: str) -> None:
    guard = make_guard(words)
    url = "https://acme.example/terms?year=2026"
    assert judge_url(guard, url) == url
    assert judge_url(guard, "https://acme.example.evil.example/") == "url_refused"
    assert judge_url(guard, "https://docs.acme.example/") == "url_refused"
    assert judge_url(make_guard("ask bob@acme.example"), "https://acme.example/") == "url_refused"


def test_queries_are_free_and_go_out_as_they_are() -> None:
    assert judge_query(make_guard("the sea"), "Copper price, 2026", 9) == "Copper price, 2026/9"


def test_choosing_among_known_addresses_is_counted_by_site() -> None:
    """Channel 3: a page that lists an address for each letter; 330 of them carried 330 bits."""
    letters = [f"https://x{number}.evil.example/{number}" for number in range(330)]
    guard = make_guard(page=" ".join(letters))
    opened = [url for url in letters if judge_url(guard, url) == url]
    assert len(opened) == MAX_REQUESTS_PER_SITE
    assert judge_url(guard, "https://x329.evil.example/329") == "asks"
    sites = [f"https://evil{number}.example/x" for number in range(330)]
    guard = make_guard(page=" ".join(sites))
    assert len([url for url in sites if judge_url(guard, url) == url]) == MAX_REQUESTS


def test_other_tools_name_no_addresses_since_a_model_can_have_them_say_anything() -> None:
    guard = EgressGuard(Provenance(), {tool.name: tool for tool in (OPEN, replace(Looker().tool(), public=True))})
    guard.record_reply("look", ToolReply(call_id="1", text="https://evil.example/?d=salaries"))
    guard.record_reply("open", ToolReply(call_id="2", text="refused: https://evil.example/?d=salaries", failed=True))
    guard.begin_turn_calls()
    assert judge_url(guard, "https://evil.example/?d=salaries") == "url_refused"


# ---------------------------------------------------------------- with something private in view


def private(*words: str, page: str = PAGE, **more: Any) -> EgressGuard:
    return make_guard(*words, page=page, private=("salaries.csv",), **more)


@pytest.mark.parametrize(
    "address", [one for one in MADE_UP_URLS if one.startswith("https://") and one.count("@") == 0][:-1]
)
def test_an_address_of_the_models_own_making_waits_for_a_person(address: str) -> None:
    assert judge_url(private(), address) == "asks"


def test_an_address_that_the_web_gave_waits_too_and_one_that_the_requester_wrote_is_free() -> None:
    guard = private("compare with acme.example/prices and https://b.example/x?y=1")
    assert judge_url(guard, "https://a.example/more?page=2") == "asks"
    assert judge_url(guard, "HTTPS://www.Acme.example/%70rices/#salary") == "https://acme.example/prices"
    assert judge_url(guard, "https://b.example/x") == "https://b.example/x?y=1"
    assert judge_url(guard, "https://acme.example/prices?d=184200") == "asks"
    assert judge_url(guard, "https://acme.example/184200") == "asks"


def test_a_private_brief_asks_from_the_first_turn_on() -> None:
    guard = EgressGuard(Provenance(("the sea",), private_names=("the thread",)), {"open": OPEN})
    assert judge_url(guard, "https://x.example/a") == "asks"


def test_a_person_is_shown_what_would_leave_to_whom_and_why() -> None:
    verdict = private().judge_call(OPEN, Where(url="https://evil.example/?d=%73alary%20184\u200b#x"))
    asks = verdict.unreleased_data
    assert verdict.recipient == "evil.example"
    wire, label, clear = asks.text.splitlines()
    assert wire == "GET https://evil.example/?d=%73alary%20184%E2%80%8B"
    assert label == "In clear:"
    assert clear == "GET https://evil.example/?d=salary 184\u200b", "the card spells out what does not show"
    assert asks.reason == "a model put this together or took it from the web, and could see salaries.csv"
    query = private().judge_call(FIND, Words(query="salary 184,200"))
    assert query.recipient == "engine.example"
    assert query.unreleased_data.text.splitlines()[-1] == "salary 184,200"


def test_a_host_in_letters_that_look_like_others_is_shown_as_it_is_looked_up() -> None:
    verdict = private().judge_call(OPEN, Where(url="https://\u0430cme.example/x"))
    assert verdict.recipient == "xn--cme-5cd.example"
    assert verdict.unreleased_data.text == "GET https://xn--cme-5cd.example/x"


def test_a_tool_that_sends_more_than_a_request_is_judged_by_both() -> None:
    poster = replace(
        OPEN, name="post", sends=lambda call: OutgoingData("acme.example", f"POST {call.url} {call.start}")
    )
    guard = private("see https://acme.example/x")
    asks = guard.judge_call(poster, Where(url="https://acme.example/%78", start=184200)).unreleased_data
    assert asks.text == "POST https://acme.example/x 184200"
    assert make_guard().judge_call(poster, Where(url="https://evil.example/")).refusal_note == "url_refused"
    assert (
        make_guard("see https://acme.example/x").judge_call(poster, Where(url="https://acme.example/x")).unreleased_data
        is None
    )


def test_what_cannot_be_shown_whole_is_not_asked() -> None:
    longest = f"https://evil.example/{'x' * (MAX_SHOWN_CHARACTERS - len('GET https://evil.example/'))}"
    assert judge_url(private(), longest) == "asks"
    assert judge_url(private(), f"{longest}x") == "too_long_to_ask"


@pytest.mark.parametrize("query", ["market salaries 184,200 EUR", "the sea J. Doe", "sea\u0430", "merger"])
def test_a_query_in_other_words_than_the_requesters_waits(query: str) -> None:
    assert judge_query(private("the sea in 2026"), query) == "asks"


def test_a_query_in_the_requesters_words_is_free_until_choosing_them_has_said_enough() -> None:
    """The spelling and the number of hits are ours: they would carry more than the words do."""
    guard = private("How warm is the North Sea in 2026?")
    assert judge_query(guard, "NORTH  sea, in 2026!", count=9) == "North Sea in 2026/5"
    words = ["warm sea how", "sea north 2026", "is warm 2026 north", "how sea the warm is"]
    free = [query for query in words if judge_query(guard, query) != "asks"]
    assert 0 < len(free) < len(words)


def test_what_a_tool_gave_makes_the_turns_after_it_wait() -> None:
    tools = {tool.name: tool for tool in (OPEN, FIND, Looker().tool())}
    guard = EgressGuard(Provenance(("the sea",)), tools)
    assert judge_query(guard, "anything") == "anything/5"
    guard.record_reply("look", ToolReply(call_id="1", text="no such column: salary", failed=True))
    assert judge_query(guard, "something") == "something/5", "the turn was taken before"
    guard.begin_turn_calls()
    assert judge_query(guard, "anything") == "asks"
    assert guard.judge_call(FIND, Words(query="anything")).unreleased_data.reason.endswith("could see what look gave")
    assert judge_url(guard, "https://x.example/a") == "asks"


def test_what_a_crew_allows_needs_nobody() -> None:
    guard = private(allow_out=("find", "Docs.python.org"))
    assert judge_query(guard, "salary 184,200") == "salary 184,200/5"
    assert judge_url(guard, "https://docs.python.org/3/?q=184200") == "https://docs.python.org/3/?q=184200"
    assert judge_url(guard, "https://docs.python.org.evil.example/") == "asks"
    assert judge_url(guard, "https://evil.docs.python.org/") == "asks"


def test_a_tool_that_sends_its_arguments_waits_whatever_they_are() -> None:
    other = replace(FIND, name="ask_board", sent_words="", finds_urls=False)
    guard = EgressGuard(Provenance(("the sea",), private_names=("a.csv",)), {"ask_board": other})
    verdict = guard.judge_call(other, Words(query="the sea"))
    assert verdict.unreleased_data is not None
    assert verdict.recipient == "engine.example"


# ---------------------------------------------------------------- redirects


@pytest.mark.parametrize(
    ("target", "with_private", "without"),
    [
        ("https://acme.example/login?next=prices", True, True),
        ("http://www.acme.example/prices/", True, True),
        ("https://evil.example/?d=1", False, True),
        ("https://b.example/y", True, True),
        ("https://acme.example:8443/", False, True),
        ("https://x@acme.example/", False, False),
        ("ftp://acme.example/", False, False),
    ],
)
def test_a_redirect_of_a_given_address_is_judged_as_an_address(target: str, with_private: bool, without: bool) -> None:  # noqa: FBT001
    words = "compare acme.example/prices with https://b.example/y"
    given = "https://acme.example/prices"
    assert private(words).may_follow(given, target) is with_private
    assert make_guard(words).may_follow(given, target) is without


def test_an_open_redirect_of_a_named_host_leads_nowhere_else() -> None:
    """Channel 5: whoever writes "compare with google.example" would open every redirect there."""
    guard = make_guard("compare with google.example")
    made = "https://google.example/url?q=https://evil.example/?d=184200"
    assert judge_url(guard, made) == made
    assert not guard.may_follow(made, "https://evil.example/?d=184200")
    assert judge_url(guard, "https://evil.example/?d=184200") == "url_refused"


# ---------------------------------------------------------------- in attempts


FREE, LEAK, LINK = "https://x.example/a", "https://evil.example/?d=salaries", "https://a.example/more?page=2"


async def open_urls(
    *turns: tuple[str, ...], log: KeptLog | None = None, note_text: str = "", bench: EmptyBench
) -> list[str]:
    seen: list[str] = []
    moves = [*(calling(*(("open", {"url": url}) for url in urls)) for urls in turns), returning()]
    task = handoff()
    if note_text:
        task = task.model_copy(update={"context": (Note(source="Salaries", text=note_text),)})
    await play(moves, opener(seen), Looker().tool(), task=task, bench=bench, log=log)
    return seen


async def test_a_fresh_brief_may_be_looked_up_freely_until_something_was_read() -> None:
    log = KeptLog()
    seen = await open_urls((FREE, "https://y.example"), (LEAK, LINK), log=log, bench=EmptyBench())
    assert seen == [FREE, "https://y.example", LINK]
    refused = next(reply for reply in log.replies if reply.failed)
    assert refused.text.startswith("open was not run.")
    assert "Search for the page" in refused.text


async def test_what_others_found_goes_nowhere_from_the_first_turn_on() -> None:
    named = "https://acme.example/x"
    people = Provenance(("On acme.example?",))
    assert await open_urls((LEAK, named), note_text=f"see {LEAK}", bench=EmptyBench(people)) == [named]
    assert await open_urls((LEAK, named), bench=EmptyBench(replace(people, has_derived_content=True))) == [named]


async def test_an_attempt_that_changed_hands_decides_as_the_first_would_have() -> None:
    log = KeptLog()
    whole = await open_urls((FREE, "https://y.example"), (LEAK, LINK), log=log, bench=EmptyBench())
    for cut in range(1, len(log.history)):
        kept = KeptLog(history=list(log.history[:cut]))
        rest = [(FREE, "https://y.example"), (LEAK, LINK)][len(kept.turns) :]
        done = [url for url in whole if _has_reply(kept, url)]
        assert [*done, *await open_urls(*rest, log=kept, bench=EmptyBench())] == whole, cut


PRIVATE_BENCH = EmptyBench(
    Provenance(("Is the sea warm at acme.example/sea?",), private_names=("salaries.csv",), leak_share=0.25)
)


async def test_where_nobody_can_be_asked_the_call_is_refused_and_the_work_goes_on() -> None:
    found: list[tuple[str, int]] = []
    opened: list[str] = []
    log = KeptLog(can_ask=False)
    moves = [
        calling(
            ("find", {"query": "salary 184,200"}), ("open", {"url": LEAK}), ("find", {"query": "WARM sea", "count": 9})
        ),
        returning(),
    ]
    await finish(moves, opener(opened), searcher(found), bench=PRIVATE_BENCH, log=log)
    assert (found, opened) == ([("warm sea", 5)], [])
    refused = [reply.text for reply in log.replies if reply.failed]
    assert all("nobody is there to ask" in text for text in refused)
    assert sorted(log.sendings) == [
        ("find", "engine.example", ""),
        ("find", "engine.example", "nobody_to_ask"),
        ("open", "evil.example", "nobody_to_ask"),
    ]


async def test_an_attempt_that_changed_hands_has_spent_what_the_first_had() -> None:
    queries = [
        ("find", {"query": query})
        for query in ("sea the warm at is", "at", "warm is sea the at", "the warm is at sea", "sea")
    ]
    found: list[tuple[str, int]] = []
    log = KeptLog(can_ask=False)
    moves = [*(calling(one) for one in queries), returning()]
    await play(moves, searcher(found), max_turns=9, bench=PRIVATE_BENCH, log=log)
    assert 0 < len(found) < len(queries)
    for cut in range(1, len(log.history)):
        kept = KeptLog(list(log.history[:cut]), can_ask=False)
        rest = [calling(one) for one in queries[len(kept.turns) :]]
        again: list[tuple[str, int]] = []
        done = sum(not reply.failed for reply in kept.replies)
        await play([*rest, returning()], searcher(again), max_turns=9, bench=PRIVATE_BENCH, log=kept)
        assert [*found[:done], *again] == found, cut


async def test_what_a_tool_gave_is_kept_as_private_and_what_the_web_gave_is_not() -> None:
    moves = [calling(("look", {"at": "x"}), ("open", {"url": FREE})), returning()]
    _, _, log = await play(moves, opener([]), Looker().tool())
    kept = {item.reply.text: item.private for item in log.history if isinstance(item, ToolReturned)}
    assert kept["saw x"] is True
    assert kept[PAGE] is False


async def test_a_redirect_is_judged_and_recorded_as_a_call_is() -> None:
    log, ways = KeptLog(), []

    async def fetch(arguments: Where, bench: Workbench) -> ToolOutcome:
        """Open a page."""
        ways.extend([await bench.may_follow(arguments.url, to) for to in ("http://acme.example/", LEAK)])
        return ToolOutcome("moved")

    tool = Tool("open", "read", Where, fetch, url="url", finds_urls=True)
    moves = [calling(("open", {"url": "https://acme.example/%73ea"})), returning()]
    await play(moves, tool, bench=PRIVATE_BENCH, log=log)
    assert ways == [True, False]
    assert log.sendings == [("open", "acme.example", ""), ("redirect", "evil.example", "redirect_refused")]


def test_a_tool_that_names_arguments_it_lacks_is_faulty() -> None:
    assert replace(OPEN, url="uri").faults == ("names uri as its url, and has no such argument",)
    assert replace(FIND, sends=None).faults == ("has sent_words and no sends: say whom the words go to",)
    assert FIND.faults == OPEN.faults == ()


def _has_reply(log: KeptLog, url: str) -> bool:
    calls = {}
    for item in log.history:
        if isinstance(item, TurnTaken):
            calls = {call.id: call.arguments.get("url") for call in item.turn.calls}
        elif isinstance(item, ToolReturned) and calls.get(item.reply.call_id) == url:
            return True
    return False


async def test_a_result_says_which_of_its_addresses_tools_that_find_them_gave() -> None:
    given, told, made = "https://a.example/more?page=2", "https://looked.example/x", "https://a.example/more?d=SECRET"
    content = f"See {given}, {told} and {made}."
    moves = [
        calling(("open", {"url": "https://a.example"})),
        calling(("look", {"at": told})),
        returning(content, addresses=[made]),
    ]
    tools = (opener([]), Looker().tool())
    outcome, _, log = await finish(moves, *tools)
    assert outcome.addresses == (given,)
    resumed = KeptLog(log.history[:4])  # whoever takes over knows the same
    outcome, _, _ = await finish([returning(content)], *tools, log=resumed)
    assert outcome.addresses == (given,)
