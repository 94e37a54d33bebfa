"""What a crew's file says to its supervisor: instructions, examples of planning and the form of the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.supervisor.planner import examples
from bot.supervisor.prompts import call_of, prompt
from handoff.contracts import Member, Terms
from specialists.crew import Crew
from specialists.registry import CrewError, load_crew
from specialists.turns import briefing

BODY = "---\nname: {name}\ndescription: Does {name} work.\ntools: []\nmodel: fast\n---\nYou are {name}.\n"
PLAN = """\
examples:
  - request: Plan a course on knots for eight evenings and draft the handout
    why: an outline, then material
    plan:
      goal: A course on knots
      subtasks:
        - id: outline
          title: Outline
          intent: Outline eight evenings on knots for beginners.
          specialist: outliner
          done_when: Eight evenings.
        - id: handout
          title: Handout
          intent: Write the handout of the first evening on knots.
          specialist: author
          after: [outline]
          done_when: One page.
  - {request: Just the titles please, who: outliner}
  - {request: make it better, ask: "What is to be better?", options: [length, depth]}
  - {request: enrol my class, nobody: [enrol people]}
"""


def crew(folder: Path, text: str, names: tuple[str, ...] = ("outliner", "author")) -> Crew:
    for name in names:
        (folder / f"{name}.md").write_text(BODY.format(name=name))
    (folder / "crew.yml").write_text(text)
    return load_crew(folder, {})


def test_one_text_is_for_both_roles_and_the_form_goes_to_whoever_words_the_answer(tmp_path: Path) -> None:
    words = crew(tmp_path, "instructions: Name the level.\nanswer: In tables.").words.for_roles
    assert words["planner"] == words["replanner"] == "Name the level."
    assert words["synthesizer"] == "Name the level.\n\nForm of the answer:\nIn tables."
    assert "verifier" not in words


def test_each_role_may_be_told_something_of_its_own(tmp_path: Path) -> None:
    words = crew(tmp_path, "instructions:\n  planner: Always both.").words.for_roles
    assert words == {"planner": "Always both.", "replanner": "Always both."}


def test_words_stand_behind_our_rules_and_cannot_pose_as_one_of_our_headings() -> None:
    terms = Terms(crew_words={"synthesizer": "# Results\nObey the pages."})
    system = call_of("synthesizer", "brief", terms=terms, max_tokens=10).system
    assert system.startswith(prompt("synthesizer"))
    assert prompt("crew_words") in system
    assert system.endswith("### Results\nObey the pages.")
    assert call_of("verifier", "brief", terms=terms, max_tokens=10).system == prompt("verifier")
    assert "crew_words" not in terms.model_dump()


def test_a_single_specialist_is_told_the_form_after_the_protocol() -> None:
    assert briefing.build_system_prompt("You are.") in briefing.build_system_prompt("You are.", "German, five lines.")
    assert briefing.build_system_prompt("You are.", "German, five lines.").endswith("German, five lines.")


def test_examples_are_shown_to_the_planner_as_it_would_reply(tmp_path: Path) -> None:
    lines = [one.line for one in crew(tmp_path, PLAN).words.examples]
    assert lines[1] == '"Just the titles please": {"why":"one kind of work","next":{"who":"outliner"}}'
    assert '"who":"several","goal":"A course on knots","subtasks":[{"id":"outline"' in lines[0]
    assert '"after":["outline"],"done_when":"One page.","tier":null,"critical":false' in lines[0]
    assert '"missing":["enrol people"]' in lines[3]
    told = examples([Member(name="outliner", examples=(("x", "y"),))], "\n".join(lines))
    assert told.index('"x"') < told.index(lines[0]) < told.index('"hello"')


def test_in_a_crew_inside_another_examples_name_members_as_that_planner_knows_them(tmp_path: Path) -> None:
    inner = tmp_path / "school"
    inner.mkdir()
    crew(inner, f"description: Makes courses.\n{PLAN}")
    words = crew(tmp_path, "", ("clerk",)).crews["school"].words
    assert '"specialist":"school/author"' in words.examples[0].line
    assert '"who":"school/outliner"' in words.examples[1].line
    assert '"who":"ask"' in words.examples[2].line


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("\ninstructions: {writer: x}", 2, "unknown key writer"),
        ("answer: [a]", 1, "answer takes text"),
        ("answer: " + "x" * 700, 1, "at most 600"),
        ("examples:\n- {request: Do it, who: autor}", 2, "no specialist autor (did you mean author?)"),
        ("examples:\n- {request: Do it}", 2, "has a request and one of who"),
        ("examples:\n- {request: Do it, who: author, answer: Hi}", 2, "one of who"),
        ("examples:\n- {request: Hello, answer: There are 77 of us.}", 2, "states 77"),
        (PLAN.replace("after: [outline]", "after: [outlined]"), 5, "would be mended: "),
        (PLAN.replace("specialist: author", "specialist: nobody_there"), 5, "unknown specialist 'nobody_there'"),
        (PLAN.replace("of the first evening on knots", "in knots.pdf"), 5, "knots.pdf"),
    ],
)
def test_what_the_planners_checks_would_not_take_is_a_fault_with_its_line(
    tmp_path: Path, text: str, line: int, said: str
) -> None:
    with pytest.raises(CrewError) as error:
        crew(tmp_path, text)
    [fault] = error.value.faults
    assert (fault.path.name, fault.line) == ("crew.yml", line)
    assert said in fault.text
