"""Which material there is, who needs what, what of it fits, and where passages and parts of it are found."""

from __future__ import annotations

import pytest

from handoff import events as ev
from handoff.briefs.handoff_builder import BRIEF_SHARE, list_needed_texts, make_handoff
from handoff.briefs.provenance import derive_provenance
from handoff.contracts import Artifact, ContextLimits, Material, Note, Plan, Subtask
from handoff.engine.answer import list_answer_gaps
from handoff.materials.material_lists import collect_log_texts, compute_text_digest, find_needed_material, list_material
from handoff.planning.needs import repair_needs
from handoff.planning.plan_brief import MAX_BEGINNING_LENGTH, make_request_brief, make_subtask_brief
from handoff.state.job_state import Job, RequestState, SubtaskState, replace
from handoff.text.context_budget import MAX_FILL_SHARE
from tests.handoff.kit import (
    NOW,
    PLACE,
    RUNNING_LOG,
    R,
    ask,
    job,
    make_answer_event,
    make_escalation_event,
    make_failure_event,
    make_plan_event,
    make_request_event,
    make_result_event,
    make_start_event,
    subtask,
)

LONG = "The log says:\n" + "worker 7 waits\n" * 60


def file(name: str, text: str = "words", **more: object) -> Material:
    of = {"name": name, "file": Artifact(id=compute_text_digest(name + text), name=name), "size": len(text), **more}
    return Material.model_validate({"text": compute_text_digest(text), **of})


THERE = (file("terms.pdf"), file("mail.eml/plan.docx"), Material(name="answer", kind="answer", text="x"))


def needing(name: str, *needs: str, after: tuple[str, ...] = (), intent: str = "Do it") -> Subtask:
    return Subtask(id=name, title=name, intent=intent, specialist="analyst", needs=needs, after=after)


def of(*subtasks: Subtask) -> Plan:
    return Plan(goal="g", subtasks=subtasks)


@pytest.mark.parametrize(
    ("need", "material_name"),
    [
        ("terms.pdf", "terms.pdf"),
        ("`Terms.PDF`", "terms.pdf"),
        ("terms", "terms.pdf"),
        ("plan.docx", "mail.eml/plan.docx"),
        ("Answer", "answer"),
    ],
)
def test_a_need_is_called_as_its_material_is(need: str, material_name: str) -> None:
    done = repair_needs(of(needing("a", need)), THERE, ())
    assert (done.plan.subtasks[0].needs, done.faults) == ((material_name,), [])


def test_a_need_that_is_not_there_is_a_fault_and_the_second_time_dropped() -> None:
    plan = of(needing("a", "offer.pdf", "terms.pdf"))
    done = repair_needs(plan, THERE, ())
    assert done.faults == [
        "Subtask 'a' needs 'offer.pdf', which is not there; there are: terms.pdf, mail.eml/plan.docx, answer."
    ]
    done = repair_needs(plan, THERE, (), is_second_try=True)
    assert (done.plan.subtasks[0].needs, done.faults) == (("terms.pdf",), [])
    assert done.reasons == ["a no longer needs 'offer.pdf', which is not there"]


def test_a_need_of_another_part_is_a_dependency_and_without_material_nothing_is_needed() -> None:
    done = repair_needs(of(needing("a"), needing("b", "a", "b")), THERE, ())
    assert (done.plan.get_subtask("b").after, done.plan.get_subtask("b").needs) == (("a",), ())
    done = repair_needs(of(needing("a", "offer.pdf")), (), ())
    assert (done.plan.subtasks[0].needs, done.faults) == (None, [])


def test_what_nobody_needs_is_given_to_whom_it_plainly_concerns_or_said() -> None:
    own = {"terms.pdf"}
    named = repair_needs(of(needing("a"), needing("b", intent="Check terms.pdf for its court")), THERE, own)
    assert named.plan.get_subtask("b").needs == ("terms.pdf",)
    first = repair_needs(of(needing("a"), needing("b", after=("a",))), THERE, own)
    assert (first.plan.get_subtask("a").needs, first.plan.get_subtask("b").needs) == (("terms.pdf",), ())
    nobody = repair_needs(of(needing("a"), needing("b")), THERE, own)
    assert nobody.reasons == ["terms.pdf: no part needs it"]
    assert repair_needs(of(subtask("a"), needing("b")), THERE, own).reasons == [], "a needs all that there is"


