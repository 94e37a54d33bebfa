"""A crew's own file: what it may say, and that every fault in it is named by its line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.supervisor.crew_planner import CrewPlanner
from bot.supervisor.track_record import TrackRecord
from handoff.contracts import ContextLimits, Escalation, FindingCondition, Terms, ToolCall
from handoff.planning.pipeline import Pipeline
from specialists.crew import MIN_CROWDED_SPECIALISTS, Crew, suggest_inner_crews
from specialists.crew_set import CrewSet
from specialists.loading.crew_file import _NUMBER_BOUNDS
from specialists.registry import CREWS_FOLDER, load_crew
from specialists.turns import finish_tools
from tests.own_tools import all_tools
from tests.specialists.crew_files import TOOLS, list_faults, load_files, load_two, make_pair, page, write_crew
from tests.specialists.scripted_model import ScriptedModel

ALL_TOOLS = all_tools() | TOOLS
RULE = "- {name: r, to: a, when: [x]}"


def test_rules_equals_and_terms_are_read(tmp_path: Path) -> None:
    text = r"""
confidence: 60
job_seconds: 900
verifier: false
unsure: apart
equals:
  - [a, b]
rules:
  - name: translate
    to: [a, b]
    files: [.csv, XLSX]
    when: ['^translate\b', 'into (german|french)']
    unless: ['\breview\b']
    done_when: It is in the language asked for.
  - {name: check, to: b, when: [check], files: none}
