"""The words that count as people's own, the addresses that a job knows, and the cases in which a brief holds more."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff import events as ev
from handoff.approval_values import Approval, ApprovalTerms
from handoff.briefs.addresses import (
    filter_cited_addresses,
    find_addresses,
    find_addresses_from_people,
    list_known_addresses,
    yield_address_candidates,
)
from handoff.briefs.provenance import derive_provenance
from handoff.contracts import (
    Artifact,
    Attachment,
    Finding,
    MadeSpecialist,
    Material,
    Member,
    Plan,
    Result,
    Section,
    Subtask,
    Terms,
    ToolReply,
)
from handoff.effects import GatherMaterial, MakePlan, make_answer_key
from handoff.engine.crew_runs import prefix_plan_ids
from handoff.engine.engine import apply_event
from handoff.engine.outstanding_effects import list_outstanding_effects
from handoff.state.job_state import Job, replace
from handoff.state.state_values import Provenance, make_reply_source
from tests.handoff.kit import (
    MEMBERS,
    RUNNING_LOG,
    R,
    job,
    make_answer_event,
    make_escalation_event,
    make_failure_event,
    make_plan_event,
    make_request_event,
    make_result_event,
    make_start_event,
    require,
    subtask,
)


def provenance_of_subtask(state: Job, name: str = "a") -> Provenance:
    return derive_provenance(state, state.requests[-1], state.requests[-1].subtasks[name])


def words_and_derivation(state: Job, name: str = "a") -> tuple[tuple[str, ...], bool]:
    return provenance_of_subtask(state, name).requester_texts, provenance_of_subtask(state, name).has_derived_content


def private(state: Job, name: str = "a") -> tuple[str, ...]:
    return provenance_of_subtask(state, name).private_names


def sources(state: Job, name: str = "a") -> tuple[str, ...]:
    return tuple(one.name for one in provenance_of_subtask(state, name).sources)


def ids(state: Job, name: str = "a") -> set[str]:
    return {one.id for one in provenance_of_subtask(state, name).sources}


def make_attachments(name: str) -> tuple[Attachment, ...]:
    return (Attachment(file_id="F1", name=name),)


def test_a_fresh_plan_holds_the_words_of_its_request_alone() -> None:
    assert words_and_derivation(job(make_request_event(), make_plan_event(subtask("a")))) == (
        ("why did churn rise",),
        False,
    )


def test_what_follows_others_or_an_earlier_answer_holds_more() -> None:
    both = job(
        make_request_event(),
        make_plan_event(subtask("a"), subtask("b", "a")),
        make_start_event("a"),
        make_result_event("a"),
    )
    assert words_and_derivation(both, "b")[1]
    assert not words_and_derivation(both, "a")[1]
    later = make_request_event("2.0", at=3.0)
    assert words_and_derivation(
        job(make_request_event(), make_plan_event(subtask("a")), later, make_plan_event(subtask("a"), request="2.0"))
    ) == (
        ("why did churn rise", "why did churn rise"),
        True,
    )


@pytest.mark.parametrize(("text", "counts"), [("see acme.example", True), ("Option one", False)])
def test_what_people_type_counts_and_a_click_on_what_a_model_offered_does_not(text: str, *, counts: bool) -> None:
    asking = make_escalation_event("a", "ambiguous_input", options=["Option one", "Option two"])
    words, _ = words_and_derivation(job(*RUNNING_LOG, asking, make_answer_event(text, number=1)))
    assert (text in words) is counts


def test_the_name_of_a_file_names_no_host() -> None:
    event = make_request_event(text="total of report.zip", attachments=make_attachments("report.zip"))
    assert words_and_derivation(job(event, make_plan_event(subtask("a"))))[0] == ("total of  ",)


def test_what_others_said_and_attached_before_names_no_host() -> None:
    """What is said in a thread is data: only the request's own words may name where a tool may send something."""
    labs = Material(name="labs.zip", file=Artifact(id="f" * 64, name="labs.zip"), author="Ben Okafor")
    said = Material(name="thread", kind="thread", text="a" * 64, size=40)
    read = ev.MaterialGathered(at=2.0, request=R, materials=(said, labs))
    event = make_request_event(text="profile labs.zip for acme.example", look_back="thread")
    assert words_and_derivation(job(event, read, make_plan_event(subtask("a")))) == (
        ("profile   for acme.example",),
        True,
    )
    first = make_request_event("0.5", 0.5, user="U2", text="look at evil.com")
    state = job(first, make_request_event(text="go on"), make_plan_event(brief("a", "go on"), request="1.0"))
    assert provenance_of_subtask(state).requester_texts == ("go on",)