def state(*materials: Material, text: str = "why did churn rise", needs: tuple[str, ...] | None = None) -> Job:
    gathered = ev.MaterialGathered(at=1.5, request=R, materials=materials)
    return job(make_request_event(text=text), gathered, make_plan_event(subtask("a", needs=needs), subtask("b")))


def names(*materials: Material) -> list[str]:
    return [one.name for one in materials]


def test_material_is_named_apart_and_the_newest_keeps_its_name() -> None:
    first = state(file("a.txt", "old"), file("b.txt"))
    before = replace(ask(first), run=replace(ask(first).run, answer="It rose."))
    again = ask(state(file("a.txt", "new"), text=LONG))
    again = replace(again, spec=again.spec.model_copy(update={"id": "2.0", "at": 2.0}))
    both = Job(place=PLACE, requests=(before, again))
    assert names(*list_material(both, again)) == ["request", "a.txt", "answer", "a (2).txt", "b.txt"]
    assert collect_log_texts(both, again)[list_material(both, again)[0].text] == LONG.strip()
    assert collect_log_texts(both, again)[list_material(both, again)[2].text] == "It rose."


def test_a_part_gets_what_it_needs_and_one_that_names_nothing_all() -> None:
    both = state(file("a.txt"), file("b.txt", "other"), needs=("b.txt",))
    works = ask(both).subtasks
    assert names(*find_needed_material(both, ask(both), works["a"]).all_material) == ["b.txt"]
    assert names(*find_needed_material(both, ask(both), works["b"]).all_material) == ["a.txt", "b.txt"]
    handoff, _ = make_handoff(both, ask(both), works["a"], NOW, {compute_text_digest("other"): "other"})
    assert [(note.source, note.text) for note in handoff.given] == [("b.txt", "other")]
    assert [one.name for one in handoff.artifacts] == ["b.txt"]
    assert list_needed_texts(both, ask(both), works["a"]) == (compute_text_digest("other"),)


def test_a_long_request_is_given_to_who_needs_it_but_not_twice() -> None:
    long = state(text=LONG, needs=("request",))
    subtask = ask(long).subtasks["a"]
    texts = collect_log_texts(long, ask(long))
    assert [note.text for note in make_handoff(long, ask(long), subtask, NOW, texts)[0].given] == [LONG.strip()]
    same = replace(subtask, spec=subtask.spec.model_copy(update={"intent": LONG}))
    handoff, _ = make_handoff(long, ask(long).with_subtask(same), same, NOW, texts)
    assert (handoff.given, handoff.readable, handoff.intent) == ((), (), LONG)


def test_a_request_that_is_too_long_to_be_a_brief_begins_there_and_can_be_read() -> None:
    huge = "worker 7 waits for the pump\n" * 4_000
    long = state(text=huge)
    subtask = ask(long).subtasks["a"]
    alone = replace(subtask, spec=subtask.spec.model_copy(update={"intent": huge.strip()}))
    handoff, packed = make_handoff(long, ask(long).with_subtask(alone), alone, NOW, collect_log_texts(long, ask(long)))
    assert handoff.intent.startswith("worker 7 waits")
    assert handoff.intent.endswith("(… cut here)")
    assert names(*handoff.readable) == ["request"]
    assert packed.left_out[0].startswith("the task: ")


def test_the_most_needed_stays_whole_and_the_rest_can_be_read() -> None:
    big = "All about the pump. " * 4_000
    both = state(file("a.txt", big + "a"), file("b.txt", "Short."), needs=("b.txt", "a.txt"))
    texts = {compute_text_digest(big + "a"): big + "a", compute_text_digest("Short."): "Short."}
    handoff, packed = make_handoff(both, ask(both), ask(both).subtasks["a"], NOW, texts)
    assert handoff.given[0].text == "Short."
    assert len(handoff.given[1].text) > 20_000
    assert names(*handoff.readable) == ["a.txt"]
    assert packed.left_out[0].startswith("a.txt: ")


