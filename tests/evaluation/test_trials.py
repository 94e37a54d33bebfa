"""Each kind of case, played by scripted models over a real wire: right replies are right, wrong ones wrong."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from handoff.contracts import ToolCall
from tests.evaluation.eval_kit import one_set, played
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.scripts import purpose_of
from tests.providers.wire import WireRequest


def brain(product: str | Callable[[WireRequest], Reply], naive: str) -> Callable[[WireRequest], Reply]:
    """Answer the product's calls and the plain prompts."""

    def answer(request: WireRequest) -> Reply:
        if purpose_of(request) == "other" or "supervisor managing several agents" in request.system:
            return Reply(naive)
        return Reply(product) if isinstance(product, str) else product(request)

    return answer


def plan(*parts: tuple[str, str, list[str]], **more: Any) -> str:
    subtasks = [
        {
            "id": name,
            "title": f"Part {name}",
            "intent": f"Find the figure of {name} in the file data.csv and state it.",
            "specialist": specialist,
            "after": after,
            "done_when": "The figure is stated.",
            "tier": None,
            "critical": False,
        }
        for name, specialist, after in parts
    ]
    given = {"goal": "g", "subtasks": subtasks, "strategy": "merge", "instruction": "", "missing": [], **more}
    return json.dumps(given)


ROUTE = {"input": "What is the median in data.csv?", "files": ["data.csv"], "expect": "analyst"}


