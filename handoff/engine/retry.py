"""Second tries: which subtasks of an earlier request are reused, which run again, and what people decide first.

A second try is a request of its own, with a card, budget, trace and visible end like any other; only its plan is that
of the earlier request. It begins with `apply_retry`. If calls that were made already would be made again, its requester
is asked first (`apply_repeat_writes_answer`). Then the plan is proposed again, and `reused_subtasks` makes its
subtasks. The log records which are reused (`PlanProposed.kept`), so that no later release decides otherwise.
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

KEEP_CALLS, REPEAT_CALLS, GO_ON_WITHOUT_FILES, STOP_RETRY = "Keep what is done", "Do it again", "Go on without", "Stop"
"""The options of the question before a second try. Calls are repeated only for the answer `REPEAT_CALLS`."""
MAX_LISTED_ITEMS = 12
"""The most calls, and the most files, that the question before a second try names."""
MAX_LINE_LENGTH = 200

# ---------------------------------------------------------------- the beginning


def apply_retry(job: Job, request: RequestState, retry_ref: RetryRef, at: float) -> RequestState:
    """Turn a new request into the second try that `retry_ref` asks for, or refuse it."""
    before = job.find_request(retry_ref.of)
    refusal = explain_retry_refusal(
        job, before, retry_ref, rights.Actor(request.spec.user, retry_ref.groups, retry_ref.admin)
    )
    if before is None or refusal:
        return replace(request, refusal=refusal, run=PlanRun(failure=Failure("the request", refusal)), is_gathered=True)
    before, retry_ref = skip_unplanned_tries(before, retry_ref)
    if retry_ref.mode == "continue" and not before.cancelled_by:
        retry_ref = retry_ref.model_copy(update={"mode": "retry"})
    is_own = request.spec.user == before.spec.user
    request = replace(
        request,
        spec=_restore_request(request.spec, before, is_own=is_own),
        correction_messages=before.correction_messages if is_own else (),
        retry_ref=retry_ref,
        earlier_try=before,
        kept_writes=_list_all_writes(job, before),
        is_gathered=not request.spec.attachments,
        materials=before.materials,
        file_faults=before.file_faults,
        speakers=before.speakers,
        setting=before.setting if is_own else None,
        question_answers=tuple(one for one in before.question_answers if not one.question.is_retry_question),
    )
    return replace(request, question=_make_retry_question(job, request, before, retry_ref, at))


def explain_retry_refusal(job: Job, earlier: RequestState | None, retry_ref: RetryRef, actor: rights.Actor) -> str:
    """Return the reason, in words for people, why `actor` cannot have a request tried again; empty if they can."""
    if earlier is None or earlier.refusal or earlier.is_withdrawn:
        return "There is nothing here that I could try again."
    if not rights.may_stop(earlier, actor):
        return "Only the person who asked for that, or an admin, can have it tried again."
    if not earlier.run.is_concluded:
        return "That is still under way: I can try it again once it has ended."
    if find_open_retry(job, earlier) is not None:
        return "That is being tried again already."
    if retry_ref.step and retry_ref.step not in earlier.subtasks:
        return f"There is no step {retry_ref.step!r} in what I did."
    return ""


def find_request_to_retry(job: Job, actor: rights.Actor, request: str = "") -> RequestState | None:
    """Return the request to try again: the one with the id `request`, or the last ended one that `actor` may retry.

    If it was tried again before, return its last try. None: there is no such request, or `actor` may not retry it.
    """
    asks = (one for one in job.requests if not one.refusal and not one.is_withdrawn and request in {"", one.id})
    own = [one for one in asks if one.run.is_concluded and rights.may_stop(one, actor)]
    return find_last_try(job, own[-1]) if own else None


def skip_unplanned_tries(previous: RequestState, retry_ref: RetryRef) -> tuple[RequestState, RetryRef]:
    """Return the latest try with a plan, or else the first try, and `retry_ref` pointed at it.

    A step or the mode `whole` in `retry_ref` takes precedence over the mode, step and lost files of a skipped try.
    """
    while previous.run.plan is None and previous.earlier_try is not None and previous.retry_ref is not None:
        earlier = previous.retry_ref
        earlier_fields = {"mode": earlier.mode, "step": earlier.step, "gone": earlier.gone}
        overrides_mode = retry_ref.step or retry_ref.mode == "whole"
        retry_ref = retry_ref.model_copy(
            update={"of": previous.earlier_try.id, **({} if overrides_mode else earlier_fields)}
        )
        previous = previous.earlier_try
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
    new_ref = RetryRef(of=before.id, mode=wish.mode)
    return None if has_nothing_to_retry(before, new_ref) or find_open_retry(job, before) is not None else new_ref


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
    return next(
        (one for one in job.requests if not one.is_over and first in {each.id for each in one.earlier_tries}), None
    )


def find_last_try(job: Job, request: RequestState) -> RequestState:
    """Return the last try at a request that has ended and was not withdrawn; the request itself if there is none."""
    tries = [
        one for one in job.requests if one.run.is_concluded and request.id in {each.id for each in one.earlier_tries}
    ]
    return next((one for one in reversed(tries) if not one.is_withdrawn), request)


def _restore_request(request: Request, earlier: RequestState, *, is_own: bool) -> Request:
    """Return the request with the words of the earlier one; if these are somebody else's, they count as quoted."""
    first, text = earlier.spec, earlier.spec.text if is_own else earlier.text
    return request.model_copy(update={"text": text, "quoted": first.quoted if is_own else text, "crew": first.crew})


