"""What was deleted where people gave it: its copies wait to be dropped, and nobody works on it any more."""

from handoff import events as ev
from handoff.contracts import Artifact, Material, Section
from handoff.effects import DropCopies
from handoff.materials.deleted import BLANK, FAULT, blank_spans
from handoff.state.job_state import Job
from handoff.state.state_values import Copy
from tests.handoff.kit import R, ask, asked, effects, job

FILE = Material(
    name="a.pdf", text="t1", size=5, file=Artifact(id="f1", name="a.pdf"), file_id="F1", message=R,
    pictures=(Artifact(id="p1", name="1.png"),), outline=(Section(name="page 1"),),
)  # fmt: skip
SAME = Material(name="b.pdf", text="t2", size=5, file=Artifact(id="f1", name="b.pdf"), file_id="F2", message="0.5")
THREAD = Material(
    name="thread", kind="thread", text="t3", size=30,
    outline=(Section(name="one", start=4, message="0.1"), Section(name="two", start=14, message="0.2")),
)  # fmt: skip


def gathered(*materials: Material) -> ev.MaterialGathered:
    return ev.MaterialGathered(at=2.0, request=R, materials=materials)


def gone(file: str, at: float = 3.0) -> ev.FileDeleted:
    return ev.FileDeleted(at=at, file=file)


def waiting(state: Job) -> tuple[Copy, ...]:
    found = [one for one in effects(state) if isinstance(one, DropCopies)]
    assert len(found) <= 1
    return found[0].copies if found else ()


def test_a_files_copies_go_and_its_name_stays() -> None:
    state = job(asked(), gathered(FILE, THREAD), gone("F1"))
    assert waiting(state) == (Copy("f1"), Copy("t1"), Copy("p1"))
    left = ask(state).materials[0]
    assert (left.name, left.fault, left.file, left.text, left.pictures) == ("a.pdf", FAULT, None, "", ())
    assert ask(state).artifacts == ()
    assert ask(state).materials[1] == THREAD


def test_what_another_file_has_too_stays() -> None:
    state = job(asked(), gathered(FILE, SAME), gone("F1"))
    assert waiting(state) == (Copy("t1"), Copy("p1"))
    state = job(asked(), gathered(FILE, SAME), gone("F1"), gone("F2"))
    assert {one.digest for one in waiting(state)} == {"t1", "p1", "f1", "t2"}


def test_once_they_are_dropped_nothing_is_left_to_do() -> None:
    log = (asked(), gathered(FILE), gone("F1"), ev.CopiesDropped(at=4.0, count=3))
    assert waiting(job(*log)) == ()
    assert waiting(job(*log, gone("F1", 5.0))) == (), "nor if Slack says it again"


def test_a_file_that_is_deleted_while_it_is_read_goes_as_well() -> None:
    assert waiting(job(asked(), gone("F1"), gathered(FILE))) == (Copy("f1"), Copy("t1"), Copy("p1"))


def test_a_deleted_message_takes_its_files_and_its_lines() -> None:
    state = job(asked(), gathered(FILE, SAME, THREAD), ev.RequestWithdrawn(at=3.0, message="0.2"))
    assert waiting(state) == (Copy("t3", 14, 30),)
    state = job(asked(), gathered(FILE, SAME, THREAD), ev.RequestWithdrawn(at=3.0, message="0.5"))
    assert waiting(state) == (Copy("t2"),), "the file is there under another name"
    state = job(asked(), gathered(FILE, THREAD), ev.RequestWithdrawn(at=3.0, message=R))
    assert waiting(state) == (Copy("f1"), Copy("t1"), Copy("p1"))


def test_a_deleted_message_counts_once() -> None:
    drop = ev.RequestWithdrawn(at=3.0, message="0.1")
    state = job(asked(), gathered(THREAD), drop, ev.CopiesDropped(at=4.0, count=1), drop)
    assert waiting(state) == ()


def test_what_nobody_read_changes_nothing() -> None:
    assert waiting(job(asked(), gathered(FILE), gone("F9"), ev.RequestWithdrawn(at=3.0, message="9.9"))) == ()


def test_blanks_keep_the_places_of_everything_else() -> None:
    text = "head\nana: secret words here\nben: hello"
    done = blank_spans(text, [(5, 28)])
    assert len(done) == len(text)
    assert "secret" not in done
    assert done.endswith("\nben: hello")
    assert BLANK[:10] in done
    assert blank_spans("abc", [(1, 99)]) == "a" + BLANK[:2]
    assert blank_spans(done, [(5, 28)]) == done


def test_a_thread_that_could_not_be_read_holds_nothing_to_delete() -> None:
    unread = Material(name="thread", kind="thread", fault="The thread could not be read.")
    state = job(asked(), gathered(unread, FILE), gone("F1"))
    assert ask(state).materials[0] == unread
    assert Copy("f1") in waiting(state)
