"""Second tries: which subtasks of an earlier request are reused, which run again, and what people decide first.

A second try is a request of its own, with a card, budget, trace and visible end like any other; only its plan is that
of the earlier request. It begins with `apply_retry`. If calls that were made already would be made again, its requester
is asked first (`apply_retry_answer`). Then the plan is proposed again, and `reused_subtasks` makes its subtasks. The
log records which are reused (`PlanProposed.kept`), so that no later release decides otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

from handoff.access import rights
from handoff.contracts import Request
from handoff.conversation.retry_words import RetryRef, parse_retry_wish
from handoff.materials.deletions import DELETED_FAULT
from handoff.materials.material_lists import find_needed_material
from handoff.state.job_state import Job, PlanRun, RequestState, SubtaskState, replace
from handoff.state.state_values import UNKNOWN_WRITE_WORDS, EarlierWrite, Failure, Question

KEEP_CALLS, REPEAT_CALLS, GO_ON_WITHOUT, STOP_RETRY = "Keep what is done", "Do it again", "Go on without", "Stop"
"""The options of the question before a second try. Calls are repeated only for the answer `REPEAT_CALLS`."""
MAX_LISTED = 12
"""The most calls, and the most files, that such a question names."""
MAX_LINE_LENGTH = 200

# ---------------------------------------------------------------- the beginning


def apply_retry(job: Job, ask: RequestState, retry_ref: RetryRef, at: float) -> RequestState:
    """Turn a new request into the second try that `retry_ref` asks for, or refuse it."""
    before = job.find_request(retry_ref.of)
    why = explain_retry_refusal(
        job, before, retry_ref, rights.Actor(ask.request.user, retry_ref.groups, retry_ref.admin)
    )
    if before is None or why:
        return replace(ask, refusal=why, run=PlanRun(failure=Failure("the request", why)), gathered=True)
    before, retry_ref = resolve_planned_try(before, retry_ref)
    if retry_ref.mode == "continue" and not before.cancelled_by:
        retry_ref = retry_ref.model_copy(update={"mode": "retry"})
    own = ask.request.user == before.request.user
    ask = replace(
        ask,
        request=_restore_request(ask.request, before, is_own=own),
        correction_messages=before.correction_messages if own else (),
        again=retry_ref,
        before=before,
        done=_list_all_writes(job, before),
        gathered=not ask.request.attachments,
        materials=before.materials,
        file_faults=before.file_faults,
        speakers=before.speakers,
        setting=before.setting if own else None,
        answered=tuple(one for one in before.answered if not one.question.second_try),
    )
    return replace(ask, question=_make_retry_question(job, ask, before, retry_ref, at))


def explain_retry_refusal(job: Job, earlier: RequestState | None, retry_ref: RetryRef, actor: rights.Actor) -> str:
    """Return the reason, in words for people, why `actor` cannot have a request tried again; empty if they can."""
    if earlier is None or earlier.refusal or earlier.withdrawn:
        return "There is nothing here that I could try again."
    if not rights.may_stop(earlier, actor):
        return "Only the person who asked for that, or an admin, can have it tried again."
    if not earlier.run.is_concluded:
        return "That is still under way: I can try it again once it has ended."
    if find_open_retry(job, earlier) is not None:
        return "That is being tried again already."
    if retry_ref.step and retry_ref.step not in earlier.work:
        return f"There is no step {retry_ref.step!r} in what I did."
    return ""


def find_request_to_retry(job: Job, actor: rights.Actor, request: str = "") -> RequestState | None:
    """Return the request to try again: the one with the id `request`, or the last ended one that `actor` may retry.

    If it was tried again before, return its last try. None: there is no such request, or `actor` may not retry it.
    """
    asks = (one for one in job.asks if not one.refusal and not one.withdrawn and request in {"", one.id})
    own = [one for one in asks if one.run.is_concluded and rights.may_stop(one, actor)]
    return find_last_try(job, own[-1]) if own else None


def resolve_planned_try(previous: RequestState, retry_ref: RetryRef) -> tuple[RequestState, RetryRef]:
    """Return the request to try again and its reference; for a try that ended without a plan, those of its earlier try.

    A step or the mode `whole` of the new wish takes precedence over the mode of the try that ended.
    """
    while previous.run.plan is None and previous.before is not None and previous.again is not None:
        earlier = previous.again
        same = {"mode": earlier.mode, "step": earlier.step, "gone": earlier.gone}
        otherwise = retry_ref.step or retry_ref.mode == "whole"
        retry_ref = retry_ref.model_copy(update={"of": previous.before.id, **({} if otherwise else same)})
        previous = previous.before
    return previous, retry_ref


def parse_plain_retry(job: Job, text: str, user: str) -> RetryRef | None:
    """Parse a plain “retry” or “continue” without a mention; None if the text is none, or nothing can be retried."""
    wish = parse_retry_wish(text)
    before = (
        find_request_to_retry(job, rights.Actor(user))
        if wish is not None and not (wish.step_words or wish.time_words)
        else None
    )
    if wish is None or before is None:
        return None
    again = RetryRef(of=before.id, mode=wish.mode)
    return None if has_nothing_to_retry(before, again) or find_open_retry(job, before) is not None else again


def has_nothing_to_retry(earlier: RequestState, retry_ref: RetryRef) -> bool:
    """Return True if a second try would run nothing again: the request was answered, and no subtask is incomplete.

    It is False if a step is named, or if the whole plan is to run again.
    """
    if retry_ref.step or retry_ref.mode == "whole" or earlier.run.answer is None:
        return False
    return not list_incomplete_subtasks(earlier)


def find_open_retry(job: Job, earlier: RequestState) -> RequestState | None:
    """Return the second try at a request, or at one of its tries, that has not ended; None if there is none."""
    first = (earlier, *earlier.earlier_tries)[-1].id
    return next((one for one in job.asks if not one.is_over and first in {each.id for each in one.earlier_tries}), None)


def find_last_try(job: Job, ask: RequestState) -> RequestState:
    """Return the last try at a request that has ended, or the request itself."""
    tries = [one for one in job.asks if one.run.is_concluded and ask.id in {each.id for each in one.earlier_tries}]
    return next((one for one in reversed(tries) if not one.withdrawn), ask)


def _restore_request(request: Request, earlier: RequestState, *, is_own: bool) -> Request:
    """Return the request with the words of the earlier one; if these are somebody else's, they count as quoted."""
    first, text = earlier.request, earlier.request.text if is_own else earlier.text
    return request.model_copy(update={"text": text, "quoted": first.quoted if is_own else text, "crew": first.crew})