def _list_all_writes(job: Job, earlier: RequestState) -> tuple[EarlierWrite, ...]:
    """Return the calls of writing tools of all tries so far, each once, including tries whose message was deleted."""
    first = (earlier, *earlier.earlier_tries)[-1].id
    tries = (one for one in job.requests if first in {one.id, *(each.id for each in one.earlier_tries)})
    writes = [one for each in tries for subtask in each.subtasks.values() for one in subtask.all_writes]
    return tuple({one.digest: one for one in writes}.values())


# ---------------------------------------------------------------- which subtasks run again, and which are reused


def is_incomplete_subtask(subtask: SubtaskState) -> bool:
    """Return True if a subtask has no result, or a result with gaps, denied calls or calls in doubt."""
    if subtask.state != "complete" or subtask.result is None:
        return True
    return bool(subtask.result.gaps or subtask.unapproved_calls or subtask.unknown_writes)


def list_incomplete_subtasks(request: RequestState) -> tuple[str, ...]:
    """Return the ids of the incomplete subtasks at any depth, without the subtasks that build on them.

    If a crew's subtask has incomplete parts, only these parts are returned.
    """
    return tuple(
        name
        for name, subtask in _index_needed_subtasks(request).items()
        if is_incomplete_subtask(subtask) and not _has_incomplete_parts(request, subtask)
    )


def _index_needed_subtasks(request: RequestState) -> dict[str, SubtaskState]:
    """Return the subtasks that were not dropped, by id, each before those inside it."""
    return {subtask.spec.id: subtask for subtask in request.list_all_subtasks("") if not subtask.is_dropped}


def _has_incomplete_parts(request: RequestState, subtask: SubtaskState) -> bool:
    """Return True if a crew's subtask has a result but an incomplete part, so that only that part runs again."""
    if subtask.run is None or subtask.run.plan is None or subtask.result is None:
        return False
    return any(is_incomplete_subtask(one) for one in request.list_subtasks(subtask.spec.id) if not one.is_dropped)


def list_rerun_subtasks(request: RequestState, retry_ref: RetryRef) -> frozenset[str]:
    """Return the ids of the subtasks, at any depth, that a second try runs again; none in the mode `continue`."""
    subtasks = _index_needed_subtasks(request)
    if retry_ref.mode == "whole":
        return frozenset(subtasks)
    if retry_ref.mode == "continue":
        return frozenset()
    rerun_ids = {retry_ref.step} & subtasks.keys() if retry_ref.step else set(list_incomplete_subtasks(request))
    while more := _find_affected_subtasks(subtasks, rerun_ids):
        rerun_ids |= more
    return frozenset(rerun_ids)


def _find_affected_subtasks(subtasks: Mapping[str, SubtaskState], rerun_ids: set[str]) -> set[str]:
    """Return the further subtasks that have to run again with those `rerun_ids`.

    Each of these builds on one of `rerun_ids`, is inside one, or is a dependency of one and has no result.
    """
    changed_ids = {*rerun_ids, *(name for one in rerun_ids for name in _list_enclosing_ids(subtasks, one))}
    later = {name for name, subtask in subtasks.items() if changed_ids & set(subtask.spec.after)}
    inside = {name for name in subtasks if rerun_ids & _list_enclosing_ids(subtasks, name)}
    dependency_ids = {name for one in rerun_ids for name in subtasks[one].spec.after if name in subtasks}
    missing_ids = {name for name in dependency_ids if subtasks[name].result is None}
    return (later | inside | missing_ids) - rerun_ids