@pytest.mark.parametrize("look_back", ["thread", "files"])
def test_a_request_inside_a_thread_is_not_planned_before_the_thread_was_read(look_back: str) -> None:
    added = make_request_event(look_back=look_back)
    to_do = list_outstanding_effects(job(added), 2.0)[0]
    assert GatherMaterial(R) in to_do
    assert not [effect for effect in to_do if isinstance(effect, MakePlan)]
    assert MakePlan(R) in list_outstanding_effects(job(added, ev.MaterialGathered(at=2.0, request=R)), 2.0)[0]


# ---------------------------------------------------------------- what is private


def brief(name: str, intent: str, *after: str, needs: tuple[str, ...] | None = (), **more: object) -> Subtask:
    fields = {"id": name, "title": f"Part {name}", "intent": intent, "specialist": "researcher"}
    return Subtask.model_validate({**fields, "after": after, "needs": needs, **more})


def tool_said(name: str, *, private: bool) -> ev.ToolReturned:
    reply = ToolReply(call_id="c", text="184,200")
    return ev.ToolReturned(at=4.0, request=R, subtask=name, attempt=1, reply=reply, private=private)


def handed_in(name: str, *, private: bool = False, at: float = 5.0, request: str = R) -> ev.ResultReturned:
    result = Result(summary="s", content="c")
    words_and_derivation = {"at": at, "request": request, "subtask": name, "attempt": 1}
    given = (make_reply_source("a tool", "", "184,200"),) if private else ()
    return ev.ResultReturned(**words_and_derivation, result=result, private=private, private_sources=given)


FILE = ev.MaterialGathered(
    at=1.5, request=R, materials=(Material(name="pay.csv", file=Artifact(id="f" * 64, name="pay.csv")),)
)
OWN = "why did churn rise"
BRIEF_NAMES = ("a brief written by who had seen pay.csv",)


def test_with_the_requesters_words_and_the_web_alone_nothing_is_private() -> None:
    log = [
        make_request_event(),
        make_plan_event(brief("a", "Search what one pays for churn"), brief("b", "Sum it up", "a")),
        make_start_event("a"),
    ]
    assert private(job(*log)) == ()
    assert private(job(*log, tool_said("a", private=False), handed_in("a")), "b") == ()


def test_a_file_is_private_for_who_is_given_it_and_in_the_brief_of_who_planned() -> None:
    plan = make_plan_event(
        brief("a", OWN, needs=("pay.csv",)), brief("b", "Search the pay of J. Doe"), brief("c", f"{OWN}?")
    )
    state = job(make_request_event(), FILE, plan)
    assert private(state) == ("pay.csv",)
    assert private(state, "b") == BRIEF_NAMES
    assert private(state, "c") == (), "these are the requester's words"
    told = make_plan_event(brief("a", OWN, done_when="It names J. Doe"))
    assert private(job(make_request_event(), FILE, told)) == BRIEF_NAMES
    name = make_request_event(attachments=make_attachments("merger with Contoso.pdf"))  # a file that could not be read
    assert private(job(name, make_plan_event(brief("a", "Search Contoso")))) == (
        "a brief written by who had seen merger with Contoso.pdf",
    )


def test_a_brief_in_the_requesters_words_is_theirs_only_if_it_is_all_of_them() -> None:
    """A long brief in a few known words could say anything, and which passage was chosen says something too."""
    briefs = [brief("a", "Why did churn rise?"), brief("b", "churn rise"), brief("c", "why why did churn rise rise")]
    state = job(make_request_event(), FILE, make_plan_event(*briefs))
    assert [private(state, name) for name in "abc"] == [(), BRIEF_NAMES, BRIEF_NAMES]
    event = make_request_event(text="search what pay.csv lacks", attachments=make_attachments("pay.csv"))
    assert private(job(event, FILE, make_plan_event(brief("a", "search what pay.csv lacks")))) == (), (
        "with names of files too"
    )