def _list_all_writes(job: Job, earlier: RequestState) -> tuple[EarlierWrite, ...]:
    """Return the calls of writing tools of all tries so far, each once, including tries whose message was deleted."""
    first = (earlier, *earlier.earlier_tries)[-1].id
    tries = (one for one in job.asks if first in {one.id, *(each.id for each in one.earlier_tries)})
    found = [one for each in tries for work in each.work.values() for one in work.all_writes]
    return tuple({one.digest: one for one in found}.values())


# ---------------------------------------------------------------- which subtasks run again, and which are reused


def is_incomplete_subtask(work: SubtaskState) -> bool:
    """Return True if a subtask has no result, or a result with gaps, denied calls or calls in doubt."""
    if work.state != "complete" or work.result is None:
        return True
    return bool(work.result.gaps or work.unapproved_calls or work.unknown_writes)


def list_incomplete_subtasks(ask: RequestState) -> tuple[str, ...]:
    """Return the ids of the incomplete subtasks at any depth, without the subtasks that build on them.

    If a crew's subtask has incomplete parts, only these parts are returned.
    """
    return tuple(
        name
        for name, work in _index_needed_subtasks(ask).items()
        if is_incomplete_subtask(work) and not _has_incomplete_parts(ask, work)
    )


def _index_needed_subtasks(ask: RequestState) -> dict[str, SubtaskState]:
    """Return the subtasks that were not dropped, by id, each before those inside it."""
    return {work.subtask.id: work for work in ask.list_all_subtasks("") if not work.dropped}


def _has_incomplete_parts(ask: RequestState, work: SubtaskState) -> bool:
    """Return True if a crew worked on a subtask and one of its parts is incomplete: only that part runs again."""
    if work.run is None or work.run.plan is None or work.result is None:
        return False
    return any(is_incomplete_subtask(one) for one in ask.list_subtasks(work.subtask.id) if not one.dropped)


def list_rerun_subtasks(ask: RequestState, retry_ref: RetryRef) -> frozenset[str]:
    """Return the ids of the subtasks, at any depth, that a second try runs again, with all that build on them."""
    there = _index_needed_subtasks(ask)
    if retry_ref.mode == "whole":
        return frozenset(there)
    if retry_ref.mode == "continue":
        return frozenset()
    found = {retry_ref.step} & there.keys() if retry_ref.step else set(list_incomplete_subtasks(ask))
    while more := _find_affected_subtasks(there, found):
        found |= more
    return frozenset(found)