def test_a_table_goes_as_its_columns_and_a_text_that_is_no_longer_kept_is_said_in_its_place() -> None:
    both = state(file("a.csv", is_table=True, outline=({"name": "month"}, {"name": "churn"})))
    handoff, _ = make_handoff(both, ask(both), ask(both).subtasks["a"], NOW)
    assert handoff.given == ()
    assert [one.about for one in handoff.artifacts] == ["columns: month, churn"]
    assert names(*handoff.readable) == ["a.csv"], "for those who have no tools for tables"
    both = state(file("a.txt"))
    (note,) = make_handoff(both, ask(both), ask(both).subtasks["a"], NOW)[0].given
    assert note.text == "(its text is no longer kept)"


def test_an_unread_file_is_a_gap_only_where_all_parts_say_what_they_need() -> None:
    said = state(file("a.txt"), file("b.txt"), needs=("a.txt",))
    assert list_answer_gaps(ask(said), ask(said).run) == ()
    both = ask(said).subtasks["b"]
    quiet = ask(said).with_subtask(replace(both, spec=both.spec.model_copy(update={"needs": ()})))
    assert list_answer_gaps(quiet, quiet.run) == ("b.txt was not read: no part of the plan needed it",)


def test_what_others_wrote_makes_a_brief_derived_and_the_requesters_own_words_do_not() -> None:
    assert derive_provenance(
        state(file("a.txt")), ask(state(file("a.txt"))), ask(state()).subtasks["a"]
    ).has_derived_content
    own = state(text=LONG)
    assert not derive_provenance(own, ask(own), ask(own).subtasks["a"]).has_derived_content


def test_the_planner_is_shown_beginnings_and_all_of_a_thread() -> None:
    text, said = "A long text. " * 900, "Ana: words. " * 900 + "Ben: we agree."
    thread = file("thread", said, kind="thread", file=None)
    both = state(file("a.txt", text), thread, file("b.csv", "x,y\n1,2\n", is_table=True))
    texts = {compute_text_digest(text): text, compute_text_digest(said): said}
    brief = make_request_brief(both, ask(both), texts)
    assert brief.own_material_names == {"thread", "a.txt", "b.csv"}
    assert brief.beginnings["a.txt"] == (text[:MAX_BEGINNING_LENGTH],)
    whole, short = brief.beginnings["thread"]
    assert whole == said
    assert short.startswith("Ana: words. Ana"), "how it begins"
    assert "\n(…)\n" in short
    assert short.endswith("Ben: we agree.")
    assert len(short) < 8_100
    assert "b.csv" not in brief.beginnings
    assert "b.csv" in brief.all_texts


def test_the_planner_of_a_crew_sees_what_its_subtask_needs() -> None:
    both = state(file("a.txt", author="Ben"), file("b.txt", "other"), needs=("a.txt",))
    subtask = ask(both).subtasks["a"]
    handoff, _ = make_handoff(both, ask(both), subtask, NOW, {compute_text_digest("words"): "words"})
    assert handoff.given[0].source == "a.txt (by Ben)"
    brief = make_subtask_brief(handoff, both, ask(both), subtask)
    assert names(*brief.materials) == ["a.txt"]
    assert (brief.own_material_names, brief.beginnings) == ({"a.txt"}, {"a.txt": ("words",)})


def test_a_file_that_was_made_before_goes_to_who_names_it() -> None:
    made = make_result_event("a", artifacts=(Artifact(id="n", name="note.docx", publish_as="file"),))
    before = ask(job(*RUNNING_LOG, made))
    again = ask(state())
    again = replace(again, spec=again.spec.model_copy(update={"id": "2.0", "at": 2.0}))
    both = Job(place=PLACE, requests=(before, again))
    plain, named = again.subtasks["a"], again.subtasks["b"]
    named = replace(named, spec=named.spec.model_copy(update={"intent": "Shorten note.docx"}))
    files = [make_handoff(both, again, work, NOW)[0].artifacts for work in (plain, named)]
    assert [[one.name for one in each] for each in files] == [[], ["note.docx"]]