def test_a_step_of_a_pipeline_is_in_the_crews_words_and_the_requesters() -> None:
    """Nobody wrote it who had seen the file: a step that is not given the file knows nothing of it."""
    added = make_request_event(attachments=make_attachments("pay.csv"))
    steps = make_plan_event(brief("a", "Search the web. why did churn rise"), brief("b", "Read it.", needs=None))
    fixed = steps.model_copy(update={"pipeline": True})
    for plan, names in ((fixed, ()), (steps, BRIEF_NAMES)):
        state = job(added, FILE, plan)
        assert private(state) == names
        assert "pay.csv" in private(state, "b")
    refined = ev.BriefRefined(at=5.0, request=R, subtask="a", attempt=1, intent="Search for the ward's labs.")
    again = job(added, FILE, fixed, make_start_event("a"), make_failure_event("a", kind="bad_reply"), refined)
    assert BRIEF_NAMES[0] in private(again), "a role rewrote it that may know more"


def test_what_sends_a_result_back_is_as_private_as_the_plan() -> None:
    doubted = handed_in("a").model_copy(update={"faults": ("J. Doe is missing",)})
    state = job(make_request_event(), FILE, make_plan_event(brief("a", OWN)), make_start_event("a"))
    assert private(state) == ()
    assert private(apply_event(state, doubted)) == BRIEF_NAMES


def test_a_result_that_was_made_from_something_private_is_private_and_what_is_made_from_that() -> None:
    plan = make_plan_event(
        brief("a", OWN, needs=("pay.csv",)), brief("b", OWN, "a"), brief("c", OWN, "b"), brief("d", OWN)
    )
    state = job(
        make_request_event(), FILE, plan, make_start_event("a"), handed_in("a"), make_start_event("b"), handed_in("b")
    )
    assert private(state, "b") == ('the result of "Part a"',)
    assert private(state, "c") == ('the result of "Part b"',)
    assert private(state, "d") == ()


def test_what_a_tool_gave_is_private_for_the_attempts_after_and_for_who_builds_on_them() -> None:
    log = [
        make_request_event(),
        make_plan_event(brief("a", OWN), brief("b", OWN, "a"), brief("c", OWN)),
        make_start_event("a"),
    ]
    state = job(*log, tool_said("a", private=True))
    assert private(state) == (), "the attempt itself knows by its history"
    state = job(*log, tool_said("a", private=True), make_failure_event("a", private=True))
    assert private(state) == ('an earlier attempt at "Part a"',)
    state = job(*log, handed_in("a", private=True))
    assert private(state, "b") == ('the result of "Part a"',)
    assert private(state, "c") == ()
    assert private(job(*log, make_result_event("a")), "b") == ('the result of "Part a"',), (
        "an earlier release says nothing of it"
    )


def earlier(*log: ev.Event, user: str = "U1") -> tuple[str, ...]:
    """What is private for a second request, whose brief holds more than its requester's words."""
    answer = ev.AnswerWritten(at=6.0, request=R, text="It rose by 12 %.")
    end = ev.Posted(at=7.0, request=R, key=make_answer_key(R), ts="9.9")
    plan = make_plan_event(brief("a", "Search it", needs=("answer",)), request="8.0")
    return private(job(*log, answer, end, make_request_event("8.0", 8.0, user=user), plan))


def test_an_earlier_answer_is_private_as_what_it_was_made_from_and_always_for_others() -> None:
    web = [make_request_event(), make_plan_event(brief("a", OWN)), make_start_event("a"), handed_in("a")]
    assert earlier(*web) == ()
    assert earlier(*web[:-1], handed_in("a", private=True)) == ("an earlier answer",)
    assert "an earlier answer" in earlier(*web, user="U2")
    assert "a brief written by who had seen what somebody else asked before" in earlier(*web, user="U2")
    with_file = [
        make_request_event(),
        FILE,
        make_plan_event(brief("a", OWN, needs=("pay.csv",))),
        make_start_event("a"),
        handed_in("a"),
    ]
    assert "an earlier answer" in earlier(*with_file)