def _find_affected_subtasks(subtasks: Mapping[str, SubtaskState], rerun_ids: set[str]) -> set[str]:
    """Return the further subtasks that have to run again with those `rerun_ids`.

    They build on them, are inside them, or are dependencies of them without a result.
    """
    changed = {*rerun_ids, *(name for one in rerun_ids for name in _list_enclosing_ids(subtasks, one))}
    later = {name for name, work in subtasks.items() if changed & set(work.subtask.after)}
    inside = {name for name in subtasks if rerun_ids & _list_enclosing_ids(subtasks, name)}
    needed = {name for one in rerun_ids for name in subtasks[one].subtask.after if name in subtasks}
    missing = {name for name in needed if subtasks[name].result is None}
    return (later | inside | missing) - rerun_ids


def _list_enclosing_ids(subtasks: Mapping[str, SubtaskState], name: str) -> set[str]:
    outer = subtasks[name].within
    return {outer, *_list_enclosing_ids(subtasks, outer)} if outer in subtasks else set()


def list_reused_subtasks(ask: RequestState, retry_ref: RetryRef) -> tuple[str, ...]:
    """Return the ids of the subtasks that a second try reuses. Parts of a crew's subtask may still run again."""
    afresh, there = list_rerun_subtasks(ask, retry_ref), _index_needed_subtasks(ask)
    return tuple(name for name in there if name not in afresh)


# ---------------------------------------------------------------- the question before a second try


def list_repeated_calls(ask: RequestState, retry_ref: RetryRef) -> tuple[EarlierWrite, ...]:
    """Return the calls that the subtasks to run again made or may have made."""
    afresh = list_rerun_subtasks(ask, retry_ref)
    return tuple(dict.fromkeys(one for name in afresh for one in ask.work[name].all_writes))


def list_lost_files(job: Job, ask: RequestState, retry_ref: RetryRef) -> tuple[str, ...]:
    """Return the names of lost files that the subtasks to run again, or a plan still to be made, would need."""
    afresh = [ask.work[name] for name in list_rerun_subtasks(ask, retry_ref)]
    needed = {one.name for work in afresh for one in find_needed_material(job, ask, work).all_material}
    own = [one for one in ask.materials if one.fault == DELETED_FAULT and (one.name in needed or not ask.work)]
    return tuple(dict.fromkeys((*retry_ref.gone, *(one.name for one in own))))


def _make_retry_question(
    job: Job, ask: RequestState, earlier: RequestState, retry_ref: RetryRef, at: float
) -> Question | None:
    """Return the question before a second try, about calls to repeat and lost files; None if it may begin at once."""
    attached = {one.name for one in ask.request.attachments}
    writes = list_repeated_calls(earlier, retry_ref)
    files = tuple(one for one in list_lost_files(job, earlier, retry_ref) if one not in attached)
    if not writes and not files:
        return None
    lines = [*_list_write_lines(writes), *_list_file_lines(files)]
    options = (KEEP_CALLS, REPEAT_CALLS, STOP_RETRY) if writes else (GO_ON_WITHOUT, STOP_RETRY)
    return Question(
        len(ask.answered) + 1,
        "\n".join(lines),
        options,
        at,
        whom=(ask.request.user,),
        assumption=options[0],
        asking=earlier.run.terms.asking,
        second_try=True,
        done=writes,
    )


def _list_write_lines(writes: tuple[EarlierWrite, ...]) -> list[str]:
    if not writes:
        return []
    lines = [
        f"• {'' if one.known else f'{UNKNOWN_WRITE_WORDS}: '}{_shorten_line(one.what)}" for one in writes[:MAX_LISTED]
    ]
    more = [f"• and {len(writes) - MAX_LISTED} more"] if len(writes) > MAX_LISTED else []
    return ["Before I begin: what I would run again has done this already:", *lines, *more]


def _list_file_lines(files: tuple[str, ...]) -> list[str]:
    if not files:
        return []
    named = ", ".join(_shorten_line(one) for one in files[:MAX_LISTED])
    if len(files) == 1:
        return [
            f"{named} is not here any more. What needs it goes on without, or stop and attach it with a new “retry”."
        ]
    return [f"Not here any more: {named}. What needs them goes on without, or stop and attach them with a new “retry”."]


def _shorten_line(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= MAX_LINE_LENGTH else line[: MAX_LINE_LENGTH - 1] + "…"


def is_stop_answer(text: str) -> bool:
    """Return True if an answer is the option to stop the second try."""
    return _normalize_answer(text) == _normalize_answer(STOP_RETRY)


def apply_retry_answer(ask: RequestState, question: Question, text: str) -> RequestState:
    """Apply the answer to the question before a second try: recorded calls stay unless the person repeats them."""
    if _normalize_answer(text) != _normalize_answer(REPEAT_CALLS):
        return ask
    again = {one.digest for one in question.done}
    return replace(ask, done=tuple(one for one in ask.done if one.digest not in again))


def _normalize_answer(text: str) -> str:
    return text.strip(" \t\n.!“”\"'").casefold()
