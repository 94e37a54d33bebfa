"""Similar calls: approved for one requester, by people who may decide today, with nothing more in view."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from handoff import events as ev
from handoff.access.rights import Actor
from handoff.approval_values import ADMINS, Approval, ApprovalTerms, compute_call_digest
from handoff.contracts import REQUESTER, Request
from handoff.engine.approvals import find_applicable_ruling, list_excluded_users
from handoff.engine.engine import apply_event
from handoff.state.job_state import Job, RequestState
from handoff.state.state_values import ApplicableRuling, Question, Ruling
from tests.handoff.kit import MEMBERS, PLACE, require, subtask

PEOPLE = ("U1", "U2", "U3", "U4")
TERMS = (
    ApprovalTerms(),
    ApprovalTerms(approvers=("U1", "U2", "U3"), own=False),
    ApprovalTerms(approvers=("S1",), quorum=2),
    ApprovalTerms(approvers=("S1", REQUESTER), quorum=2, own=False),
    ApprovalTerms(approvers=(ADMINS, "U2")),
    ApprovalTerms(mode="always", approvers=("U1", "U2")),
)
SOURCES = ("file", "thread", "reply")


@dataclass
class Person:
    """A person as they are by now."""

    here: bool = True
    in_group: bool = True
    admin: bool = False


@dataclass
class Thread:
    """A thread in which several people ask, click, leave and come back, and the bot does what it is let do.

    `grants` are the approvals of similar calls by our own count: for whom, by whom, on which terms, what was in view.
    """

    people: dict[str, Person] = field(default_factory=lambda: {user: Person() for user in PEOPLE})
    job: Job | None = None
    at: float = 1.0
    turns: int = 0
    grants: list[tuple[str, frozenset[str], ApprovalTerms, frozenset[str]]] = field(default_factory=list)
    covered_count: int = 0
    clicked_count: int = 0

    def actors(self) -> dict[str, Actor | None]:
        groups = {True: ("S1",), False: ()}
        return {
            user: Actor(user, groups[one.in_group], one.admin) if one.here else None
            for user, one in self.people.items()
        }

    def able(self, user: str, terms: ApprovalTerms, requester: str) -> bool:
        """Whether somebody may decide now, in words of its own: the oracle."""
        one = self.people[user]
        if not one.here or (user == requester and not terms.own):
            return False
        names = {requester if name == REQUESTER else name for name in terms.approvers}
        if not terms.own and names <= {requester}:
            return one.admin
        return user in names or ("S1" in names and one.in_group) or (ADMINS in names and one.admin)

    def add(self, event: ev.Event) -> None:
        self.job = apply_event(self.job, ev.load_event(ev.dump_event(event)))

    @property
    def of(self) -> dict[str, Any]:
        self.at += 1.0
        request = self.ask
        return {"at": self.at, "request": request.id, "subtask": "a", "attempt": 1}

    @property
    def ask(self) -> RequestState:
        assert self.job is not None
        return self.job.requests[-1]

    @property
    def question(self) -> Question | None:
        return self.ask.subtasks["a"].question if self.job is not None and "a" in self.ask.subtasks else None

    def request(self, user: str) -> None:
        """Somebody asks: what was open is over."""
        if self.job is not None:
            self.add(ev.AttemptFailed(**self.of, kind="lost", message="gone"))
        self.at += 1.0
        body = Request(id=f"{self.at:.1f}", user=user, text="go", at=self.at)
        self.add(ev.RequestAdded(at=self.at, place=PLACE, request=body))
        plan = {"goal": "go", "subtasks": (subtask("a"),)}
        self.add(ev.PlanProposed(at=self.at, request=body.id, plan=plan, members=MEMBERS))
        self.add(ev.AttemptStarted(**self.of, specialist="analyst", tier="fast"))

    def want(self, terms: ApprovalTerms, view: frozenset[str]) -> None:
        """The specialist of the request wants to make a call; it is made if an earlier ruling lets it be made."""
        if self.job is None or self.question is not None or self.ask.subtasks["a"].state != "in_progress":
            return
        self.turns += 1
        arguments = {"text": f"note {self.turns}"}
        asked = Approval(
            call=f"c{self.turns}",
            tool="post",
            what="post",
            arguments=arguments,
            digest=compute_call_digest("post", arguments),
            terms=terms,
            in_view=tuple(sorted(view)),
        )
        found = find_applicable_ruling(self.job, self.ask, asked, self.actors())
        if found.ruling is None:
            self.add(ev.ApprovalAsked(**self.of, approval=asked))
            return
        assert found.ruling.is_approved
        self.covered_count += 1
        self.check_call(found.ruling, terms)
        requester, users = self.ask.spec.user, frozenset(found.ruling.users)
        assert any(one[:3] == (requester, users, terms) and view <= one[3] for one in self.grants), (
            "nobody approved similar calls of this requester, with all of this in view"
        )

    def click(self, user: str, decision: str) -> None:
        """Somebody clicks, as the desk records it: with who they and those before them are by now."""
        question = self.question
        if question is None or question.approval is None or not self.people[user].here:
            return
        one = self.people[user]
        requester, approval = self.ask.spec.user, question.approval
        votes = [vote.user for vote in question.votes]
        before = len(self.ask.subtasks["a"].checkpoints)
        self.add(
            ev.ApprovalDecided(
                at=self.at,
                request=self.ask.id,
                subtask="a",
                number=question.number,
                digest=approval.digest,
                user=user,
                groups=("S1",) if one.in_group else (),
                admin=one.admin,
                decision=decision,
                lapsed=list_excluded_users(approval.terms, requester, votes, self.actors()),
            )
        )
        for ruling in self.ask.subtasks["a"].checkpoints[before:]:
            if isinstance(ruling, Ruling) and ruling.is_approved:
                self.clicked_count += 1
                self.check_call(ruling, approval.terms)
                if ruling.covers_similar:
                    view = frozenset(approval.in_view)
                    self.grants.append((requester, frozenset(ruling.users), approval.terms, view))

    def check_call(self, ruling: Ruling, terms: ApprovalTerms) -> None:
        """A call is made now: those whose yes it is may decide for its requester, now."""
        users, requester = set(ruling.users), self.ask.spec.user
        assert len(users) >= terms.quorum
        assert all(self.able(user, terms, requester) for user in users)


users = st.sampled_from(PEOPLE)
turns = st.tuples(st.just("turn"), users, st.sampled_from(["here", "in_group", "admin"]))
rounds = st.tuples(
    st.lists(st.one_of(turns, st.tuples(st.just("request"), users)), max_size=2),
    st.tuples(st.just("want"), st.sampled_from(TERMS), st.frozensets(st.sampled_from(SOURCES), max_size=2)),
    st.lists(turns, max_size=1),
    st.permutations(PEOPLE).map(lambda people: [("click", user, "approve_alike") for user in people]),
    st.lists(st.tuples(st.just("click"), users, st.sampled_from(["approve", "approve_alike", "deny"])), max_size=1),
)
"""What happens, who asks, a call that the bot wants to make, what happens meanwhile, and who clicks."""
histories = st.lists(rounds, min_size=3, max_size=12).map(
    lambda found: [
        step for before, want, between, clicks, odd in found for step in (*before, want, *between, *odd, *clicks)
    ]
)


def test_no_call_runs_without_people_who_may_decide_for_its_requester_now() -> None:
    totals = {"covered": 0, "clicked": 0}

    @settings(max_examples=100, deadline=None)
    @given(histories)
    def play(history: list[tuple[Any, ...]]) -> None:
        thread = Thread()
        thread.request("U1")
        for kind, *how in history:
            if kind == "turn":
                user, what = how
                setattr(thread.people[user], what, not getattr(thread.people[user], what))
            else:
                getattr(thread, kind)(*how)
        totals["covered"] += thread.covered_count
        totals["clicked"] += thread.clicked_count

    play()
    assert min(totals.values()) > 20, f"a property of nothing: {totals}"


def alike(terms: ApprovalTerms, *approvers: str, view: frozenset[str] = frozenset()) -> Thread:
    """A thread in which similar calls were approved for U1."""
    thread = Thread()
    thread.request("U1")
    thread.want(terms, view)
    for user in approvers:
        thread.click(user, "approve_alike")
    assert thread.grants
    return thread


def test_a_vote_of_who_left_meanwhile_does_not_count() -> None:
    thread = Thread()
    thread.request("U1")
    thread.want(TERMS[2], frozenset())
    thread.click("U2", "approve")
    thread.people["U2"].in_group = False
    thread.click("U3", "approve")
    assert [vote.user for vote in require(thread.question).votes] == ["U3"]
    thread.click("U4", "approve")
    assert thread.question is None
    assert thread.clicked_count == 1


def test_what_came_into_view_since_is_named() -> None:
    thread = alike(TERMS[0], "U1", view=frozenset({"file"}))
    assert thread.job is not None
    wish = Approval(call="c9", tool="post", what="post", terms=TERMS[0])
    for view, new in ((("file",), ()), ((), ()), (("file", "thread"), ("thread",))):
        found = find_applicable_ruling(
            thread.job, thread.ask, wish.model_copy(update={"in_view": view}), thread.actors()
        )
        assert (found.ruling is None, found.new_source_ids) == (bool(new), new)
    assert find_applicable_ruling(thread.job, thread.ask, wish, {"U1": None}) == ApplicableRuling()