@pytest.mark.parametrize("is_private", [False, True])
def test_a_file_that_was_made_before_is_private_as_what_it_was_made_from(*, is_private: bool) -> None:
    chart = Artifact(id="c" * 64, name="churn.png", publish_as="file")
    done = handed_in("a", private=is_private)
    done = done.model_copy(update={"result": done.result.model_copy(update={"artifacts": (chart,)})})
    log = [make_request_event(), make_plan_event(brief("a", OWN)), make_start_event("a"), done]
    log += [
        ev.AnswerWritten(at=6.0, request=R, text="It rose."),
        ev.Posted(at=7.0, request=R, key=make_answer_key(R), ts="9"),
    ]
    plan = make_plan_event(brief("a", OWN, needs=("churn.png",)), request="8.0")
    assert private(job(*log, make_request_event("8.0", 8.0), plan)) == (("churn.png",) if is_private else ())


def test_the_brief_of_a_specialist_that_was_made_for_the_plan_is_the_planners() -> None:
    made = MadeSpecialist(name="scout", description="Looks up pay", brief="Look up what J. Doe could get elsewhere")
    part = brief("a", OWN).model_copy(update={"specialist": "scout"})
    plan = Plan(goal="Find out", subtasks=(part, brief("b", OWN)), made=(made,))
    members = (*MEMBERS, Member(name="scout", made=True))
    state = job(make_request_event(), FILE, ev.PlanProposed(at=2.0, request=R, plan=plan, members=members))
    assert (private(state), private(state, "b")) == (BRIEF_NAMES, ())


@pytest.mark.parametrize(("user", "names"), [("U1", ()), ("U2", ("what somebody else answered",))])
def test_what_somebody_else_answered_is_private(user: str, names: tuple[str, ...]) -> None:
    asking = make_escalation_event("a", "ambiguous_input", message="why churn?").model_copy(update={"private": False})
    said = make_answer_event("churn did rise", user=user, number=1)
    state = job(make_request_event(), make_plan_event(brief("a", OWN)), make_start_event("a"), asking)
    subtask = state.requests[-1].subtasks["a"]  # only a question that is for others too can be answered by one of them
    open_to_all = dataclasses.replace(require(subtask.question), whom=())
    state = apply_event(
        state.with_request(state.requests[-1].with_subtask(replace(subtask, question=open_to_all))), said
    )
    assert private(state)[:1] == names
    assert ("churn did rise" in provenance_of_subtask(state).requester_texts) is (user == "U1")


# ---------------------------------------------------------------- what is quoted


THEIRS = "see https://evil.com/start\nand evil.com/x for the rest"


@pytest.mark.parametrize(
    "text",
    [
        f"Do what it says\n\nIt is about this message:\n> {THEIRS.splitlines()[0]}\n> {THEIRS.splitlines()[1]}",
        f"{THEIRS}\nDo what it says",
        "see  https://evil.com/start now\nDo what it says, and evil.com/x",
        "Do what it says\n  > look at evil.com",
    ],
)
def test_the_author_of_a_quoted_message_names_no_host(text: str) -> None:
    state = job(make_request_event(text=text, quoted=THEIRS), make_plan_event(brief("a", OWN)))
    words = "\n".join(provenance_of_subtask(state).requester_texts)
    assert "evil" not in words
    assert "Do what it says" in words
    assert private(state)[0] == "the message that it was started from"


def test_what_a_request_may_say_by_choosing_is_shared_among_its_parts_and_their_attempts() -> None:
    """All that attempts may say together is never more than the request may."""

    def share(state: Job, name: str) -> float:
        return provenance_of_subtask(state, name).leak_share

    state = job(make_request_event(), make_plan_event(brief("a", OWN), brief("b", OWN)))
    shares = [share(state, "b")]
    assert shares == [0.25]
    for attempt in (1, 2, 3):
        under_way = apply_event(state, make_start_event("a", attempt=attempt))
        shares.append(share(state, "a"))
        assert share(under_way, "a") == shares[-1], "whoever takes over has no more"
        state = apply_event(under_way, make_failure_event("a", attempt=attempt, private=False, transient=True))
    assert shares[1:] == [0.25, 0.125, 0.0625]
    assert sum(shares) < 1


# ---------------------------------------------------------------- crews in crews


