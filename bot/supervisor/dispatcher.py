"""The dispatcher: one small model call that finds the aim of a message in a job's thread where rules cannot."""

from __future__ import annotations

from bot.supervisor.prompts import make_object_schema, make_role_call, parse_json_object
from bot.supervisor.roles import RoleInputs
from handoff.contracts import Usage
from handoff.effects import ClassifyMessage
from handoff.events import MessageAim, MessageSorted
from handoff.state.job_state import RequestState
from handoff.text.headings import demote_headings
from specialists.model import ModelError

MAX_TOKENS = 1024
MAX_MESSAGE_CHARS = 1_200
"""Most characters of the message that the model gets; the rest seldom changes the aim."""
MAX_CONTEXT_CHARS = 400
"""Most characters that the model gets of the request, of its answer and of each open question."""
UNREADABLE_REPLY = "the reply could not be read"
CALL_SECONDS = 60.0
"""Most seconds for the call, as people wait for a sign that their message was received."""


async def perform(effect: ClassifyMessage, case: RoleInputs) -> MessageSorted:
    """Return an event with the aim of a message. If the call fails or is unreadable, the aim is `effect.otherwise`."""
    request, run = case.request, case.run
    call = make_role_call(
        "dispatcher",
        build_brief(request, effect),
        terms=run.terms,
        max_tokens=MAX_TOKENS,
        deadline=CALL_SECONDS,
        answer_schema=make_object_schema(
            {"why": {"type": "string"}, "aim": {"type": "string", "enum": list(effect.aims)}}
        ),
    )
    try:
        turn = await case.model.reply(call)
    except ModelError as error:
        return _make_sorted_event(effect, case, effect.default_aim, f"nobody could be asked ({error})", error.usage)
    reply_fields = parse_json_object(turn.text)
    aim = next((aim for aim in effect.aims if aim == reply_fields.get("aim")), None)
    if aim is None:
        return _make_sorted_event(effect, case, effect.default_aim, UNREADABLE_REPLY, turn.usage)
    return _make_sorted_event(effect, case, aim, " ".join(str(reply_fields.get("why") or "").split())[:200], turn.usage)


def _make_sorted_event(
    effect: ClassifyMessage, case: RoleInputs, aim: MessageAim, why: str, usage: Usage
) -> MessageSorted:
    return MessageSorted(at=case.now(), message=effect.message, aim=aim, by="model", why=why, usage=usage)


def build_brief(request: RequestState, effect: ClassifyMessage) -> str:
    """Build the dispatcher's brief: the request, its open questions or its progress or answer, and the message."""
    parts = ["# The bot's last request", _cut_text(request.text)]
    questions = [one for one in request.open_questions.values() if one.approval is None]
    for question in questions[:3]:
        parts += [
            "",
            "# Open question of the bot",
            _cut_text(question.message),
            *(f"- {one}" for one in question.options[:5]),
        ]
    if not questions and (request.is_over or request.run.is_concluded):
        parts += ["", "# It is over", _cut_text(request.run.answer or "(without an answer)")]
    elif not questions:
        titles = [subtask.spec.title for subtask in request.list_subtasks("")][:8]
        parts += ["", "# It is under way", *(f"- {_cut_text(title)}" for title in titles)]
    parts += ["", f"# Message{' (it names the bot)' if effect.mentions_bot else ''}"]
    return "\n".join([*parts, demote_headings(effect.text[:MAX_MESSAGE_CHARS])])


def _cut_text(text: str) -> str:
    return demote_headings(" ".join(text.split())[:MAX_CONTEXT_CHARS])
