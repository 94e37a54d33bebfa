"""How each kind of case is scored: by what people would see, for the product and for the plain prompt beside it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import groupby
from typing import Any

import pytest

from bot.evaluation.cases import ReviewCase
from bot.evaluation.harness import CaseChoice, CaseRecord, play_sets
from bot.evaluation.set_files import LabelledSet, read_sets
from bot.evaluation.staged_job import CaseEnvironment
from bot.evaluation.trials.plan_trials import extract_decision
from bot.supervisor.crew_planner import CrewPlanner
from bot.supervisor.track_record import TrackRecord
from handoff import events as ev
from handoff.contracts import Terms, ToolCall
from handoff.engine.engine import fold_log
from specialists.registry import CREWS_FOLDER, load_crew
from tests.evaluation.eval_kit import collect_records, model_of, one_set
from tests.handoff.kit import R, make_plan_event, make_request_event, subtask
from tests.own_tools import all_tools
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.scripts import first_text, purpose_of
from tests.providers.wire import WireRequest
from tests.system.brains import result


def brain(product: str | Callable[[WireRequest], Reply], naive: str) -> Callable[[WireRequest], Reply]:
    """Answer the product's calls and the plain prompts."""

    def answer(request: WireRequest) -> Reply:
        if purpose_of(request) == "other" or "supervisor managing several agents" in request.system:
            return Reply(naive)
        return Reply(product) if isinstance(product, str) else product(request)

    return answer


def plan(*parts: tuple[str, str, list[str]], **more: Any) -> str:
    fields = {"done_when": "The figure is stated.", "tier": None, "critical": False}
    intent = "Find the figure of {} in the file data.csv and state it."
    subtasks = [
        {
            "id": name,
            "title": f"Part {name}",
            "intent": intent.format(name),
            "specialist": who,
            "after": after,
            **fields,
        }
        for name, who, after in parts
    ]
    given = {"goal": "g", "subtasks": subtasks, "strategy": "merge", "instruction": "", "missing": [], **more}
    return json.dumps(given)


ROUTE = {"input": "What is the median in data.csv?", "files": ["data.csv"], "expect": "analyst"}


@pytest.mark.parametrize(
    ("reply", "naive", "right", "among"),
    [
        (plan(("a", "analyst", [])), "Analyst.", True, True),
        (plan(("a", "analyst", []), ("b", "writer", [])), "Analyst.", False, True),
        (plan(("a", "writer", [])), "I would ask the writer.", False, False),
    ],
)
async def test_routing_counts_the_right_one_alone(reply: str, naive: str, *, right: bool, among: bool) -> None:
    finding_at = await collect_records(
        one_set("routing", {**ROUTE, "input": "Draft it from data.csv"}), brain(reply, naive)
    )
    product, plain = finding_at["product c1"], finding_at["naive c1"]
    assert product.right is right
    assert product.measures == {"the right one is among them": among}
    assert product.tokens_in > plain.tokens_in > 0
    assert (plain.right, plain.why) == ((True, "") if among else (False, "ask, not analyst"))


PLANNING_CASE = {
    "input": "Read data.csv and write the note on it.",
    "files": ["data.csv"],
    "expect": {"must": ["analyst", "writer", "analyst > writer"], "must_not": ["researcher"], "parts": [2, 3]},
}


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (plan(("a", "analyst", []), ("b", "writer", ["a"])), ""),
        (plan(("a", "analyst", []), ("b", "writer", [])), "no part of writer builds on one of analyst"),
        (plan(("a", "analyst", [])), "no part for writer; no part of writer builds on one of analyst; 1 part, not 2"),
        (plan(("a", "analyst", []), ("b", "writer", ["a"]), ("r", "researcher", [])), "a part for researcher"),
        (plan(("a", "analyst", []), ("b", "writer", ["a"]), missing=["fly a kite"]), ""),
    ],
)
async def test_plans_are_scored_by_what_must_and_must_not_be_there(reply: str, why: str) -> None:
    naive = '{"parts":[{"id":"x","specialist":"analyst","task":"t"},{"id":"y","specialist":"writer","after":["x"]}]}'
    finding_at = await collect_records(one_set("planning", PLANNING_CASE), brain(reply, naive))
    assert finding_at["product c1"].right is (not why)
    assert finding_at["product c1"].why.startswith(why)
    assert finding_at["naive c1"].right


async def test_a_plan_is_clean_without_parts_that_nobody_asked_for() -> None:
    reply = plan(("a", "analyst", []), ("b", "writer", ["a"]), ("c", "reviewer", ["b"]))
    (measure,) = (await collect_records(one_set("planning", PLANNING_CASE), brain(reply, "{}")))[
        "product c1"
    ].measures.values()
    assert measure is False