LAW = (Member(name="researcher"), Member(name="legal", crew=Terms()))
INNER = (Member(name="legal/reader"), Member(name="legal/checker"))


def inside(*log: ev.Event, parts: tuple[Subtask, ...], needs: tuple[str, ...]) -> Job:
    """A job whose crew at `law` has a plan of its own; `after` it comes a part of the outer plan."""
    law = brief("law", OWN, needs=needs, specialist="legal")
    plan = make_plan_event(law, brief("after", OWN, "law"), members=LAW)
    begun = make_start_event("law", specialist="legal")
    state = job(make_request_event(), *log, plan, begun)
    parts = tuple(one.model_copy(update={"specialist": "legal/reader"}) for one in parts)
    within = prefix_plan_ids(state.requests[-1].subtasks["law"], Plan(goal="g", subtasks=parts))
    return apply_event(state, ev.PlanProposed(at=4.0, request=R, within="law", plan=within, members=INNER))


def test_what_a_crew_was_given_is_private_inside_of_it_and_in_what_comes_up() -> None:
    parts = (brief("x", OWN), brief("y", "Search J. Doe"), brief("z", OWN, needs=None))
    state = inside(FILE, parts=parts, needs=("pay.csv",))
    assert private(state, "law/x") == ()
    assert private(state, "law/y") == BRIEF_NAMES
    assert private(state, "law/z") == ("pay.csv",)
    assert private(state, "after") == ('the result of "Part law"',)


def test_what_one_inside_was_given_by_a_tool_comes_up_as_private() -> None:
    state = inside(parts=(brief("x", OWN), brief("y", OWN)), needs=())
    assert private(state, "after") == ()
    state = apply_event(state, make_start_event("law/x", at=5.0, specialist="legal/reader", tier="fast"))
    up = ev.ResultReturned(at=8.0, request=R, subtask="law", attempt=1, result=Result(summary="s", content="c"))
    public = apply_event(apply_event(state, handed_in("law/x")), up)
    assert private(public, "after") == (), "of a crew, those inside know"
    assert private(apply_event(state, handed_in("law/x", private=True)), "after") == ('the result of "Part law"',)


# ---------------------------------------------------------------- where it came from in the end


def test_what_is_made_from_something_private_has_its_sources() -> None:
    plan = make_plan_event(brief("a", OWN, needs=("pay.csv",)), brief("b", OWN, "a"), brief("c", "Sum up J. Doe", "b"))
    log = [
        make_request_event(),
        FILE,
        plan,
        make_start_event("a"),
        tool_said("a", private=True),
        handed_in("a", private=True),
    ]
    state = job(*log, make_start_event("b"), handed_in("b"))
    assert sources(state) == ("pay.csv", "what a tool gave"), "an earlier attempt, were there another"
    assert sources(state, "b") == ("what a tool gave", "pay.csv")
    assert ids(state, "a") == ids(state, "b") == ids(state, "c")


def test_an_answer_brings_its_sources_into_the_next_request_of_the_same_person_and_is_one_for_others() -> None:
    first = [
        make_request_event(),
        make_plan_event(brief("a", OWN)),
        make_start_event("a"),
        tool_said("a", private=True),
        handed_in("a", private=True),
    ]
    written = [
        ev.AnswerWritten(at=6.0, request=R, text="so"),
        ev.Posted(at=6.5, request=R, key=make_answer_key(R), ts="9"),
    ]
    plan = make_plan_event(brief("a", "Look into it"), request="7.0")
    own = job(*first, *written, make_request_event("7.0", 7.0, text="and now"), plan)
    assert sources(own) == ("what a tool gave",)
    other = job(*first, *written, make_request_event("7.0", 7.0, text="and now", user="U2"), plan)
    assert "what a tool gave" in sources(other)
    assert ids(own) < ids(other), "the answer to somebody else, and what they asked"


