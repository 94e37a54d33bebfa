"""The free checks, row by row: what they see, what they let pass, and that they quote what they mean."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handoff.checking.checks import CHECKS, Looked, Seen, look
from handoff.contracts import Artifact, Result
from handoff.evidence.binding import Document, bind_result

TOOL = "Region South: 41,207 units, 12.346 % churn, 1,250.50 a month, in 412 days, measured in 2024."


def seen(
    content: str,
    *,
    done_when: str = "",
    evidence: str = TOOL,
    sources: tuple[str, ...] = (),
    asked: tuple[str, ...] = (),
    **more: object,
) -> Seen:
    result = Result.model_validate({"summary": "A summary.", "content": content, "confidence": 90, **more})
    return Seen(result, "Work out the churn of 99,120 customers", done_when, (evidence,), sources, asked=asked)


PROOF = "Correct this: “The Eifel Tower are in Paris. It was build in 1889.”"
GIVEN_BACK = "The Eifel Tower are in Paris. It was build in 1889."

FAULTS = {
    "empty": (seen("  \n"), "nothing was handed in"),
    "a placeholder": (seen("TODO"), "“TODO”"),
    "see above": (seen("(see above)"), "“(see above)”"),
    "no summary": (seen("South churns most.", summary="…"), "“…”"),
    "an empty finding": (seen("South.", findings=[{"message": " - "}]), "says nothing"),
    "a source that was asked for": (
        seen("Acme promises 4 hours.", done_when="Each promise has a link.", sources=("https://acme.test/sla",)),
        "“https://acme.test/sla”",
    ),
    "a place never filled in": (seen("Dear [insert name], we are sorry."), "“[insert name]”"),
    "no source asked for": (seen("It is fast.", done_when="Cite each source."), "“Cite each source.”"),
    "the text that it was given": (seen(GIVEN_BACK, asked=(PROOF,)), "“The Eifel Tower are in Paris."),
    "the same in other type": (seen(f"> **{GIVEN_BACK.lower()}**", asked=("Go on.", PROOF)), "word for word"),
    "the whole task": (
        seen("Write a note about our move to Oslo in May.", asked=("Write a note about our move to Oslo in May!",)),
        "Oslo",
    ),
}
DOUBTS = {
    "a name left open": (seen("Dear Sir, we are sorry. [Your name]"), "“[Your name]”"),
    "no source read": (seen("It is fast.", sources=("https://acme.test",)), "“https://acme.test”"),
    "low confidence": (seen("It is fast.", confidence=59), "59 of 100"),
}
FINE = {
    "a tool's figures": seen("South: 41,207 units, 12.346 % churn, 1250.50 a month."),
    "rounded ones": seen("About 41,200 units, 41,000 or so, 12.3 %, 12.35 %."),
    "the brief's": seen("Of 99,120 customers."),
    "a year": seen("It was 2025, after 2024."),
    "one worked out from others": seen("The difference is 39,956."),
    "the next invoice": seen("The next free invoice number is 20026.", evidence="20024\n20025"),
    "a link": seen(
        "Acme: 4 hours (https://acme.test/sla).", done_when="Each has a link.", sources=("https://acme.test",)
    ),
    "a short answer": seen("Done."),
    "no": seen("None."),
    "a file": seen("South leads, says churn.csv.", done_when="Names its source."),
    "rounded up": seen("Over 41,000 units, some 42,000."),
    "a share as percent": seen("12.3 %, or 12.35 %.", evidence="0.12346"),
    "millions": seen("4.13 million, or 4,126.5 thousand.", evidence="4,126,500 and 4,136"),
    "other countries' signs": seen(
        "41.207 Stück, 41 207 enheter, 41'207, 12,35 %, 41,207個。", evidence="41207 12.346"
    ),
    "another date": seen("12.03.2024, 2024-03-12, 20240312, 3/12/2024", evidence="12.04.2024 2024-04-12 20240412"),
    "a list": seen("101. one\n102. two", evidence="104 items"),
    "an order's number": seen("Order 20413-A and INV20413.", evidence="20414"),
    "worked out, beside a whole table": seen(
        "It rose by 103; the mean is 443.", evidence="412, 398, 455, 501, 377, 389, 402, 433, 466, 478, 490, 515"
    ),
    "todo, in Spanish": seen("Todo el equipo aprobó el plan."),
    "everything, in Spanish": seen("Todo."),
    "the text, mended": seen("The Eiffel Tower is in Paris. It was built in 1889.", asked=(PROOF,)),
    "the text, and what is wrong with it": seen(f"{GIVEN_BACK} Wrong: “Eifel”.", asked=(PROOF,)),
    "one sentence of many": seen(GIVEN_BACK, asked=(f"Which is wrong? {'It rains in Bergen. ' * 6}{GIVEN_BACK}",)),
    "a short text that was to be said": seen("Hello to all of you!", asked=("Say: Hello to all of you!",)),
    "a text with what is wrong beside it": seen(GIVEN_BACK, asked=(PROOF,), findings=[{"message": "“Eifel”"}]),
    "a picture": seen("🎉", summary="👍"),
    "a site by its name": seen(
        "According to Reuters, it closed.", done_when="Names the source.", sources=("https://www.reuters.com/x",)
    ),
    "a site of another country": seen(
        "Laut bund.de gilt das.", done_when="Nennt die Quelle.", sources=("https://bund.de/x",)
    ),
    "a finding with a source": seen("South.", done_when="Cite it.", findings=[{"message": "S", "source": "a.csv"}]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_certain_is_a_fault_that_quotes_it(name: str) -> None:
    given, quote = FAULTS[name]
    found = look(given)
    assert quote in " ".join(found.faults), found


@pytest.mark.parametrize("name", DOUBTS)
def test_what_may_be_wrong_is_a_doubt_that_quotes_it(name: str) -> None:
    given, quote = DOUBTS[name]
    found = look(given)
    assert found.faults == ()
    assert quote in " ".join(found.doubts), found


@pytest.mark.parametrize("name", FINE)
def test_what_is_right_is_let_pass(name: str) -> None:
    assert look(FINE[name]) == Looked()


@pytest.mark.parametrize("text", ["Aushang.docx", "`Aushang Wasser.docx`.", "**notice.pdf**"])
def test_a_files_name_is_no_result_unless_there_is_such_a_file(text: str) -> None:
    (fault,) = look(Seen(Result(summary=text, content=text))).faults
    assert "a file's name, and no such file was made or given" in fault
    name = text.strip("`*.")
    made = (Artifact(id="a" * 64, name=name, size=3),)
    assert look(Seen(Result(summary=text, content=text, artifacts=made))).faults == ()
    assert look(Seen(Result(summary=text, content=text), intent=f"Which is newer, {name} or b.md?")).faults == ()


@given(text=st.text(max_size=200), tool=st.text(max_size=200))
@settings(max_examples=60, deadline=None)
def test_whatever_is_written_is_looked_at(text: str, tool: str) -> None:
    found = look(seen(text, evidence=tool, done_when=tool))
    assert len(found.faults) + len(found.doubts) <= 40 * len(CHECKS)


@given(st.lists(st.floats(min_value=100, max_value=10**9, allow_nan=False), max_size=8))
@settings(max_examples=60, deadline=None)
def test_figures_as_the_tools_gave_them_are_never_remarked_on(figures: list[float]) -> None:
    told = "; ".join(f"{figure:,.2f}" for figure in figures)
    said = Result(summary="s", content=f"The figures: {told}.")
    assert bind_result(said, [Document("a tool", told, is_material=False)]).faults == ()