NOBODY = {"input": "Phone them", "expect": {"parts": [0, 0], "missing": True}}
PHONE = json.dumps({"goal": "g", "subtasks": [], "strategy": "merge", "instruction": "", "missing": ["phone"]})


@pytest.mark.parametrize(
    ("case", "reply", "naive", "right", "plainly"),
    [
        ({"input": "Thanks!", "expect": {"reply": "answer"}}, plan(("a", "writer", [])), '{"parts": []}', False, True),
        (NOBODY, PHONE, "no JSON at all", True, False),
        (NOBODY, "no JSON at all", "{}", False, None),  # a plan that is refused twice does not say that nobody can
    ],
)
async def test_what_needs_no_plan_is_answered_or_named(
    case: dict[str, Any], reply: str, naive: str, *, right: bool, plainly: bool | None
) -> None:
    finding_at = await collect_records(one_set("planning", case), brain(reply, naive))
    assert finding_at["product c1"].right is right, finding_at["product c1"]
    assert finding_at["naive c1"].right is plainly or plainly is None
    if "reply" in case["expect"]:
        assert finding_at["product c1"].why == "it is plan, not answer"
    assert finding_at["naive c1"].why.startswith("no plan") or plainly is not False


def make_worker(content: str) -> Callable[[WireRequest], Reply]:
    """Call calculate, then return a result; a plain loop gets the same tool and then words."""

    def answer(request: WireRequest) -> Reply:
        if not any(message.replies for message in request.messages):
            arguments = {"expression": "1234 * 5678"}
            arguments = dict.fromkeys(_list_required_names(request, "calculate"), "1234 * 5678") or arguments
            return Reply(calls=(ToolCall(id="1", name="calculate", arguments=arguments),), stop="tool_use")
        if not any(tool.name == "return_result" for tool in request.tools):
            return Reply(content)
        result = {"summary": content, "content": content, "confidence": 90}
        return Reply(calls=(ToolCall(id="2", name="return_result", arguments=result),), stop="tool_use")

    return answer


def _list_required_names(request: WireRequest, tool: str) -> list[str]:
    return [name for one in request.tools if one.name == tool for name in one.parameters.get("required", [])]


SUM = {"specialist": "analyst", "input": "What is 1234 times 5678?", "expect": {"figures": 7006652}}


async def test_a_specialist_works_with_its_real_tools_on_both_sides() -> None:
    finding_at = await collect_records(one_set("specialists", SUM), make_worker("It is 7,006,652."))
    for side in ("product c1", "naive c1"):
        assert finding_at[side].right, finding_at[side]
        assert finding_at[side].calls == 2
        assert not any(finding_at[side].measures.values())


@pytest.mark.parametrize(("answer_text", "is_marked"), [("It is 12.", False), ("It is 12 \u26a0.", True)])
async def test_a_wrong_figure_is_completed_and_wrong_and_told_apart_if_it_is_marked(
    answer_text: str, *, is_marked: bool
) -> None:
    finding_at = await collect_records(one_set("specialists", SUM), make_worker(answer_text))
    for one in [finding_at["naive c1"], *([] if is_marked else [finding_at["product c1"]])]:
        assert not one.right
        assert one.measures["completed and wrong"] is True
        assert one.measures["completed, wrong and nothing marked"] is not is_marked


RESULTS = [
    {"by": "analyst", "title": "Ghent", "content": "A flat in Ghent costs 980 euros."},
    {"by": "researcher", "title": "Bruges", "failed": "no source"},
]
AGGREGATE = {
    "input": "Rents in Ghent and Bruges?",
    "results": RESULTS,
    "expect": {"facts": ["980"], "gaps": [["Bruges"]], "once": ["flat in Ghent"], "must_not": ["probably"]},
}


async def test_an_answer_keeps_facts_tells_gaps_and_says_nothing_twice() -> None:
    good, bad = "A flat in Ghent is 980 euros; Bruges is unknown.", "Probably 900. A flat in Ghent. A flat in Ghent."
    finding_at = await collect_records(one_set("aggregation", AGGREGATE), brain(good, bad))
    assert finding_at["product c1"].right, finding_at["product c1"]
    assert finding_at["product c1"].measures["gaps told"] is True
    naive = finding_at["naive c1"]
    assert not naive.right
    assert [naive.measures[name] for name in ("planted facts kept", "gaps told", "duplicates merged")] == [False] * 3
    assert "'probably' is in it" in naive.why