def test_a_mere_yes_to_an_approval_makes_nothing_private_and_words_do() -> None:
    call = Approval(call="c", tool="post", what="post tea", digest="d", terms=ApprovalTerms(approvers=("U2",)))
    of_a = {"request": R, "subtask": "a"}
    log = [make_request_event(), FILE, make_plan_event(brief("a", OWN)), make_start_event("a")]
    log.append(ev.ApprovalAsked(at=4.0, attempt=1, approval=call, **of_a))
    yes = ev.ApprovalDecided(at=5.0, number=1, digest="d", user="U2", decision="approve", **of_a)
    assert private(job(*log, yes)) == ()
    no = yes.model_copy(update={"decision": "deny", "reason": "J. Doe would hear of it"})
    assert private(job(*log, no)) == ("what somebody else answered", "a brief written by who had seen pay.csv")


# ---------------------------------------------------------------- addresses

A, B = "https://a.org/x", "https://b.org/y?q=1&r=2#z"


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        (f"See {A}.", {A}),
        (f"({A}), then <{B}>", {A, B}),
        (f"[x]({A}) and [y]({B})", {A, B}),
        (f"**{A}**, _{B}_ and `{A}`", {A, B}),
        (f'"{A}"; {B}!', {A, B}),
        ("https://en.wikipedia.org/wiki/P_(film).", {"https://en.wikipedia.org/wiki/P_(film)"}),
        ("(https://en.wikipedia.org/wiki/P_(film))", {"https://en.wikipedia.org/wiki/P_(film)"}),
        (f"({A})said", {A, f"{A})said"}),
        (f"{A}を", {A}),
        (f"{A}é", set()),
        ("a.org, ftp://a.org/x and mailto:a@a.org", set()),
        ("", set()),
    ],
)
def test_addresses_in_texts(text: str, addresses: set[str]) -> None:
    assert find_addresses(text) == addresses


def test_material_gives_what_people_wrote_and_nothing_of_models_and_apps() -> None:
    people, app = f"[..] Ben: {A}\n", f"[..] leadhand (app): {B}\n"
    said = [Section(name="message 1 by Ben"), Section(name="message 2 by leadhand (app)", start=len(people))]
    thread = Material(name="thread", kind="thread", outline=tuple(said))
    assert find_addresses_from_people(thread, people + app) == {A}
    assert find_addresses_from_people(thread.model_copy(update={"outline": ()}), people + app) == set()
    assert find_addresses_from_people(Material(name="a.md"), people) == {A}
    assert find_addresses_from_people(Material(name="a.md", author="leadhand (app)"), people) == set()
    assert find_addresses_from_people(Material(name="answer", kind="answer", origin="model"), people) == set()


def test_a_result_keeps_only_what_it_holds_and_was_given() -> None:
    result = Result(
        summary="In short.", content=f"See {A}. Or https://c.org/", findings=(Finding(message="m", source=B),)
    )
    assert filter_cited_addresses(result, {A, B, "https://d.org/"}) == (A, B)
    assert filter_cited_addresses(result, set()) == ()


def test_what_people_wrote_is_known_and_what_models_wrote_is_not() -> None:
    state = job(
        make_request_event(text=f"Read {A} please"),
        make_plan_event(subtask("a")),
        make_start_event("a"),
        make_result_event("a", addresses=(B,)),
    )
    assert list_known_addresses(state, state.requests[0]) == {A, B}


def test_an_option_that_a_model_offered_is_no_word_of_the_person_who_clicks_it() -> None:
    offered = ev.PlannerAsked(at=2.0, request=R, question=f"Is it {B}?", options=(f"Yes, {B}", "No"))

    def addresses_after(text: str) -> frozenset[str]:
        answer = make_answer_event(text, "", at=3.0, number=1)
        state = job(make_request_event(text="Read it"), offered, answer)
        return list_known_addresses(state, state.requests[0])

    assert addresses_after(f"Yes, {B}") == set()
    assert addresses_after(f"No, {A}") == {A}


def test_a_later_request_knows_the_earlier_ones_and_not_the_other_way_round() -> None:
    state = job(make_request_event(text=f"Read {A}"), make_request_event("2.0", 2.0, text=f"And {B}"))
    assert list_known_addresses(state, state.requests[0]) == {A}
    assert list_known_addresses(state, state.requests[1]) == {A, B}


@given(st.text("ab.)!(,/:htp", min_size=1, max_size=20))
def test_what_a_word_may_end_as_is_part_of_it_the_longest_first(token: str) -> None:
    ends = list(yield_address_candidates(token))
    assert ends[0] == token
    assert all(token.startswith(one) for one in ends)
