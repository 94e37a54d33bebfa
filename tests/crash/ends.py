"""What a job came to, in words that two runs can be compared by: ids, times and what follows from them are left out."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

from bot.slack.send.lookup import read_key
from handoff import events as ev
from handoff.engine.engine import fold_log
from tests.chaos.once import twice_in
from tests.system.scene import Json, Talk, block_of, buttons, extract_shown_text

_TIMES = re.compile(r"\b\d+(\.\d+)? (s|min|h)\b( \d+ (s|min)\b)?")
_DATE = re.compile(r"<!date[^>]*>|at \d{9,}")
_LINK = re.compile(r"https?://\S+")
_IDS = re.compile(r"<@U\w+>|\b[JC][0-9A-Z]{10}\b")


@dataclass(frozen=True)
class ShownMessage:
    """A message as people see it."""

    key: str
    text: str
    buttons: tuple[str, ...]
    files: tuple[str, ...]
    is_unfinished: bool


@dataclass(frozen=True)
class End:
    """The end of a job. `messages` are in order but for the card and files, which come in any.

    `posted_keys` are the messages that the log has as posted, but for questions.
    """

    messages: tuple[ShownMessage, ...]
    state: str
    answer: str
    status: str
    posted_keys: tuple[str, ...]
    readable: tuple[bool, ...]
    """For each canvas whose link was posted, whether its people may open it."""


async def end_of(talk: Talk) -> tuple[End | None, str]:
    """The end that a job has come to, or None and why it is not over yet."""
    head = await talk.scene.store.jobs.read_head(talk.key)
    entries = await talk.scene.store.jobs.read_log(talk.key)
    events = [ev.load_event(entry.payload) for entry in entries]
    job = fold_log(events)
    if head is None or job is None:
        return None, "there is no job yet"
    if (
        job.current_request is not None
        or head.owner
        or head.due is not None
        or await talk.scene.store.jobs.read_inbox(talk.key)
    ):
        return None, f"not over: {job.latest_request.state}, owner {head.owner!r}, due {head.due}"
    check_log([entry.seq for entry in entries], head.seq, events)
    messages = [_make_shown_message(message) for message in talk.replies()]
    ordered = [one for one in messages if _in_order(one)] + sorted(
        (one for one in messages if not _in_order(one)), key=lambda one: (one.key, one.files)
    )
    # A question that is answered before the next owner took stock is never noted as posted: `messages` has it.
    posted = sorted(
        _plain(event.key, talk) + ("!" if event.fault else "")
        for event in events
        if isinstance(event, ev.Posted) and not any(kind in event.key for kind in (":question", ":reminder"))
    )
    end = End(
        messages=tuple(ordered),
        state=job.latest_request.state,
        answer=job.latest_request.run.answer or "",
        status=talk.status(),
        posted_keys=tuple(posted),
        readable=tuple(
            _readable(talk, message) for message in talk.replies() if "Canvas: " in str(message.get("text"))
        ),
    )
    return end, ""


def without_questions(end: End) -> End:
    """The end without reminders and closed questions, and each approval once: who repeats a call asks again."""
    messages: list[ShownMessage] = []
    for one in end.messages:
        approval = "asked for approval" in one.text and not any(one.text == other.text for other in messages)
        if not one.key.startswith(("question", "reminder")) or one.buttons or approval:
            messages.append(one)
    return replace(end, messages=tuple(messages))


def check_log(seqs: list[int], last: int, events: list[ev.Event]) -> None:
    """A log has no gap, and says of nothing twice that it ended or was posted."""
    assert seqs == list(range(1, last + 1)), f"a gap in the log: {seqs}, head at {last}"
    asked = Counter(event.request.id for event in events if isinstance(event, ev.RequestAdded))
    assert set(asked.values()) == {1}, f"twice in the log: {asked}"
    assert not (again := list(twice_in(events))), again


def _make_shown_message(message: Json) -> ShownMessage:
    key = read_key(message).partition(":")[2]
    kind = "card" if block_of(message, "plan") else key
    text = _TIMES.sub("T", _DATE.sub("D", _IDS.sub("I", _LINK.sub("L", extract_shown_text(message)))))
    return ShownMessage(
        key=re.sub(r"^(file|receipt):.*", r"\1", kind),
        text=" ".join(text.split()),
        buttons=tuple(buttons(message)),
        files=tuple(file["name"] for file in message.get("files") or ()),
        is_unfinished=bool(message.get("streaming")),
    )


def _in_order(one: ShownMessage) -> bool:
    return one.key.startswith(("question", "answer"))


def _plain(key: str, talk: Talk) -> str:
    return re.sub(r":file:.*", ":file", key.replace(talk.ts, ""))


def _readable(talk: Talk, message: Json) -> bool:
    """Whether the canvas behind a link is open to the channel, or to the person of a direct message."""
    found = re.search(r"/(F\w+)/", str(message["text"]))
    assert found is not None, message["text"]
    granted = [call for call in talk.scene.workspace.calls("canvases.access.set") if call.ok]
    return any(call.args.get("canvas_id") == found[1] for call in granted)
