"""A call that people have to approve ends the turn, and is made once, with exactly what they approved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from handoff.approval_values import DEFAULT_APPROVAL_TERMS, Approval, ApprovalTerms, compute_call_digest
from handoff.contracts import Result
from handoff.events import ToolStarted
from handoff.state.state_values import Provenance, Ruling
from specialists.runner import AttemptEnd
from specialists.tools.tool import OutgoingData, Tool
from specialists.turns.call_approval import MAX_CARD_CALLS, MAX_CARD_CHARACTERS, MAX_REFUSALS
from tests.specialists.far_side import far_side
from tests.specialists.scripted_model import (
    EmptyBench,
    KeptLog,
    Looker,
    Move,
    ScriptedModel,
    calling,
    play,
    returning,
)

TEA = ("post_note", {"text": "tea"})
CAKE = ("post_note", {"text": "cake"})


async def attempt(log: KeptLog, moves: list[Move], *tools: Tool, **more: Any) -> tuple[AttemptEnd, ScriptedModel]:
    end, model, _ = await play(moves, *tools, log=log, max_turns=8, **{"asks": DEFAULT_APPROVAL_TERMS, **more})
    return end, model


async def finish_attempt(log: KeptLog, moves: list[Move], *tools: Tool, **more: Any) -> tuple[Result, ScriptedModel]:
    end, model = await attempt(log, moves, *tools, **more)
    assert isinstance(end, Result), end
    return end, model


async def asked_for(log: KeptLog, moves: list[Move], *tools: Tool, **more: Any) -> tuple[Approval, ScriptedModel]:
    end, model = await attempt(log, moves, *tools, **more)
    assert isinstance(end, Approval), end
    return end, model


def make_ruling(approval: AttemptEnd, outcome: str = "approved", **more: Any) -> Ruling:
    assert isinstance(approval, Approval)
    given = {"digest": approval.digest, "arguments": approval.arguments, "users": ("U1",), **more}
    return Ruling(at=2.0, call=approval.call, tool=approval.tool, outcome=outcome, **given)


def list_reply_texts(model: ScriptedModel, call: int = 0) -> list[str]:
    return [reply.text for reply in model.calls[call].messages[-1].replies]


async def test_a_call_that_writes_is_asked_for_and_not_made() -> None:
    async with far_side() as side:
        log = KeptLog()
        asked, _ = await asked_for(log, [calling(TEA)], side.tool(target=lambda _: "the board"))
        assert (asked.kind, asked.tool, asked.arguments) == ("write", "post_note", {"text": "tea"})
        assert (asked.what, asked.target) == ("post_note(text='tea')", "the board")
        assert asked.digest == compute_call_digest("post_note", {"text": "tea"})
        assert not any(isinstance(item, ToolStarted) for item in log.history)
        again, model = await attempt(log, [], side.tool(target=lambda _: "the board"))
        assert again == asked, "who takes over asks for the same"
        assert model.calls == []
    assert side.calls == 0


async def test_an_approved_call_is_made_once_and_the_next_is_asked_for_again() -> None:
    async with far_side() as side:
        log = KeptLog()
        asked, _ = await attempt(log, [calling(TEA)], side.tool())
        log.history.append(make_ruling(asked))
        again, model = await asked_for(log, [calling(TEA, ids=["other"])], side.tool())
        assert side.notes == ["tea"]
        intent = next(item for item in log.history if isinstance(item, ToolStarted))
        assert intent.approved_by == ("U1",)
        assert list_reply_texts(model) == ["posted as number 1"]
        await finish_attempt(KeptLog([*log.history, make_ruling(again, "denied")]), [returning()], side.tool())
    assert side.notes == ["tea"]


async def test_an_approval_counts_for_its_call_and_its_arguments_alone() -> None:
    async with far_side() as side:
        log = KeptLog()
        asked, _ = await attempt(log, [calling(TEA)], side.tool())
        other = make_ruling(
            asked, arguments={"text": "cake"}, digest=compute_call_digest("post_note", {"text": "cake"})
        )
        assert await attempt(KeptLog([*log.history, other]), [], side.tool()) == (asked, ScriptedModel([]))
    assert side.calls == 0


async def test_several_writes_of_one_turn_are_asked_for_together_and_each_is_made_as_ruled() -> None:
    async with far_side() as side:
        log = KeptLog()
        asked, _ = await asked_for(log, [calling(TEA, CAKE)], side.tool())
        assert [one.arguments for one in asked.calls] == [{"text": "tea"}, {"text": "cake"}]
        first, second = asked.calls
        log.history += [make_ruling(first, "denied", reason="Not tea, {please}."), make_ruling(second)]
        _, model = await finish_attempt(log, [returning()], side.tool())
    assert side.notes == ["cake"]
    denied, posted = list_reply_texts(model)
    assert "a person denied it. Their reason: “Not tea, {please}.”" in denied
    assert posted == "posted as number 1"


async def test_each_call_is_asked_for_by_itself_where_its_crew_says_always() -> None:
    async with far_side() as side:
        terms = ApprovalTerms(mode="always")
        asked, _ = await asked_for(KeptLog(), [calling(TEA, CAKE)], side.tool(), asks=terms)
        assert (asked.parts, asked.arguments) == ((), {"text": "tea"})


async def test_a_card_holds_no_more_calls_than_people_read() -> None:
    async with far_side() as side:
        many = [("post_note", {"text": f"note {number}"}) for number in range(MAX_CARD_CALLS + 2)]
        asked, _ = await asked_for(KeptLog(), [calling(*many)], side.tool())
        assert len(asked.parts) == MAX_CARD_CALLS
        long = [("post_note", {"text": f"{number}" * MAX_CARD_CHARACTERS}) for number in range(2)]
        alone, _ = await asked_for(KeptLog(), [calling(*long)], side.tool())
        assert alone.parts == ()


async def test_several_denied_together_count_as_one_refusal() -> None:
    async with far_side() as side:
        log = KeptLog()
        three = [("post_note", {"text": text}) for text in ("tea", "cake", "jam")]
        asked, _ = await asked_for(log, [calling(*three)], side.tool())
        log.history += Ruling(2.0, "", "", "denied", asked.digest, {}, ("U1",)).split_by_call(asked)
        await asked_for(log, [calling(("post_note", {"text": "milk"}), ids=["d"])], side.tool())


EDITED = 'called with these: {"text": "two {teas}"}\nIts reply:\nposted as number 1'
RULINGS: dict[str, tuple[str, dict[str, Any], list[str], str]] = {
    "edited": ("edited", {"text": "two {teas}"}, ["two {teas}"], EDITED),
    "edited wrongly": ("edited", {"text": {"no": "text"}}, [], "post_note was not run. Correct its arguments"),
    "undecided": ("expired", {"text": "tea"}, [], "nobody decided in time. That is no denial."),
}


@pytest.mark.parametrize(("outcome", "arguments", "notes", "words"), RULINGS.values(), ids=RULINGS)
async def test_a_ruling_is_obeyed_and_told_to_the_model(
    outcome: str, arguments: dict[str, Any], notes: list[str], words: str
) -> None:
    async with far_side() as side:
        log = KeptLog()
        asked, _ = await attempt(log, [calling(TEA)], side.tool())
        users = () if outcome == "expired" else ("U1",)
        digest = compute_call_digest("post_note", arguments)
        log.history.append(make_ruling(asked, outcome, arguments=arguments, digest=digest, users=users))
        _, model = await finish_attempt(log, [returning()], side.tool())
    assert side.notes == notes
    assert side.calls == len(notes)
    assert words in list_reply_texts(model)[0]


async def test_a_call_similar_to_approved_ones_is_made_without_asking() -> None:
    async with far_side() as side:
        log = KeptLog(alike={("write", "post_note", ""): ("U7",)})
        await finish_attempt(log, [calling(TEA), calling(CAKE), returning()], side.tool())
    assert side.notes == ["tea", "cake"]
    assert [item.approved_by for item in log.history if isinstance(item, ToolStarted)] == [("U7",), ("U7",)]


async def test_a_model_that_asks_again_and_again_is_told_to_stop() -> None:
    async with far_side() as side:
        log = KeptLog()
        for number in range(MAX_REFUSALS):
            asked, _ = await attempt(log, [calling(("post_note", {"text": f"tea {number}"}))], side.tool())
            log.history.append(make_ruling(asked, "denied"))
        _, model = await finish_attempt(log, [calling(CAKE), returning()], side.tool())
    assert side.calls == 0
    assert "nobody is asked again" in list_reply_texts(model, 1)[0]


async def test_nobody_is_asked_for_a_call_that_must_not_be_made_again() -> None:
    async with far_side() as side:
        log = KeptLog()
        await attempt(log, [calling(TEA), returning()], side.tool(), asks=None)
        intent = next(item for item in log.history if isinstance(item, ToolStarted))
        assert intent.approved_by == ()
        again = KeptLog(earlier_writes={intent.digest: "It is done already."})
        _, model = await finish_attempt(again, [calling(TEA), returning()], side.tool())
    assert list_reply_texts(model, 1) == ["It is done already."]
    assert side.notes == ["tea"]


async def test_a_crash_after_the_intent_of_an_edited_call_settles_the_edited_call() -> None:
    async with far_side() as side:
        tool = side.tool(looks=True)
        log = KeptLog()
        asked, _ = await attempt(log, [calling(TEA)], tool)
        edited = {"text": "cake"}
        log.history.append(
            make_ruling(asked, "edited", arguments=edited, digest=compute_call_digest("post_note", edited))
        )
        await attempt(log, [returning()], tool)
        begun = next(place for place, item in enumerate(log.history) if isinstance(item, ToolStarted))
        _, model = await finish_attempt(KeptLog(log.history[: begun + 1]), [returning()], tool)
    assert side.notes == ["cake"], "it is looked up as edited, and not made again"
    assert list_reply_texts(model)[0].endswith("it is on the board")


async def test_a_read_that_would_send_something_out_is_asked_for_and_the_others_run() -> None:
    looker, log = Looker(), KeptLog()
    tool = replace(looker.tool(), sends=lambda call: OutgoingData("sea.example", call.at), sent_words="at")
    bench = EmptyBench(Provenance(("Look at the sea",), private_names=("salaries.csv",)))
    turn = calling(*(("look", {"at": at}) for at in ("secret one", "sea", "secret two")))
    asked, _ = await asked_for(log, [turn], tool, bench=bench)
    assert [(one.kind, one.target, one.leaves) for one in asked.calls] == [
        ("egress", "sea.example", "secret one"),
        ("egress", "sea.example", "secret two"),
    ]
    assert "salaries.csv" in asked.why
    assert looker.seen_places == ["sea"]
    first, second = asked.calls
    log.history += [make_ruling(first), make_ruling(second, "denied")]
    _, model = await finish_attempt(log, [returning("I saw secret one and the sea.")], tool, bench=bench)
    assert looker.seen_places == ["sea", "secret one"]
    assert list_reply_texts(model)[:2] == ["saw secret one", "saw sea"]
    assert "denied" in list_reply_texts(model)[2]


async def test_nobody_is_asked_about_a_name_that_the_tool_does_not_list() -> None:
    async with far_side() as side:
        hidden = ("post_note", {"text": "tea", "te\u200bxt": "cake"})
        log, moves = KeptLog(), [calling(hidden), calling(("post_note", {"text": "tea", "loud": None})), returning()]
        _, model = await finish_attempt(log, moves, side.tool())
    assert side.calls == 0
    assert "characters that people cannot see: 'te[U+200B]xt'" in list_reply_texts(model, 1)[0]
    assert "there is no 'loud'; the names there are: text" in list_reply_texts(model, 2)[0]


async def test_nobody_is_asked_about_more_than_a_window_shows() -> None:
    async with far_side() as side:
        much = [calling(("post_note", {"text": text})) for text in ("a" * 130_000, "\u200b\u200c" * 10_000)]
        _, model = await finish_attempt(KeptLog(), [*much, returning()], side.tool())
    assert all("more than a person can be shown" in list_reply_texts(model, turn)[0] for turn in (1, 2))