"""
    crew = load_two(tmp_path, text)
    first, second = crew.rules
    assert (first.name, first.to, first.files) == ("translate", ("a", "b"), ("csv", "XLSX"))
    assert first.fits("Translate it", ["a.csv"])
    assert not first.fits("Translate and review it", ["a.csv"])
    assert first.done_when == "It is in the language asked for."
    assert (second.to, second.files, second.unless) == (("b",), "none", ())
    assert crew.equals == (("a", "b"),)
    assert crew.terms == {"confidence": 60, "job_seconds": 900, "verifier": False, "unsure": "apart"}


def test_a_crew_may_say_where_something_private_may_go(tmp_path: Path) -> None:
    crew = load_two(tmp_path, "allow_out: [web_search, Docs.Python.org, 'localhost.example:8080']", ALL_TOOLS)
    allowed = {"web_search", "docs.python.org", "localhost.example:8080"}
    assert crew.allow_out == allowed
    assert {one.allow_out for one in crew.specialists.values()} == {frozenset(allowed)}
    assert load_two(tmp_path, "").allow_out == frozenset()


def test_small_keys_are_read(tmp_path: Path) -> None:
    crew = load_two(tmp_path, "default: b\nrequests: [Translate nda.docx, 'Is this\n  German?']\ncontact: S034CD")
    assert (crew.default, crew.requests) == ("b", ("Translate nda.docx", "Is this German?"))
    assert crew.contact == "S034CD"
    assert load_two(tmp_path, "contact: it-help@acme.org").contact == "it-help@acme.org"
    crew = load_two(tmp_path, "first: b")
    assert (crew.first, [*crew.without_first_responder().specialists]) == ("b", ["a"])
    assert load_two(tmp_path, "first: none").first == ""
    crew = load_two(tmp_path, "roles: {planner: deep, verifier: fast}")
    assert (crew.roles, crew.terms) == ({"planner": "deep", "verifier": "fast"}, {})


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_a_file_that_says_nothing_is_fine(tmp_path: Path, text: str) -> None:
    crew = load_two(tmp_path, text)
    assert (crew.rules, crew.equals, crew.terms) == ((), (), {})
    assert (crew.default, crew.contact, crew.allow_out, crew.requests) == ("", "", frozenset(), ())


def test_its_terms_are_those_of_every_job() -> None:
    known = Terms.model_fields
    of_the_models = {"context", "call_seconds"}
    of_a_call = {"circumstances", "crew_words", "channel_words"}
    of_costs = {"ask_above_tokens", "ask_above_cost", "approvers", "quorum", "own_approval"}
    said = set(_NUMBER_BOUNDS) | {"asking", "roles", "unsure", "verifier"} | of_costs
    assert said == set(known) - of_the_models - of_a_call, "a crew says the rest"


FAULTS = {
    "near key": ("rule: []", "1: unknown key rule (did you mean rules?)"),
    "key twice": ("verifier: no\nverifier: no", "2: the key verifier is there twice"),
    "nested": ("rules: " + "[" * 600 + "]" * 600, "1: the file is nested too deep"),
    "a tab": (
        "rules:\n\t- x",
        "2: the file is not valid YAML: found character '\\t' that cannot start any token; write",
    ),
    "no when": ("rules:\n- {name: r, to: a}", "2: the rule has no when"),
    "empty when": ("rules:\n- name: r\n  to: a\n  when: []", "4: when must be a list with something in it"),
    "two rules": (f"rules:\n{RULE}\n{RULE}", "3: two rules are called r"),
    "unknown to": (
        "rules:\n- {name: r, to: aa, when: [x]}",
        "2: there is no specialist aa (did you mean a?); there are a, b",
    ),
    "to twice": ("rules:\n- {name: r, to: [a, a], when: [x]}", "2: to names a twice"),
    "bad unless": (
        "rules:\n- name: r\n  to: a\n  when: [x]\n  unless: ['(?=a)b']",
        "5: the pattern '(?=a)b' may not be",
    ),
    "many patterns": (f"rules:\n- {{name: r, to: a, when: {['x'] * 11}}}", "2: when has 11 patterns; at most 10"),
    "a contact that mentions": ("contact: '<@U012AB>'", "1: contact takes the bare id, not <@U012AB>"),
    "a long contact": (f"contact: {'x' * 121}", "1: contact takes an id of Slack, or words on one line"),
    "slow patterns": (
        "rules:\n" + "\n".join(f"- {{name: r{n}, to: a, when: ['\\w*\\w*x']}}" for n in range(12)),
        "2: all patterns together can match in 20,172 ways at each place, and at most 20,000 are allowed",
    ),
    "bad files": (f"rules:\n{RULE[:-1]}, files: maybe}}", "2: files must be any, none, some, or a list of endings"),
    "alone": ("equals:\n- [a]", "2: a stands alone in a group of equals"),
    "in two groups": ("equals:\n- [a, b]\n- [b, a]", "3: b stands in two groups of equals"),
    "big number": ("job_seconds: 9999999", "1: job_seconds takes a whole number from 1 to 604,800"),
    "bad unsure": ("unsure: dropped", "1: unsure takes mark or apart"),
    "bad verifier": ("verifier: maybe", "1: verifier takes true or false"),
    "unknown tier": ("roles:\n  verifier: fast\n  planner: huge", "3: planner takes a tier: fast, balanced, deep"),
    "a role with a list": ("roles: {verifier: [fast]}", "1: verifier takes a tier: fast, balanced, deep"),
    "no roles": ("roles: deep", "1: roles is not a list of `key: value` lines; the keys are planner, "),
    "out: any host": ("allow_out: [fetch_page]", "it reaches any host, so name the hosts"),
    "out: no place": ("allow_out: [calculate]", "the tool calculate has no one place to allow"),
    "out: near": ("allow_out: [web_serch]", "did you mean web_search"),
    "out: address": ("allow_out: ['https://docs.python.org/3']", "neither a tool that sends something out nor a host"),
    "no such default": ("default: zz", "there is no specialist zz"),
    "no such first": ("first: nobody", "1: there is no specialist nobody; there are a, b"),
    "two defaults": ("default: [a, b]", "default names one specialist"),
    "request no list": ("requests: Translate", "requests must be a list"),
    "many requests": ("requests: [a, b, c, d]", "requests has 4 items; at most 3 are allowed"),
    "asks anyone": ("asks: [anyone, U0BEN]", "keep anyone alone"),
    "no span": ("remind_after: soon", "remind_after takes a span of time"),
    "assume a list": ("assume: []", "assume takes text"),
    "context": ("context:\n  quick: 5000", "2: "),
    "little room": ("context:\n  deep: 12", "2: "),
    "made: unknown tool": ("make:\n  tools:\n  - lok", "3: unknown tool lok (did you mean look?)"),
    "made: writes": (
        "make:\n  tools: [look,\n    post]",
        "3: the tool post writes, and a specialist made for a job only reads",
    ),
    "made: twice": ("make: {tools: [look, look]}", "1: tools names look twice"),
    "made: everybody's": ("make: {tools: [escalate]}", "1: every specialist has escalate"),
    "made: tier": ("make: {tiers: [fast, huge]}", "1: tiers takes some of fast, balanced, deep, each once"),
    "made: fallbacks": ("make: {fallback: [a, b]}", "1: fallback names one specialist"),
}
STEP = "specialist: a, title: One, brief: Find the bugs of it."
PIPELINE_FAULTS = {
    "no steps": ("pipeline: {strategy: merge}", "1: the pipeline has no steps"),
    "no specialist": ("pipeline:\n- {title: One, brief: It.}", "2: the step has no specialist"),
    "unknown specialist": ("pipeline:\n- {specialist: c, title: One, brief: It.}", "2: there is no specialist c"),
    "unknown key": (f"pipeline:\n- {{{STEP}, wait: b}}", "2: unknown key wait"),
    "one name twice": (f"pipeline:\n- {{{STEP}}}\n- {{{STEP}}}", "3: two steps are called a"),
    "a step not before": (f"pipeline:\n- {{{STEP}, after: b}}", "2: there is no step b before this one"),
    "itself": (f"pipeline:\n- {{{STEP}, after: [a]}}", "2: there is no step a before this one"),
    "needs": (f"pipeline:\n- {{{STEP}, needs: [file]}}", "2: needs takes all, none, or a list of request"),
    "only_for first": (
        f"pipeline:\n- {{{STEP}, only_for: {{below: 80}}}}",
        "2: only_for is about the findings",
    ),
    "only_for nothing": (f"pipeline:\n- {{{STEP}, only_for: {{}}}}", "2: only_for has severity or below, or both"),
    "only_for severe": (f"pipeline:\n- {{{STEP}, only_for: {{severity: bad}}}}", "2: severity takes info, low"),
    "one piece of work": (
        "pipeline:\n" + "\n".join(f"- {{{STEP}, name: s{n}, after: {f's{n - 1}' if n else '[]'}}}" for n in range(4)),
        "2: the steps s0, s1, s2, s3 are a's work one after the other",
    ),
    "a decision twice": (
        (
            "pipeline:\n- {specialist: a, title: One, brief: Define the schema of orders.}\n"
            "- {specialist: b, title: Two, brief: Define the schema of orders.}"
        ),
        "2: the steps 'a' and 'b'",
    ),
    "too many": (
        "pipeline:\n" + "\n".join(f"- {{{STEP}, name: s{n}}}" for n in range(21)),
        "2: there are 21 steps; at most 20",
    ),
}
APPROVAL_FAULTS = [
    ("\napprove: {post: maybe}", "2: approve says 'maybe' of post; it takes ask, never, always"),
    ("approve: {}", "1: approve must name tools, each with ask, never or always: {post_note: never}"),
    ("approve: {pots: ask}", "1: approve names the unknown tool pots (did you mean post?)"),
    ("approve: {look: ask}", "1: the tool look only reads, so nobody approves its calls"),
    ("approvers: []", "1: approvers must be a list of requester, admins, and Slack ids"),
    ("approvers: [requestor]", "1: approvers names requestor (did you mean requester?)"),
    ("approvers: [U12, U12]", "1: approvers names U12 twice; keep one"),
    ("quorum: 0", "1: quorum must be a whole number from 1 to 10"),
    ("quorum: 2", "1: quorum is 2, and approvers names 1; name more people, or lower the quorum"),
    ("self: maybe", "1: self takes true or false"),
    ("\nself: false", "2: self is false, and the requester is the only approver; name others"),
    (
        "approvers: [requester, U12]\nquorum: 2\nself: false",
        "1: quorum is 2, and approvers names 1; name more people, or lower the quorum",
    ),
    ("ask_above: $0", "1: ask_above takes dollars such as $2.50, or a number of tokens such as 300000"),
]


@pytest.mark.parametrize(("text", "expected"), [*FAULTS.values(), *PIPELINE_FAULTS.values(), *APPROVAL_FAULTS])
def test_a_fault_is_named_with_its_line_and_what_to_do(tmp_path: Path, text: str, expected: str) -> None:
    lines = list_faults(tmp_path, ALL_TOOLS, **make_pair(text, tools="[look]"))
    assert any(expected in line.removeprefix("crew.yml:") for line in lines), lines


def test_the_tools_of_a_first_responder_only_read(tmp_path: Path) -> None:
    tools = {"look": replace(TOOLS["look"], access="write")}
    lines = list_faults(tmp_path, tools, **make_pair("first: a", tools="[look]"))
    assert lines == ["crew.yml:1: the first responder a has look, which writes: it may only have tools that read"]


def test_the_rules_of_the_crew_general_are_narrow() -> None:
    rules = load_crew(CREWS_FOLDER / "general", all_tools()).rules
    alone = {
        ("what were the total sales by region?", ("sales.csv",)): "analyst",
        ("What is the average order value per month", ("orders.xlsx",)): "analyst",
        ("search the web for the opening hours of the Louvre", ()): "researcher",
    }
    for (text, files), name in alone.items():
        assert {rule.to for rule in rules if rule.fits(text, files)} == {(name,)}, text
    for text in (
        "what were the total sales by region, and write a note to the board",
        "what was the average price our competitors ask?",
        "why did churn rise in churn.csv?",
        "search the web for prices and compare them with ours",
    ):
        assert not [rule for rule in rules if rule.fits(text, ("sales.csv",))], text


def test_what_it_says_on_questions_is_read(tmp_path: Path) -> None:
    text = (
        "asks: [requester, S0FINANCE]\nasks_next: [U0BEN]\nremind_after: 30 min\nexpire_after: 2 days\nassume: first\n"
    )
    assert load_two(tmp_path, text).asking_terms == {
        "whom": ("requester", "S0FINANCE"),
        "then": ("U0BEN",),
        "remind_after": 1800.0,
        "expire_after": 172_800.0,
        "assume": "first",
    }
    assert load_two(tmp_path, "asks: anyone\nexpire_after: never\n").asking_terms == {
        "whom": ("anyone",),
        "expire_after": 0.0,
    }


def test_the_contact_stands_in_prompts_and_holds_for_the_crews_inside(tmp_path: Path) -> None:
    escalator = page("escalator", body="Hand over to {contact}.")
    write_crew(tmp_path / "inner", escalator=escalator, crew="description: Hands over.\n")
    crew = load_two(tmp_path, "contact: '@it-help'")
    found = crew.find_crew("inner")
    assert found.contact == "@it-help"
    assert "Hand over to @it-help." in found.specialists["inner/escalator"].prompt
    without = load_two(tmp_path, "").all_specialists["inner/escalator"]
    assert "Hand over to nobody (the crew names no contact)." in without.prompt


SIDE_BY_SIDE = """
pipeline:
  strategy: reduce
  instruction: The likelier cause first.
  follow_ups: planner
  steps:
    - {specialist: a, title: Find the cause, brief: "Find the cause. {request}", needs: [files, .log]}
    - {specialist: b, title: Find the page, brief: Find the page that helps., needs: none, done_when: A page.}
    - {specialist: a, name: together, title: Last, brief: Write one., after: all, critical: true, tier: deep}
    - {specialist: b, name: look, title: Look, brief: Look at it., after: a, only_for: {severity: high, below: 80}}