def _list_enclosing_ids(subtasks: Mapping[str, SubtaskState], name: str) -> set[str]:
    outer = subtasks[name].within
    return {outer, *_list_enclosing_ids(subtasks, outer)} if outer in subtasks else set()


def list_reused_subtasks(request: RequestState, retry_ref: RetryRef) -> tuple[str, ...]:
    """Return the ids of the subtasks that a second try reuses. Parts of a crew's reused subtask may run again."""
    rerun_ids, there = list_rerun_subtasks(request, retry_ref), _index_needed_subtasks(request)
    return tuple(name for name in there if name not in rerun_ids)


# ---------------------------------------------------------------- the question before a second try


def list_calls_to_repeat(request: RequestState, retry_ref: RetryRef) -> tuple[EarlierWrite, ...]:
    """Return the calls that the subtasks to run again made or may have made."""
    rerun_ids = list_rerun_subtasks(request, retry_ref)
    return tuple(dict.fromkeys(one for name in rerun_ids for one in request.subtasks[name].all_writes))


def list_lost_files(job: Job, request: RequestState, retry_ref: RetryRef) -> tuple[str, ...]:
    """Return the names of lost files that the subtasks to run again need, or that a plan still to be made may need."""
    rerun_subtasks = [request.subtasks[name] for name in list_rerun_subtasks(request, retry_ref)]
    needed_names = {
        one.name for subtask in rerun_subtasks for one in find_needed_material(job, request, subtask).all_material
    }
    own = [
        one
        for one in request.materials
        if one.fault == DELETED_FAULT and (one.name in needed_names or not request.subtasks)
    ]
    return tuple(dict.fromkeys((*retry_ref.gone, *(one.name for one in own))))


def _make_retry_question(
    job: Job, request: RequestState, earlier: RequestState, retry_ref: RetryRef, at: float
) -> Question | None:
    """Return the question before a second try, about calls to repeat and lost files; None if it may begin at once."""
    attached_names = {one.name for one in request.spec.attachments}
    writes = list_calls_to_repeat(earlier, retry_ref)
    files = tuple(one for one in list_lost_files(job, earlier, retry_ref) if one not in attached_names)
    if not writes and not files:
        return None
    lines = [*_list_write_lines(writes), *_list_file_lines(files)]
    options = (KEEP_CALLS, REPEAT_CALLS, STOP_RETRY) if writes else (GO_ON_WITHOUT_FILES, STOP_RETRY)
    return Question(
        len(request.question_answers) + 1,
        "\n".join(lines),
        options,
        at,
        whom=(request.spec.user,),
        assumption=options[0],
        asking_terms=earlier.run.terms.asking,
        is_retry_question=True,
        repeatable_writes=writes,
    )


def _list_write_lines(writes: tuple[EarlierWrite, ...]) -> list[str]:
    if not writes:
        return []
    lines = [
        f"• {'' if one.is_confirmed else f'{UNKNOWN_WRITE_WORDS}: '}{_shorten_line(one.what)}"
        for one in writes[:MAX_LISTED_ITEMS]
    ]
    more = [f"• and {len(writes) - MAX_LISTED_ITEMS} more"] if len(writes) > MAX_LISTED_ITEMS else []
    return ["Before I begin: what I would run again has done this already:", *lines, *more]


def _list_file_lines(files: tuple[str, ...]) -> list[str]:
    if not files:
        return []
    names = ", ".join(_shorten_line(one) for one in files[:MAX_LISTED_ITEMS])
    if len(files) == 1:
        return [
            f"{names} is not here any more. What needs it goes on without, or stop and attach it with a new “retry”."
        ]
    return [f"Not here any more: {names}. What needs them goes on without, or stop and attach them with a new “retry”."]


def _shorten_line(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= MAX_LINE_LENGTH else line[: MAX_LINE_LENGTH - 1] + "…"


def is_stop_answer(text: str) -> bool:
    """Return True if an answer is the option to stop the second try."""
    return _normalize_answer(text) == _normalize_answer(STOP_RETRY)


def apply_repeat_writes_answer(request: RequestState, question: Question, text: str) -> RequestState:
    """Apply the answer to the question before a second try: recorded calls are kept unless the person repeats them."""
    if _normalize_answer(text) != _normalize_answer(REPEAT_CALLS):
        return request
    repeated_digests = {one.digest for one in question.repeatable_writes}
    return replace(request, kept_writes=tuple(one for one in request.kept_writes if one.digest not in repeated_digests))


def _normalize_answer(text: str) -> str:
    return text.strip(" \t\n.!“”\"'").casefold()
