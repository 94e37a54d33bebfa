"""The free checks, row by row, and long passages that two results share."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handoff.answering.result_text import MIN_POINTED_LENGTH, replace_repeated_passages
from handoff.checking.result_checks import CHECKS, CheckRemarks, CheckSubject, run_checks
from handoff.contracts import Artifact, Result

TOOL = "Region South: 41,207 units, 12.346 % churn, 1,250.50 a month, in 412 days, measured in 2024."


def make_check_subject(
    content: str,
    *,
    done_when: str = "",
    evidence: str = TOOL,
    sources: tuple[str, ...] = (),
    tasks: tuple[str, ...] = (),
    **more: object,
) -> CheckSubject:
    result = Result.model_validate({"summary": "A summary.", "content": content, "confidence": 90, **more})
    return CheckSubject(result, "Work out the churn of 99,120 customers", done_when, (evidence,), sources, tasks=tasks)


PROOF = "Correct this: “The Eifel Tower are in Paris. It was build in 1889.”"
GIVEN_BACK = "The Eifel Tower are in Paris. It was build in 1889."

FAULTS = {
    "empty": (make_check_subject("  \n"), "nothing was handed in"),
    "a placeholder": (make_check_subject("TODO"), "“TODO”"),
    "see above": (make_check_subject("(see above)"), "“(see above)”"),
    "no summary": (make_check_subject("South churns most.", summary="…"), "“…”"),
    "an empty finding": (make_check_subject("South.", findings=[{"message": " - "}]), "says nothing"),
    "a source that was asked for": (
        make_check_subject(
            "Acme promises 4 hours.", done_when="Each promise has a link.", sources=("https://acme.test/sla",)
        ),
        "“https://acme.test/sla”",
    ),
    "a place never filled in": (make_check_subject("Dear [insert name], we are sorry."), "“[insert name]”"),
    "no source asked for": (make_check_subject("It is fast.", done_when="Cite each source."), "“Cite each source.”"),
    "the text that it was given": (make_check_subject(GIVEN_BACK, tasks=(PROOF,)), "“The Eifel Tower are in Paris."),
    "the same in other type": (
        make_check_subject(f"> **{GIVEN_BACK.lower()}**", tasks=("Go on.", PROOF)),
        "word for word",
    ),
    "the whole task": (
        make_check_subject(
            "Write a note about our move to Oslo in May.", tasks=("Write a note about our move to Oslo in May!",)
        ),
        "Oslo",
    ),
}
DOUBTS = {
    "a name left open": (make_check_subject("Dear Sir, we are sorry. [Your name]"), "“[Your name]”"),
    "no source read": (make_check_subject("It is fast.", sources=("https://acme.test",)), "“https://acme.test”"),
    "low confidence": (make_check_subject("It is fast.", confidence=59), "59 of 100"),
}
FINE = {
    "a link": make_check_subject(
        "Acme: 4 hours (https://acme.test/sla).", done_when="Each has a link.", sources=("https://acme.test",)
    ),
    "a short answer": make_check_subject("Done."),
    "no": make_check_subject("None."),
    "a file": make_check_subject("South leads, says churn.csv.", done_when="Names its source."),
    "todo, in Spanish": make_check_subject("Todo el equipo aprobó el plan."),
    "everything, in Spanish": make_check_subject("Todo."),
    "the text, mended": make_check_subject("The Eiffel Tower is in Paris. It was built in 1889.", tasks=(PROOF,)),
    "the text, and what is wrong with it": make_check_subject(f"{GIVEN_BACK} Wrong: “Eifel”.", tasks=(PROOF,)),
    "one sentence of many": make_check_subject(
        GIVEN_BACK, tasks=(f"Which is wrong? {'It rains in Bergen. ' * 6}{GIVEN_BACK}",)
    ),
    "a short text that was to be said": make_check_subject(
        "Hello to all of you!", tasks=("Say: Hello to all of you!",)
    ),
    "a text with what is wrong beside it": make_check_subject(
        GIVEN_BACK, tasks=(PROOF,), findings=[{"message": "“Eifel”"}]
    ),
    "a picture": make_check_subject("🎉", summary="👍"),
    "a site by its name": make_check_subject(
        "According to Reuters, it closed.", done_when="Names the source.", sources=("https://www.reuters.com/x",)
    ),
    "a site of another country": make_check_subject(
        "Laut bund.de gilt das.", done_when="Nennt die Quelle.", sources=("https://bund.de/x",)
    ),
    "a finding with a source": make_check_subject(
        "South.", done_when="Cite it.", findings=[{"message": "S", "source": "a.csv"}]
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_certain_is_a_fault_that_quotes_it(name: str) -> None:
    given, quote = FAULTS[name]
    found = run_checks(given)
    assert quote in " ".join(found.faults), found


@pytest.mark.parametrize("name", DOUBTS)
def test_what_may_be_wrong_is_a_doubt_that_quotes_it(name: str) -> None:
    given, quote = DOUBTS[name]
    found = run_checks(given)
    assert found.faults == ()
    assert quote in " ".join(found.doubts), found


@pytest.mark.parametrize("name", FINE)
def test_what_is_right_is_let_pass(name: str) -> None:
    assert run_checks(FINE[name]) == CheckRemarks()


@pytest.mark.parametrize("text", ["Aushang.docx", "`Aushang Wasser.docx`.", "**notice.pdf**"])
def test_a_files_name_is_no_result_unless_there_is_such_a_file(text: str) -> None:
    (fault,) = run_checks(CheckSubject(Result(summary=text, content=text))).faults
    assert "a file's name, and no such file was made or given" in fault
    name = text.strip("`*.")
    made = (Artifact(id="a" * 64, name=name, size=3),)
    assert run_checks(CheckSubject(Result(summary=text, content=text, artifacts=made))).faults == ()
    assert (
        run_checks(
            CheckSubject(Result(summary=text, content=text), known_words=f"Which is newer, {name} or b.md?")
        ).faults
        == ()
    )


@given(text=st.text(max_size=200), tool=st.text(max_size=200))
@settings(max_examples=60, deadline=None)
def test_whatever_is_written_is_looked_at(text: str, tool: str) -> None:
    found = run_checks(make_check_subject(text, evidence=tool, done_when=tool))
    assert len(found.faults) + len(found.doubts) <= 40 * len(CHECKS)


# ---------------------------------------------------------------- passages that two results share

LINE = "Churn rose from 4.2 % to 6.1 % in the Basic plan, " + "and nowhere else did it rise by as much as there, " * 4
TITLES = {"a": "The file", "b": "The note"}


def test_a_long_passage_goes_in_once_and_the_others_point_to_it() -> None:
    texts = {"a": f"Intro of the file as read.\n\n- {LINE}\n- The price rose on the first of May.", "b": LINE}
    kept, lost = replace_repeated_passages(texts, ["b", "a"], TITLES)
    assert kept["b"] == LINE
    assert kept["a"] == (
        "Intro of the file as read.\n\n"
        "- (word for word as in “The note”: Churn rose from 4.2 % to 6.1 % …)\n"
        "- The price rose on the first of May."
    )
    assert lost == {"a": 1}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LINE, LINE.replace("6.1", "6.2")),
        (LINE, LINE.replace("rose", "never rose")),
        (LINE, LINE.replace("rose", "fell")),
        (LINE.replace("Churn", "Acme bought Globex; churn"), LINE.replace("Churn", "Globex bought Acme; churn")),
        ("Support answers within 24 hours on days.", "Support answers within 24 hours on days."),
        (f"```\n\n{LINE}\n\n```", f"```\n\n{LINE}\n\n```"),
        (f"{LINE}\n\n{LINE}", "Nothing."),
    ],
)
def test_other_words_short_lines_and_code_stay_as_they_are(one: str, other: str) -> None:
    texts = {"a": one, "b": other}
    assert replace_repeated_passages(texts, ["a", "b"], TITLES) == (texts, {})


@given(st.lists(st.text(alphabet="ab \n-#|`", max_size=MIN_POINTED_LENGTH * 3), min_size=1, max_size=4))
def test_whatever_is_not_pointed_to_comes_back_as_it_was(drawn_texts: list[str]) -> None:
    texts = {str(n): text for n, text in enumerate(drawn_texts)}
    kept, lost = replace_repeated_passages(texts, list(texts), {})
    assert all(kept[name] == text for name, text in texts.items() if name not in lost)
    assert all("word for word as in" in kept[name] for name in lost)