"""


def pipeline_of(folder: Path, text: str) -> Pipeline:
    found = load_two(folder, text).pipeline
    assert found is not None
    return found


def test_all_that_a_pipeline_may_say_is_read(tmp_path: Path) -> None:
    pipeline = pipeline_of(tmp_path, SIDE_BY_SIDE)
    first, second, last, look = pipeline.steps
    assert (first.name, first.specialist, first.title, first.needs) == ("a", "a", "Find the cause", ("files", ".log"))
    assert (second.name, second.needs, second.after, second.done_when) == ("b", (), (), "A page.")
    assert (last.name, last.specialist, last.after, last.critical) == ("together", "a", ("a", "b"), True)
    assert (last.needs, last.tier, last.only_for) == (None, "deep", None)
    assert look.only_for == FindingCondition(severity="high", below=80)
    assert (pipeline.strategy, pipeline.follow_ups) == ("reduce", "planner")
    assert pipeline.instruction == "The likelier cause first."


def test_a_crew_asks_for_room_and_the_operator_has_the_last_word(tmp_path: Path) -> None:
    crew = load_two(tmp_path, "context: {balanced: 96000, fast: 20000}\n")
    usual = CrewPlanner(crew, ScriptedModel([]), TrackRecord(), Terms())
    assert usual._terms.context == ContextLimits(fast=20_000, balanced=96_000)
    small = CrewPlanner(crew, ScriptedModel([]), TrackRecord(), Terms(context=ContextLimits(balanced=8_000)))
    assert small._terms.context == ContextLimits(fast=20_000, balanced=8_000)


def read_escalation(**arguments: Any) -> Escalation:
    call = ToolCall(id="1", name=finish_tools.ESCALATE, arguments={"reason": "ambiguous_input", **arguments})
    strict, lenient = finish_tools.read_finish_call(call), finish_tools.read_finish_call_leniently(call)
    assert strict == lenient
    assert isinstance(strict, Escalation)
    return strict


def test_whom_and_what_is_assumed_are_read_where_they_are_given() -> None:
    assert read_escalation(message="which?").whom == ()
    given = read_escalation(message="which?", whom=["Ben", "U0CLEO"], assumption="the first")
    assert (given.whom, given.assumption) == (("Ben", "U0CLEO"), "the first")
    assert read_escalation(message="which?", whom="Ben", assumption=7).whom == ("Ben",)
    assert read_escalation(message="which?", whom=None, assumption=None) == read_escalation(message="which?")


def test_no_prompt_grew_by_it() -> None:
    (escalate,) = (spec for spec in finish_tools.FINISH_SPECS if spec.name == finish_tools.ESCALATE)
    assert set(escalate.parameters["properties"]) == {"reason", "message", "options", "partial_result"}


def test_a_specialists_file_says_whom_it_asks(tmp_path: Path) -> None:
    pages = {"a": page("a", asks="[requester, S0FINANCE]"), "b": page("b", asks="anyone")}
    crew = load_files(tmp_path, {}, **pages, crew="asks_next: [U0BOSS]\n")
    assert crew.specialists["a"].asks == ("requester", "S0FINANCE")
    assert crew.specialists["b"].asks == ("anyone",)
    assert crew.addressee_ids == {"S0FINANCE", "U0BOSS"}


@pytest.mark.parametrize("asks", ["[]", "[ben]", "[anyone, requester]"])
def test_whom_nobody_can_ask_is_a_fault_of_the_file(tmp_path: Path, asks: str) -> None:
    (fault,) = list_faults(tmp_path, {}, a=page("a", asks=asks))
    assert fault.startswith(("a.md:6: asks takes", "a.md:6: asks names"))


def crew_of(folder: Path, size: int, text: str = "") -> Crew:
    return load_files(folder, {}, crew=text, **{f"s{number}": page(f"s{number}") for number in range(size)})


def test_many_side_by_side_are_told_to_be_put_into_crews(tmp_path: Path) -> None:
    assert suggest_inner_crews(crew_of(tmp_path / "few", MIN_CROWDED_SPECIALISTS - 1)) == ""
    assert suggest_inner_crews(crew_of(tmp_path / "many", MIN_CROWDED_SPECIALISTS)).startswith(
        "8 specialists are in one crew"
    )
    fixed = "pipeline:\n- {specialist: s0, title: One, brief: Find the bugs of it.}\n"
    assert suggest_inner_crews(crew_of(tmp_path / "fixed", MIN_CROWDED_SPECIALISTS, fixed)) == "", (
        "no planner chooses among them"
    )
    crew_of(tmp_path / "outer" / "law", MIN_CROWDED_SPECIALISTS, "description: Knows the law.\n")
    assert "in law, 8 specialists" in suggest_inner_crews(crew_of(tmp_path / "outer", 1))


def test_several_crews_have_different_names(tmp_path: Path) -> None:
    one, other = crew_of(tmp_path / "a" / "desk", 1), crew_of(tmp_path / "b" / "desk", 1)
    with pytest.raises(ValueError, match="two crews are called desk"):
        CrewSet.from_crews([one, other])
    with pytest.raises(ValueError, match="there is no crew"):
        CrewSet.from_crews([])
    alone = CrewSet.from_crews([one])
    assert (alone.names, alone.find_crew(""), alone.find_crew("desk"), alone.find_crew("law")) == ((), one, one, None)