@pytest.mark.parametrize(
    ("reply", "right", "among"),
    [
        (plan(("a", "analyst", [])), True, True),
        (plan(("a", "analyst", []), ("b", "writer", [])), False, True),
        (plan(("a", "writer", [])), False, False),
    ],
)
async def test_routing_counts_the_right_one_alone(reply: str, right: bool, among: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    found = await played(one_set("routing", {**ROUTE, "input": "Draft it from data.csv"}), brain(reply, "Analyst."))
    assert found["product c1"].right is right
    assert found["product c1"].measures == {"the right one is among them": among}
    assert found["product c1"].tokens_in > found["naive c1"].tokens_in > 0
    assert found["naive c1"].right


async def test_the_plain_prompt_may_be_wrong() -> None:
    found = await played(one_set("routing", ROUTE), brain(plan(("a", "analyst", [])), "I would ask the writer."))
    assert (found["naive c1"].right, found["naive c1"].why) == (False, "ask, not analyst")


PLANNED = {
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
    found = await played(one_set("planning", PLANNED), brain(reply, naive))
    assert found["product c1"].right is (not why)
    assert found["product c1"].why.startswith(why)
    assert found["naive c1"].right


async def test_a_plan_is_clean_without_parts_that_nobody_asked_for() -> None:
    reply = plan(("a", "analyst", []), ("b", "writer", ["a"]), ("c", "reviewer", ["b"]))
    (measure,) = (await played(one_set("planning", PLANNED), brain(reply, "{}")))["product c1"].measures.values()
    assert measure is False


async def test_small_talk_is_answered_and_the_naive_prompt_may_leave_its_parts_empty() -> None:
    case = {"input": "Thanks!", "expect": {"reply": "answer"}}
    found = await played(one_set("planning", case), brain(plan(("a", "writer", [])), '{"parts": []}'))
    assert (found["product c1"].right, found["product c1"].why) == (False, "it is plan, not answer")
    assert found["naive c1"].right


async def test_what_nobody_can_do_must_be_named() -> None:
    case = {"input": "Phone them", "expect": {"parts": [0, 0], "missing": True}}
    nobody = json.dumps({"goal": "g", "subtasks": [], "strategy": "merge", "instruction": "", "missing": ["phone"]})
    found = await played(one_set("planning", case), brain(nobody, "no JSON at all"))
    assert found["product c1"].right
    assert found["naive c1"].why.startswith("no plan")


async def test_a_plan_that_is_refused_twice_is_not_one_that_nobody_can_do() -> None:
    case = {"input": "Phone them", "expect": {"parts": [0, 0], "missing": True}}
    found = await played(one_set("planning", case), brain("no JSON at all", "{}"))
    assert not found["product c1"].right


def working(content: str) -> Callable[[WireRequest], Reply]:
    """Call calculate, then return a result; a plain loop gets the same tool and then words."""

    def answer(request: WireRequest) -> Reply:
        if not any(message.replies for message in request.messages):
            arguments = {"expression": "1234 * 5678"}
            arguments = dict.fromkeys(_required(request, "calculate"), "1234 * 5678") or arguments
            return Reply(calls=(ToolCall(id="1", name="calculate", arguments=arguments),), stop="tool_use")
        if not any(tool.name == "return_result" for tool in request.tools):
            return Reply(content)
        result = {"summary": content, "content": content, "confidence": 90}
        return Reply(calls=(ToolCall(id="2", name="return_result", arguments=result),), stop="tool_use")

    return answer


def _required(request: WireRequest, tool: str) -> list[str]:
    return [name for one in request.tools if one.name == tool for name in one.parameters.get("required", [])]


SUM = {"specialist": "analyst", "input": "What is 1234 times 5678?", "expect": {"figures": 7006652}}


async def test_a_specialist_works_with_its_real_tools_on_both_sides() -> None:
    found = await played(one_set("specialists", SUM), working("It is 7,006,652."))
    for side in ("product c1", "naive c1"):
        assert found[side].right, found[side]
        assert found[side].calls == 2
        assert not any(found[side].measures.values())


async def test_a_wrong_figure_is_completed_and_wrong() -> None:
    found = (await played(one_set("specialists", SUM), working("It is 12."), naive=False))["product c1"]
    assert not found.right
    assert found.measures["completed and wrong"] is True
    assert found.measures["completed, wrong and nothing marked"] is True


async def test_a_wrong_figure_that_is_marked_is_told_apart() -> None:
    found = (await played(one_set("specialists", SUM), working("It is 12 \u26a0.")))["naive c1"]
    assert found.measures["completed and wrong"] is True
    assert found.measures["completed, wrong and nothing marked"] is False


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
    found = await played(one_set("aggregation", AGGREGATE), brain(good, bad))
    assert found["product c1"].right, found["product c1"]
    assert found["product c1"].measures["gaps told"] is True
    naive = found["naive c1"]
    assert not naive.right
    assert [naive.measures[name] for name in ("planted facts kept", "gaps told", "duplicates merged")] == [False] * 3
    assert "'probably' is in it" in naive.why


async def test_both_sides_of_a_contradiction_must_be_shown() -> None:
    case = {**AGGREGATE, "expect": {"both": [["980", "990"]]}}
    found = await played(one_set("aggregation", case), brain("It is 980.", "It is 980 or 990."))
    assert [found[f"{side} c1"].right for side in ("product", "naive")] == [False, True]


LEASE = "The tenant may end the lease with 90 days' notice. The deposit is two months' rent."


def verified(verdict: str, quotation: str = "", *pair: str) -> str:
    """What the verifier says of the first sentence, and of two that contradict each other."""
    said = {"number": 1, "quotation": quotation, "verdict": verdict}
    pairs = [dict(zip(("one", "other"), pair, strict=True))] if pair else []
    return json.dumps({"sentences": [said], "unanswered": [], "contradictions": pairs})


@pytest.mark.parametrize(
    ("statement", "expect", "reply", "marked"),
    [
        ("Two months' rent are the deposit.", "supported", verified("supported", "two months' rent"), False),
        ("Two months' rent are the deposit.", "supported", verified("not_found"), True),
        ("The notice is 60 days.", "contradicted", verified("contradicted", "with 90 days' notice"), True),
        ("The notice is 60 days.", "contradicted", verified("contradicted", "with 30 days' notice"), False),
        ("The notice is 60 days.", "contradicted", verified("supported"), False),
        ("The rent is due on Mondays.", "not_found", verified("not_found"), True),
        ("The rent is due on Mondays.", "not_found", "It looks fine to me.", False),
    ],
)
async def test_the_verifier_is_scored_by_what_people_would_see_marked(
    statement: str,
    expect: str,
    reply: str,
    marked: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    case = {"passage": LEASE, "statement": statement, "expect": expect}
    found = await played(one_set("verifier", case), brain(reply, expect.replace("_", " ").capitalize() + "."))
    right = expect == "supported"
    measure = "right statements marked" if right else "wrong statements let pass"
    assert found["product c1"].measures == {measure: marked is right}
    assert found["product c1"].right is (marked is not right)
    assert found["naive c1"].right


ASKED = {"asked": "Draft a note on churn", "answer": "Churn rose to 4.2 %."}


async def test_a_message_is_sorted_by_the_rules_or_else_by_the_dispatcher() -> None:
    order = {**ASKED, "input": "shorter", "expect": "request"}
    to_ben = {**ASKED, "input": "Ben, can you send it?", "expect": "nothing"}
    talk = {**ASKED, "by": "colleague", "input": "I am in a call", "expect": "nothing"}
    aim = json.dumps({"why": "It orders.", "aim": "request"})
    found = await played(one_set("dispatcher", order, to_ben, talk), brain(aim, "Nothing, I think."))
    assert [found[f"product c{n}"].right for n in (1, 2, 3)] == [True, True, False]
    assert found["product c1"].said == "request: It orders."
    assert found["product c1"].measures == {"left alone, and for the bot": False, "decided without a call": False}
    assert found["product c2"].measures == {"taken up, and not for the bot": False, "decided without a call": True}
    assert found["product c3"].measures == {"taken up, and not for the bot": True, "decided without a call": False}
    assert [found[f"product c{n}"].calls for n in (1, 2, 3)] == [1, 0, 1]
    assert [found[f"naive c{n}"].right for n in (1, 2, 3)] == [False, True, True]
    assert found["naive c1"].measures == {"left alone, and for the bot": True}
    assert found["naive c1"].calls == 1


@pytest.mark.parametrize(
    ("state", "aim", "told"),
    [
        ({"parts": ["Work out the prices"]}, "correction", "# It is under way\n- Work out the prices"),
        ({"question": "Which tone?", "options": ["Formal"]}, "explain", "# Open question of the bot\nWhich tone?"),
        ({"answer": "The note."}, "request", "# It is over\nThe note."),
    ],
)
async def test_the_dispatcher_is_told_how_far_the_job_is(state: dict[str, Any], aim: str, told: str) -> None:
    seen: list[str] = []

    def reply(request: WireRequest) -> Reply:
        seen.append(request.messages[0].text)
        return Reply(json.dumps({"why": "w", "aim": aim}))

    case = {"asked": "Prices", **state, "input": "in euros rather than in dollars please", "expect": aim}
    found = await played(one_set("dispatcher", case), brain(reply, "no idea"))
    assert found["product c1"].right, found["product c1"]
    assert told in seen[0]
    assert found["naive c1"].why == f"no verdict, not {aim}"


async def test_a_message_that_no_model_looked_at_is_an_error() -> None:
    case = {**ASKED, "input": "I'll forward it", "expect": "nothing"}
    found = await played(one_set("dispatcher", case), lambda _: Fault("bad_request"), naive=False)
    assert found["product c1"].error
    assert not found["product c1"].right, "silence by a failure is no verdict"


async def test_contradictions_are_found_as_the_product_finds_them() -> None:
    case = {"question": "Churn in May?", "a": "Churn was 4.2 % in May.", "b": "Churn was 6.1 % in May."}

    def reply(request: WireRequest) -> Reply:
        read = purpose_of(request) == "verifier"
        return Reply(verified("supported", case["a"], case["a"], case["b"]) if read else "Churn was 4.2 % in May.")

    cases = ({**case, "contradict": True}, {**case, "contradict": False})
    found = await played(one_set("contradictions", *cases), brain(reply, "Yes."))
    assert [found[f"product c{n}"].right for n in (1, 2)] == [True, False]
    assert found["product c1"].measures == {"contradictions found": True}
    assert found["product c2"].measures == {"harmless pairs called contradictions": True}
    assert found["naive c2"].measures == {"harmless pairs called contradictions": True}


async def test_what_code_decides_takes_no_call() -> None:
    known = "sum: 1284553, n: 204, m: 31"
    figures = one_set(
        "figures",
        {"known": known, "result": "It is 1,284,553.", "wrong": []},
        {"known": known, "result": "It is 1,234,553.", "wrong": ["1,234,553"]},
    )
    found = await played([figures], brain("", ""))
    assert all(record.right and not record.calls for record in found.values()), found


async def test_a_call_that_fails_is_an_error_of_its_case_and_of_no_other() -> None:
    def answer(request: WireRequest) -> Reply | Fault:
        return Fault("bad_request") if "median" in request.messages[0].text else Reply("writer")

    cases = ({"input": "the median", "expect": "writer"}, {"input": "the letter", "expect": "writer"})
    found = await played(one_set("routing", *cases), answer)
    assert found["naive c1"].error.startswith("naive:router: bad_request")
    assert (found["naive c2"].right, found["naive c2"].error) == (True, "")


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
    found = await played(routed, brain(answer, "none of them"))
    assert (found["product c1"].right, found["product c1"].why) == (True, "")
    expected = {"must": ["writer"]} if expect == "writer" else {"reply": expect}
    planned = one_set("planning", {"input": "Compare the two.", "expect": expected})
    assert (await played(planned, brain(answer, "{}")))["product c1"].right
