"""A crew's own file: what it may say, and that every fault in it is named by its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from handoff.contracts import Terms
from specialists.crew import Crew
from specialists.loading.crew_file import _TERMS
from specialists.registry import CREWS, CrewError, available_crews, load_crew
from tests.own_tools import all_tools
from tests.specialists.crew_of_two import faults, load

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
    crew = load(tmp_path, text)
    first, second = crew.rules
    assert (first.name, first.to, first.files) == ("translate", ("a", "b"), ("csv", "XLSX"))
    assert first.fits("Translate it", ["a.csv"])
    assert not first.fits("Translate and review it", ["a.csv"])
    assert first.done_when == "It is in the language asked for."
    assert (second.to, second.files, second.unless) == (("b",), "none", ())
    assert crew.equals == (("a", "b"),)
    assert crew.terms == {"confidence": 60, "job_seconds": 900, "verifier": False, "unsure": "apart"}


def test_a_crew_may_say_where_something_private_may_go(tmp_path: Path) -> None:
    crew = load_with_web(tmp_path, "allow_out: [web_search, Docs.Python.org, 'localhost.example:8080']")
    allowed = {"web_search", "docs.python.org", "localhost.example:8080"}
    assert crew.allow_out == allowed
    assert {one.allow_out for one in crew.specialists.values()} == {frozenset(allowed)}
    assert load(tmp_path, "").allow_out == frozenset()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("allow_out: [fetch_page]", "it reaches any host, so name the hosts"),
        ("allow_out: [calculate]", "the tool calculate has no one place to allow"),
        ("allow_out: [web_serch]", "neither a tool that sends something out nor a host"),
        ("allow_out: [web_serch]", "did you mean web_search"),
        ("allow_out: ['https://docs.python.org/3']", "neither a tool that sends something out nor a host"),
        ("allow_out: ['*.python.org']", "neither a tool that sends something out nor a host"),
        ("allow_out: web_search", "allow_out must be a list"),
    ],
)
def test_what_is_wrong_with_where_it_may_go_is_named(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(CrewError, match=fault):
        load_with_web(tmp_path, text)


def load_with_web(folder: Path, text: str) -> Crew:
    load(folder, "")
    (folder / "crew.yml").write_text(text, encoding="utf-8")
    return load_crew(folder, all_tools())


def test_a_crew_may_say_who_gets_what_no_plan_could_be_made_for(tmp_path: Path) -> None:
    assert load(tmp_path, "default: b").default == "b"
    assert load(tmp_path, "").default == ""
    for text, fault in (
        ("default: zz", "there is no specialist zz"),
        ("default: [a, b]", "default names one specialist"),
    ):
        with pytest.raises(CrewError, match=fault):
            load(tmp_path, text)


def test_a_crew_may_say_which_requests_it_is_for(tmp_path: Path) -> None:
    assert load(tmp_path, "requests: [Translate nda.docx, 'Is this\n  German?']").requests == (
        "Translate nda.docx",
        "Is this German?",
    )
    for text, fault in (
        ("requests: Translate", "requests must be a list"),
        ("requests: [a, b, c, d]", "requests has 4 items; at most 3 are allowed"),
    ):
        with pytest.raises(CrewError, match=fault):
            load(tmp_path, text)


@pytest.mark.parametrize("name", available_crews())
def test_a_crew_that_comes_with_leadhand_says_three(name: str) -> None:
    assert len(load_crew(CREWS / name, all_tools()).requests) == 3


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_a_file_that_says_nothing_is_fine(tmp_path: Path, text: str) -> None:
    crew = load(tmp_path, text)
    assert (crew.rules, crew.equals, crew.terms) == ((), (), {})


def test_its_terms_are_those_of_every_job() -> None:
    known = Terms.model_fields
    of_the_models = {"context", "call_seconds"}
    of_a_call = {"circumstances", "crew_words", "channel_words"}
    of_costs = {"ask_above_tokens", "ask_above_cost", "approvers", "quorum", "own_approval"}
    said = set(_TERMS) | {"asking", "roles", "unsure", "verifier"} | of_costs
    assert said == set(known) - of_the_models - of_a_call, "a crew says the rest"


def test_the_tiers_of_roles_are_read(tmp_path: Path) -> None:
    crew = load(tmp_path, "roles: {planner: deep, verifier: fast}")
    assert crew.roles == {"planner": "deep", "verifier": "fast"}
    assert crew.terms == {}


FAULTS = {
    "no mapping": ("- a", "1: the file is not a list of `key: value` lines; the keys are rules, equals"),
    "unknown key": ("rule: []", "1: unknown key rule (did you mean rules?)"),
    "key twice": ("verifier: no\nverifier: no", "2: the key verifier is there twice"),
    "bad yaml": ("rules: [", "1: the file is not valid YAML"),
    "nested": ("rules: " + "[" * 600 + "]" * 600, "1: the file is nested too deep"),
    "a tab": (
        "rules:\n\t- x",
        "2: the file is not valid YAML: found character '\\t' that cannot start any token; write",
    ),
    "no list": ("rules: x", "1: rules must be a list"),
    "no rule": ("rules:\n- x", "2: a rule is not a list of `key: value` lines"),
    "no name": ("rules:\n- {to: a, when: [x]}", "2: the rule has no name"),
    "no when": ("rules:\n- {name: r, to: a}", "2: the rule has no when"),
    "empty when": ("rules:\n- name: r\n  to: a\n  when: []", "4: when must be a list with something in it"),
    "unknown rule key": (f"rules:\n{RULE[:-1]}, wen: x}}", "2: unknown key wen (did you mean when?)"),
    "two rules": (f"rules:\n{RULE}\n{RULE}", "3: two rules are called r"),
    "unknown to": (
        "rules:\n- {name: r, to: aa, when: [x]}",
        "2: there is no specialist aa (did you mean a?); there are a, b",
    ),
    "to twice": ("rules:\n- {name: r, to: [a, a], when: [x]}", "2: to names a twice"),
    "bad pattern": (
        "rules:\n- name: r\n  to: a\n  when:\n  - x\n  - '(a+)+'",
        "6: the pattern '(a+)+' may not be used: a group",
    ),
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
    "bad number": ("confidence: high", "1: confidence takes a whole number from 0 to 100"),
    "big number": ("job_seconds: 9999999", "1: job_seconds takes a whole number from 1 to 604,800"),
    "bad unsure": ("unsure: dropped", "1: unsure takes mark or apart"),
    "bad verifier": ("verifier: maybe", "1: verifier takes true or false"),
    "unknown role": (
        "roles:\n  planer: deep",
        "2: unknown key planer (did you mean planner?); the keys are planner, replanner, refiner, ",
    ),
    "role twice": ("roles: {verifier: deep, verifier: fast}", "1: the key verifier is there twice"),
    "unknown tier": ("roles:\n  verifier: fast\n  planner: huge", "3: planner takes a tier: fast, balanced, deep"),
    "a role with a list": ("roles: {verifier: [fast]}", "1: verifier takes a tier: fast, balanced, deep"),
    "no roles": ("roles: deep", "1: roles is not a list of `key: value` lines; the keys are planner, "),
}


@pytest.mark.parametrize(("text", "expected"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    lines = faults(tmp_path, text)
    assert any(line.startswith(expected) for line in lines), lines


def test_the_rules_of_the_crew_general_are_narrow() -> None:
    rules = load_crew(CREWS / "general", all_tools()).rules
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
    assert load(tmp_path, text).asking == {
        "whom": ("requester", "S0FINANCE"),
        "then": ("U0BEN",),
        "remind_after": 1800.0,
        "expire_after": 172_800.0,
        "assume": "first",
    }
    assert load(tmp_path, "asks: anyone\nexpire_after: never\n").asking == {"whom": ("anyone",), "expire_after": 0.0}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("asks: [ben]\n", "asks takes requester, anyone, or Slack ids"),
        ("asks: [anyone, U0BEN]\n", "keep anyone alone"),
        ("asks_next: [anyone]\n", "asks_next takes requester, or Slack ids"),
        ("remind_after: soon\n", "remind_after takes a span of time"),
        ("expire_after: [1, 2]\n", "expire_after takes a span of time"),
        ("assume: []\n", "assume takes text"),
    ],
)
def test_what_cannot_be_asked_is_named(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(CrewError, match=re.escape(fault)):
        load(tmp_path, text)


def test_a_crew_may_say_whom_people_are_sent_to(tmp_path: Path) -> None:
    assert load(tmp_path, "contact: S034CD").contact == "S034CD"
    assert load(tmp_path, "contact: it-help@acme.org").contact == "it-help@acme.org"
    assert load(tmp_path, "").contact == ""


def test_the_contact_stands_in_prompts_and_holds_for_the_crews_inside(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    page = "---\nname: escalator\ndescription: Hands over.\ntools: []\nmodel: fast\n---\nHand over to {contact}.\n"
    (inner / "escalator.md").write_text(page)
    (inner / "crew.yml").write_text("description: Hands over.\n")
    crew = load(tmp_path, "contact: '@it-help'")
    found = crew.within("inner")
    assert found is not None
    assert found.contact == "@it-help"
    assert "Hand over to @it-help." in found.specialists["inner/escalator"].prompt
    without = load(tmp_path, "").everyone["inner/escalator"]
    assert "Hand over to nobody (the crew names no contact)." in without.prompt