# ---------------------------------------------------------------- what a specialist is given


def make_waiting_subtask(
    intent: str, *ends: ev.ResultReturned | ev.AttemptFailed, later: tuple[ev.Event, ...] = ()
) -> tuple[Job, RequestState, SubtaskState]:
    """A job, its request, and the last subtask of its plan, which waits for the parts that end so."""
    names_before = [end.subtask for end in ends]
    last = subtask("last", *names_before, intent=intent, specialist="researcher")
    plan = make_plan_event(*map(subtask, names_before), last)
    state = job(make_request_event(), plan, *map(make_start_event, names_before), *ends, *later)
    return state, ask(state), ask(state).subtasks["last"]


def make_result(name: str, content: str, confidence: int = 80) -> ev.ResultReturned:
    return make_result_event(name, summary=f"summary of {content[:5]}", content=content, confidence=confidence)


INTENTS = (
    "Draft a two-page comparison for the product team as a Word document: prices, support, a recommendation.",
    "Übersetze den vorherigen Text vollständig ins Französische.",
    "Traduce el texto anterior completo.",
    "上記の結果を要約してください。",
)


@pytest.mark.parametrize("intent", INTENTS)
def test_results_go_in_whole_as_long_as_there_is_room_whatever_the_language(intent: str) -> None:
    six_pages = "Acme charges 12 euros a seat and month.\n" * 155
    handoff, packed = make_handoff(
        *make_waiting_subtask(intent, make_result("q1", six_pages), make_result("q2", six_pages)), NOW
    )
    assert [note.text for note in handoff.context] == [six_pages, six_pages]
    assert packed.left_out == ()
    assert not handoff.readable
    assert 0 < packed.tokens < packed.budget == ContextLimits().fast * BRIEF_SHARE


def test_a_result_that_does_not_fit_goes_in_as_its_summary_and_the_passages_that_the_brief_is_about() -> None:
    lines = [f"Paragraph {n} is about the weather in the north.\n\n" for n in range(900)]
    lines[700] = "The cancellation period is three months.\n\n"
    long = "".join(lines)
    state, request, part = make_waiting_subtask("Which cancellation period applies?", make_result("q2", long))
    handoff, packed = make_handoff(state, request, part, NOW)
    (note,) = handoff.context
    assert note.text.startswith("summary of Parag")
    assert lines[700].strip() in note.text
    assert packed.tokens > packed.budget * 0.7, "the room is used"
    assert packed.tokens <= packed.budget * MAX_FILL_SHARE
    (line,) = packed.left_out
    assert line.startswith("Part q2: ")
    assert [(one.name, one.kind) for one in handoff.readable] == [("q2", "result")]
    assert handoff.readable[0].text in collect_log_texts(state, request)


def test_the_least_sure_is_shortened_first_and_people_are_always_heard() -> None:
    results = [make_result(f"q{n}", f"{n}" * 3_000, 60 + n) for n in range(9)]
    begun = make_start_event("last", specialist="researcher", tier="fast")
    later = (begun, make_escalation_event("last", "ambiguous_input"), make_answer_event("the blue one", "last"))
    handoff, packed = make_handoff(*make_waiting_subtask("Write a note on all of it.", *results, later=later), NOW)
    assert Note(source="Asked: which one?", text="Answered by a person: the blue one") in handoff.context
    shortened = [len(note.text) < 3_000 for note in handoff.context[:-1]]
    assert shortened[0]
    assert not shortened[-1]
    assert shortened == sorted(shortened, reverse=True), "the less sure, the earlier it goes"
    assert packed.tokens <= packed.budget * MAX_FILL_SHARE
    assert [line.split(":")[0] for line in packed.left_out] == [f"Part q{n}" for n in range(sum(shortened))]


def test_what_is_missing_is_said_in_place() -> None:
    handoff, _ = make_handoff(
        *make_waiting_subtask("Write a note.", make_failure_event("q1", message="it broke"), make_result("q2", "x")),
        NOW,
    )
    assert handoff.context[0].text.startswith("(not available: it broke.")