async def test_both_sides_of_a_contradiction_must_be_shown() -> None:
    case = {**AGGREGATE, "expect": {"both": [["980", "990"]]}}
    finding_at = await collect_records(one_set("aggregation", case), brain("It is 980.", "It is 980 or 990."))
    assert [finding_at[f"{side} c1"].right for side in ("product", "naive")] == [False, True]


LEASE = "The tenant may end the lease with 90 days' notice. The deposit is two months' rent."


def make_verifier_reply(verdict: str, quotation: str = "", *pair: str) -> str:
    """What the verifier says of the first sentence, and of two that contradict each other."""
    said = {"number": 1, "quotation": quotation, "verdict": verdict}
    pairs = [dict(zip(("one", "other"), pair, strict=True))] if pair else []
    return json.dumps({"sentences": [said], "unanswered": [], "contradictions": pairs})


@pytest.mark.parametrize(
    ("statement", "expect", "reply", "is_marked"),
    [
        ("Two months' rent are the deposit.", "supported", make_verifier_reply("supported", "two months' rent"), False),
        ("Two months' rent are the deposit.", "supported", make_verifier_reply("not_found"), True),
        ("The notice is 60 days.", "contradicted", make_verifier_reply("contradicted", "with 90 days' notice"), True),
        ("The notice is 60 days.", "contradicted", make_verifier_reply("contradicted", "with 30 days' notice"), False),
        ("The notice is 60 days.", "contradicted", make_verifier_reply("supported"), False),
        ("The rent is due on Mondays.", "not_found", make_verifier_reply("not_found"), True),
        ("The rent is due on Mondays.", "not_found", "It looks fine to me.", False),
    ],
)
async def test_the_verifier_is_scored_by_what_people_would_see_marked(
    statement: str,
    expect: str,
    reply: str,
    is_marked: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    case = {"passage": LEASE, "statement": statement, "expect": expect}
    finding_at = await collect_records(
        one_set("verifier", case), brain(reply, expect.replace("_", " ").capitalize() + ".")
    )
    right = expect == "supported"
    measure = "right statements marked" if right else "wrong statements let pass"
    assert finding_at["product c1"].measures == {measure: is_marked is right}
    assert finding_at["product c1"].right is (is_marked is not right)
    assert finding_at["naive c1"].right


ASKED_JOB = {"asked": "Draft a note on churn", "answer": "Churn rose to 4.2 %."}


async def test_a_message_is_sorted_by_the_rules_or_else_by_the_dispatcher() -> None:
    order = {**ASKED_JOB, "input": "shorter", "expect": "request"}
    to_ben = {**ASKED_JOB, "input": "Ben, can you send it?", "expect": "nothing"}
    talk = {**ASKED_JOB, "by": "colleague", "input": "I am in a call", "expect": "nothing"}
    aim = json.dumps({"why": "It orders.", "aim": "request"})
    finding_at = await collect_records(one_set("dispatcher", order, to_ben, talk), brain(aim, "Nothing, I think."))
    assert [finding_at[f"product c{n}"].right for n in (1, 2, 3)] == [True, True, False]
    assert finding_at["product c1"].said == "request: It orders."
    assert finding_at["product c1"].measures == {"left alone, and for the bot": False, "decided without a call": False}
    assert finding_at["product c2"].measures == {"taken up, and not for the bot": False, "decided without a call": True}
    assert finding_at["product c3"].measures == {"taken up, and not for the bot": True, "decided without a call": False}
    assert [finding_at[f"product c{n}"].calls for n in (1, 2, 3)] == [1, 0, 1]
    assert [finding_at[f"naive c{n}"].right for n in (1, 2, 3)] == [False, True, True]
    assert finding_at["naive c1"].measures == {"left alone, and for the bot": True}
    assert finding_at["naive c1"].calls == 1


@pytest.mark.parametrize(
    ("state", "aim", "expected_text"),
    [
        ({"parts": ["Work out the prices"]}, "correction", "# It is under way\n- Work out the prices"),
        ({"question": "Which tone?", "options": ["Formal"]}, "explain", "# Open question of the bot\nWhich tone?"),
        ({"answer": "The note."}, "request", "# It is over\nThe note."),
    ],
)
async def test_the_dispatcher_is_told_how_far_the_job_is(state: dict[str, Any], aim: str, expected_text: str) -> None:
    seen: list[str] = []

    def reply(request: WireRequest) -> Reply:
        seen.append(request.messages[0].text)
        return Reply(json.dumps({"why": "w", "aim": aim}))

    case = {"asked": "Prices", **state, "input": "in euros rather than in dollars please", "expect": aim}
    finding_at = await collect_records(one_set("dispatcher", case), brain(reply, "no idea"))
    assert finding_at["product c1"].right, finding_at["product c1"]
    assert expected_text in seen[0]
    assert finding_at["naive c1"].why == f"no verdict, not {aim}"


async def test_a_message_that_no_model_looked_at_is_an_error() -> None:
    case = {**ASKED_JOB, "input": "I'll forward it", "expect": "nothing"}
    finding_at = await collect_records(one_set("dispatcher", case), lambda _: Fault("bad_request"), include_naive=False)
    assert finding_at["product c1"].error
    assert not finding_at["product c1"].right, "silence by a failure is no verdict"


async def test_contradictions_are_found_as_the_product_finds_them() -> None:
    case = {"question": "Churn in May?", "a": "Churn was 4.2 % in May.", "b": "Churn was 6.1 % in May."}

    def reply(request: WireRequest) -> Reply:
        read = purpose_of(request) == "verifier"
        return Reply(
            make_verifier_reply("supported", case["a"], case["a"], case["b"]) if read else "Churn was 4.2 % in May."
        )

    cases = ({**case, "contradict": True}, {**case, "contradict": False})
    finding_at = await collect_records(one_set("contradictions", *cases), brain(reply, "Yes."))
    assert [finding_at[f"product c{n}"].right for n in (1, 2)] == [True, False]
    assert finding_at["product c1"].measures == {"contradictions found": True}
    assert finding_at["product c2"].measures == {"harmless pairs called contradictions": True}
    assert finding_at["naive c2"].measures == {"harmless pairs called contradictions": True}


async def test_what_code_decides_takes_no_call() -> None:
    known = "sum: 1284553, n: 204, m: 31"
    figures = one_set(
        "figures",
        {"known": known, "result": "It is 1,284,553.", "wrong": []},
        {"known": known, "result": "It is 1,234,553.", "wrong": ["1,234,553"]},
    )
    finding_at = await collect_records([figures], brain("", ""))
    assert all(record.right and not record.calls for record in finding_at.values()), finding_at


async def test_a_call_that_fails_is_an_error_of_its_case_and_of_no_other() -> None:
    def answer(request: WireRequest) -> Reply | Fault:
        return Fault("bad_request") if "median" in request.messages[0].text else Reply("writer")

    cases = ({"input": "the median", "expect": "writer"}, {"input": "the letter", "expect": "writer"})
    finding_at = await collect_records(one_set("routing", *cases), answer)
    assert finding_at["naive c1"].error.startswith("naive:router: bad_request")
    assert (finding_at["naive c2"].right, finding_at["naive c2"].error) == (True, "")


@pytest.mark.parametrize(
    ("reply", "expect"),
    [
        ({"who": "answer", "text": "You are welcome."}, "answer"),
        ({"who": "ask", "question": "Which two?", "options": ["A", "B"]}, "ask"),
        ({"who": "writer"}, "writer"),
    ],
)
async def test_a_planner_may_do_without_a_plan(reply: dict[str, Any], expect: str) -> None:
    answer = json.dumps({"why": "So.", "next": reply})
    routed = one_set("routing", {"input": "Compare the two.", "expect": expect})
    finding_at = await collect_records(routed, brain(answer, "none of them"))
    assert (finding_at["product c1"].right, finding_at["product c1"].why) == (True, "")
    expected = {"must": ["writer"]} if expect == "writer" else {"reply": expect}
    planned = one_set("planning", {"input": "Compare the two.", "expect": expected})
    assert (await collect_records(planned, brain(answer, "{}")))["product c1"].right


# ---------------------------------------------------------------- what came of a request

AT: dict[str, Any] = {"at": 2.0, "request": R}
NOBODY_CAN = ev.RequestFailed(**AT, step="planning", reason="nobody in the crew can fly", advice="Ask for less.")


@pytest.mark.parametrize(
    ("event", "expected_decision"),
    [
        (ev.AnswerWritten(**AT, text="You are welcome."), "answer: You are welcome."),
        (ev.PlannerAsked(**AT, question="Which two?", options=("A", "B")), "ask"),
        (ev.PlannerAsked(**AT, question="Which two?"), "ask"),
        (make_plan_event(subtask("a", specialist="writer")), "writer"),
        (make_plan_event(subtask("a"), subtask("b", "a", specialist="writer")), "analyst + writer(a)"),
        (NOBODY_CAN, "nobody: nobody in the crew can fly"),
    ],
)
def test_each_decision_is_known_by_the_job_alone(event: ev.Event, expected_decision: str) -> None:
    job = fold_log((make_request_event(), event))
    assert job is not None
    assert str(extract_decision(job.requests[-1])) == expected_decision


def test_a_call_that_failed_is_no_word_of_the_planner() -> None:
    job = fold_log((make_request_event(), NOBODY_CAN))
    assert job is not None
    assert extract_decision(job.requests[-1], has_erred=True).reply == "failed"


async def test_a_model_that_declines_does_not_say_that_nobody_can_do_it() -> None:
    def declining(request: WireRequest) -> Reply:
        return Reply("I will not.", stop="refused") if purpose_of(request) == "planner" else Reply("nobody")

    routed = one_set("routing", {"input": "Phone them", "expect": "nobody"})
    finding_at = await collect_records(routed, declining)
    assert (finding_at["product c1"].right, finding_at["product c1"].why) == (False, "failed, not nobody")
    assert finding_at["naive c1"].right


# ---------------------------------------------------------------- reviews

REVIEW = CREWS_FOLDER / "review"
LENSES = ("bugs", "house_rules", "history", "earlier_requests", "comments")


def shown_lines(diff: str) -> set[str]:
    """The places of the lines of the new files that a change shows."""
    finding_at, path, number = set[str](), "", 0
    for line in diff.splitlines():
        if line.startswith("+++ b/"):
            path = line.removeprefix("+++ b/")
        elif head := re.match(r"@@ -\S+ \+(\d+)", line):
            number = int(head[1])
        elif line.startswith(("+", " ")):
            finding_at.add(f"{path}:{number}")
            number += 1
    return finding_at


def test_faults_are_planted_in_lines_that_a_change_shows_for_each_lens_and_told_apart() -> None:
    (reviews,) = read_sets(REVIEW, ["reviews"])
    cases = [case for case in reviews.cases if isinstance(case, ReviewCase)]
    for change, lenses in groupby(cases, key=lambda case: case.files[0]):
        places = {case.lens: set(case.expect) for case in lenses}
        assert set(places) == set(LENSES)
        everywhere = set[str]().union(*places.values())
        assert everywhere <= shown_lines((REVIEW / "evaluation" / change).read_text(encoding="utf-8"))
        for case in cases:
            if case.files[0] == change:
                assert set(case.others) == set[str]().union(*(at for lens, at in places.items() if lens != case.lens))
    planted = Counter({lens: sum(len(one.expect) for one in cases if one.lens == lens) for lens in LENSES})
    assert planted.total() >= 30
    assert min(planted.values()) >= 6
    assert len({tag for one in cases for tag in one.tags} - set(LENSES)) == 3


def finding_at(where: str, confidence: int = 90) -> dict[str, Any]:
    return {"message": "It is wrong.", "where": where, "severity": "high", "confidence": confidence}


@pytest.mark.parametrize(
    ("findings", "right", "measures"),
    [
        ([finding_at("till/refunds.py:13")], True, (True, True, False)),
        ([finding_at("till/refunds.py:15", 79)], False, (False, True, False)),
        ([finding_at("till/refunds.py:14"), finding_at("till/refunds.py:3")], True, (True, True, True)),
        ([finding_at("till/other.py:14")], False, (False, False, True)),
        ([], False, (False, False, False)),
    ],
)
async def test_a_finding_counts_at_its_line_or_two_off(
    findings: list[dict[str, Any]], *, right: bool, measures: tuple[bool, bool, bool]
) -> None:
    case = next(one for one in read_sets(REVIEW, ["reviews"])[0].cases if one.id == "py-till-history")
    seen: list[str] = []

    def brain(request: WireRequest) -> Reply:
        if purpose_of(request) != "specialist:history":
            return Reply("Problem at till/refunds.py:14" if right else "Fine.")
        seen.append(first_text(request))
        return result("Looked.", 90, findings=findings)

    records: list[CaseRecord] = []
    async with model_of(brain) as (model, _):
        crew = load_crew(REVIEW, all_tools())
        terms = Terms(confidence=80)
        bench = CaseEnvironment(crew, CrewPlanner(crew, model, TrackRecord(), terms), terms, (REVIEW / "evaluation",))
        one = LabelledSet("reviews", (case,), (REVIEW / "evaluation",))
        await play_sets([one], bench, model, CaseChoice(), on_record=lambda record, *_: records.append(record))
    product, naive = (next(one for one in records if one.side == side) for side in ("product", "naive"))
    assert product.right is right
    assert tuple(product.measures.values()) == measures
    assert naive.right is right
    assert "14 +    order.paid -= cents" in seen[0]
    assert "Two tills refunded one order at once" in seen[0]
