"""The jobs that are killed: each a request, the words of a model, and what people do meanwhile.

The words follow from the call alone, so that a model says the same after a
restart. There is no provider between: what is told of here is the bot.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict

from bot.models.model_choice import ANTHROPIC_TIERS
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.settings import DEFAULT_TERMS
from bot.slack.send.outbox import STREAM_SUFFIX
from bot.workspace.person import Attachment
from bot.workspace.refusal import ActionFailed
from handoff import events as ev
from handoff.contracts import AskingTerms, Terms, Tier, ToolCall, Turn, Usage
from handoff.effects import make_answer_key
from specialists.crew import Crew
from specialists.model import ModelCall
from specialists.tools.messages import message_tools
from specialists.tools.tool import Tool, ToolOutcome, Workbench
from tests.proof_kit import Worker, make_crew
from tests.system.brains import subtask
from tests.system.scene import Talk, buttons, eventually

Words = Callable[[ModelCall], Awaitable[Turn]]
SHOWS = 0.5
"""Seconds between two pieces of a streamed answer: a little more than the bot gathers."""


def turn(text: str = "", *calls: tuple[str, dict[str, Any]]) -> Turn:
    """A model's turn: words, or calls."""
    made = tuple(ToolCall(id=f"call_{n}", name=name, arguments=given) for n, (name, given) in enumerate(calls))
    return Turn(text=text, calls=made, stop="tool_use" if made else "end", usage=Usage(calls=1))


def result(content: str) -> Turn:
    """A specialist's end."""
    return turn("", ("return_result", {"summary": content[:60], "content": content, "confidence": 90}))


def says(*turns: Turn) -> Words:
    """One turn after the other, by how many replies of tools the call brings along."""

    async def words(call: ModelCall) -> Turn:
        told = sum(len(message.replies) for message in call.messages)
        return turns[min(told, len(turns) - 1)]

    return words


def make_plan_words(*subtasks: dict[str, Any]) -> Words:
    """A planner's words."""
    return says(turn(json.dumps({"goal": "Tea", "subtasks": subtasks, "strategy": "merge", "instruction": ""})))


def make_decision_turn(who: str, **fields: Any) -> Turn:
    """A planner's turn that settles the request without a plan of its own."""
    return turn(json.dumps({"why": "So it is.", "next": {"who": who, **fields}}))


def by_crew(**words: Words) -> Words:
    """What the planner of each crew says: that of a crew inside the crew sees its own people only."""

    async def answer_call(call: ModelCall) -> Turn:
        inside = next((name for name in words if f"- {name}/" in call.system), "outer")
        return await words[inside](call)

    return answer_call


def once_told(mark: str, first: Turn, then: Turn) -> Words:
    """One turn until the mark stands in what the call is about, another from then on."""

    async def words(call: ModelCall) -> Turn:
        return then if mark in call.messages[0].text else first

    return words


async def hangs(_: ModelCall) -> Turn:
    """A model that is at it for long."""
    await asyncio.sleep(60)
    return result("Far too late.")


async def streams(call: ModelCall) -> Turn:
    """An answer in pieces, slow enough for a stream."""
    pieces = ["Tea is ready. ", "The scones are warm. ", "The jam is red."]
    for piece in pieces:
        if call.on_text is not None:
            await call.on_text(piece)
        await asyncio.sleep(SHOWS)
    return turn("".join(pieces))


async def stops_short(call: ModelCall) -> Turn:
    """The beginning of an answer, whose end takes for ever."""
    if call.on_text is not None:
        await call.on_text("Tea is ready. The sco")
    return await hangs(call)


WHICH_CITY = turn(
    "", ("escalate", {"reason": "ambiguous_input", "message": "Which city?", "options": ["Oslo", "Bergen"]})
)


async def asks_first(call: ModelCall) -> Turn:
    """A question, and once it is answered a result with the answer in it."""
    brief = call.messages[0].text
    if "Answered by a person: " in brief:
        return result("Chosen: " + brief.rpartition("Answered by a person: ")[2].split("\n")[0].strip())
    return WHICH_CITY


def writes(tool: str, **arguments: str) -> Words:
    """A call of a tool that writes, and again if somebody says that it was not carried out; then the end."""

    async def words(call: ModelCall) -> Turn:
        replies = [reply for message in call.messages for reply in message.replies]
        if replies and "not carried out" not in replies[-1].text:
            return result("It is sent.")
        wish = ToolCall(id=f"{tool}_{len(replies)}", name=tool, arguments=arguments)
        return Turn(text="", calls=(wish,), stop="tool_use", usage=Usage(calls=1))

    return words


async def nothing(_: Talk, __: Path) -> None:
    """Nobody does anything."""


async def press_button(talk: Talk, label: str, button: Callable[[], Awaitable[str]]) -> None:
    """Press a button below the message that has one with that label, until the message has none.

    A click on a dead bot is seen to fail, and made again; so is one of which the bot says to its person that it could
    not look up who they are, as on a busy machine it may.
    """
    person, told = talk.scene.person(), -1
    while True:
        asked = [message for message in talk.words() if label in buttons(message)]
        if told >= 0 and not asked:
            return
        for message in asked:
            if len(person.ephemerals(talk.channel)) <= told:
                continue
            with contextlib.suppress(ActionFailed):
                seen = len(person.ephemerals(talk.channel))
                await person.click(talk.channel, message["ts"], await button())
                told = seen
        await asyncio.sleep(0.02)


async def clicks(talk: Talk, _: Path) -> None:
    """Answer the question."""

    async def first() -> str:
        return "answer:0"

    await press_button(talk, "Oslo", first)


async def checks(talk: Talk, far_side: Path) -> None:
    """Say what became of the letter, should the bot ask."""

    async def as_it_is() -> str:
        return "answer:0" if await asyncio.to_thread(far_side.exists) else "answer:1"

    await press_button(talk, "It happened", as_it_is)


async def approves(talk: Talk, far_side: Path) -> None:
    """Approve each parcel, and say what became of it, should the bot ask."""
    while True:
        for message in talk.words():
            button = "approval:approve" if "Approve" in buttons(message) else ""
            if "It happened" in buttons(message):
                button = "answer:0" if await asyncio.to_thread(far_side.exists) else "answer:1"
            with contextlib.suppress(ActionFailed):  # a click on a dead bot, or one that it took before it died
                if button:
                    await talk.scene.person().click(talk.channel, message["ts"], button)
        await asyncio.sleep(0.02)


async def stops(talk: Talk, _: Path) -> None:
    """Say stop once the work has begun."""
    await _wait_for_start(talk)
    await talk.say("@leadhand stop")


async def _wait_for_start(talk: Talk) -> None:
    await talk.until(
        lambda job: (
            job.latest_request.subtasks and all(w.state == "in_progress" for w in job.latest_request.subtasks.values())
        )
    )


async def stops_the_answer(talk: Talk, _: Path) -> None:
    """Press Slack's own Stop once a part of the answer can be read, which ends that message; again if nobody heard.

    Where an owner died between its record of the stream and the start, no part is ever to be read: the next owner
    starts none. Then it is pressed while that one writes.
    """
    await eventually(lambda: _half_written(talk), 600.0)
    while True:
        with contextlib.suppress(ActionFailed):  # a dead bot, or one that does not say yet that it is at work
            await talk.scene.person().stop(talk.channel, talk.ts)
        await asyncio.sleep(0.2)


async def _half_written(talk: Talk) -> bool:
    """Whether a part of the answer can be read, or never will be: an owner was lost that had recorded its stream."""
    if any(message["streaming"] for message in talk.words()):
        return True
    begun = (await talk.scene.store.outbox.read_messages(talk.key)).get(make_answer_key(talk.ts) + STREAM_SUFFIX)
    return begun is not None and any(event.at > begun.began_at for event in await talk.of(ev.TakenOver))


async def corrects(talk: Talk, _: Path) -> None:
    """Say how it is wanted once the work has begun."""
    await _wait_for_start(talk)
    await talk.say("in a red pot please")


async def takes_its_time(call: ModelCall) -> Turn:
    """A result, which is another one once the correction was told."""
    texts = [text for one in call.messages for text in (one.text, *(reply.text for reply in one.replies))]
    if any("in a red pot please" in text for text in texts):
        return result("Tea is ready, in a red pot.")
    await asyncio.sleep(2)
    return result("Tea is ready.")


class FilesArguments(BaseModel):
    """What make_files takes."""

    model_config = ConfigDict(extra="forbid")
    canvas: bool = False


async def make_files(arguments: FilesArguments, workbench: Workbench) -> ToolOutcome:
    """Make files."""
    if arguments.canvas:
        made = [await workbench.keep("n.md", b"# Tea\n", media_type="text/markdown", about="Tea", publish_as="canvas")]
    else:
        made = [
            await workbench.keep("tea.txt", text, media_type="text/plain", about="Tea", publish_as="file")
            for text in (b"green", b"black")
        ]
    return ToolOutcome("Made.", artifacts=tuple(made))


class TextArguments(BaseModel):
    """What count_words takes."""

    model_config = ConfigDict(extra="forbid")
    text: str


async def count_words(arguments: TextArguments, workbench: Workbench) -> ToolOutcome:
    """Count words."""
    del workbench
    return ToolOutcome(f"{len(arguments.text.split())} words")


def tools(far_side: Path) -> dict[str, Tool]:
    """The tools of the crew of these scenarios. `far_side` is where letters arrive, a line each."""

    async def send_letter(arguments: TextArguments, workbench: Workbench) -> ToolOutcome:
        """Send a letter."""
        del workbench
        with far_side.open("a") as box:
            box.write(f"{arguments.text}\n")
        return ToolOutcome("Sent.")

    return {
        "send_letter": Tool("send_letter", "write", TextArguments, send_letter),
        "send_parcel": Tool("send_parcel", "write", TextArguments, send_letter),
        "make_files": Tool("make_files", "read", FilesArguments, make_files),
        "count_words": Tool("count_words", "read", TextArguments, count_words),
        **{tool.name: tool for tool in message_tools.tools()},
    }


WRITER_TOOLS = ("make_files", "send_letter", "send_parcel", "send_message")
WORKERS = {
    "writer": Worker("Writes. Cannot read tables.", WRITER_TOOLS, more={"approve": "{send_letter: never}"}),
    "reviewer": Worker("Reviews a text. Cannot write one.", ("count_words",)),
    **{
        f"{crew}/{name}": Worker(f"Is the {name}. Cannot read tables.")
        for crew, names in {"office": ("proofer", "speller"), "press": ("editor", "reporter")}.items()
        for name in names
    },
}
INSIDE = {
    "office": "Does what takes several people. Cannot read tables.",
    "press": "Does what several people have to look at. Cannot read tables.",
}


def make_office(far_side: Path, wrap: Callable[[dict[str, Tool]], dict[str, Tool]] = dict) -> Crew:
    """Return the crew of these scenarios. `wrap` puts something around its tools."""
    return make_crew(WORKERS, wrap(tools(far_side)), INSIDE)


@dataclass(frozen=True)
class Scenario:
    """A request and all that goes with it. `words` are by the purpose of a call.

    `letters` is how many arrive at the far side, `message_count` how many messages in another channel. `may_ask`: after
    a crash people may be asked one thing more, and need not be reminded of what expired meanwhile. `new` are words of
    the points that no other scenario has: the suite runs those alone, if there are any. `terms`: the bots' settings.
    """

    name: str
    words: Mapping[str, Words] = field(repr=False)
    text: str = "Get tea ready"
    files: tuple[Attachment, ...] = ()
    channel: str = "#general"
    people: Callable[[Talk, Path], Coroutine[Any, Any, None]] = nothing
    letters: int = 0
    message_count: int = 0
    may_ask: bool = False
    terms: Terms = DEFAULT_TERMS
    new: tuple[str, ...] = ()


class PlayedModel(RehearsalModel):
    """A model that says a scenario's words. To the bot it is no rehearsal, so that reactions are as with any model."""

    label = provider = "played"

    def __init__(self, scenario: Scenario) -> None:
        super().__init__()
        self._words = {"verifier": says(turn(json.dumps(FINE))), **scenario.words}

    @property
    def tiers(self) -> Mapping[Tier, str]:
        """The usual models, one a tier."""
        return ANTHROPIC_TIERS

    def compute_price(self, tier: Tier, tokens_in: int, tokens_out: int, model: str = "") -> float | None:
        """Nobody knows one."""
        del tier, tokens_in, tokens_out, model
        return None

    async def reply(self, call: ModelCall) -> Turn:
        """See `Model.reply`."""
        return await self._words[call.purpose](call)


WRITER = subtask("text", "writer")
REVIEWER = subtask("check", "reviewer")
LONG = "\n\n".join(f"Paragraph {n}: " + f"teanumber{n}isready... " * 60 for n in range(18))
UPSET = {
    "summary": "There is no tea.",
    "content": "There is no tea.",
    "confidence": 90,
    "findings": [{"message": "There is only coffee.", "where": "plan"}],
}
COFFEE = {
    **subtask("coffee", "reviewer", ["text"], "Write one sentence about the coffee in part coffee."),
    "instead_of": "check",
    "needed_by": [],
    "why": "There is only coffee.",
}
REVISION = {"why": "", "add": [COFFEE], "drop": [], "reassign": [], "rebrief": []}
IMPATIENT = Terms(
    asking=AskingTerms(remind_after=0.3, expire_after=0.5, assume="first", opens=0, closes=24, days=7), confidence=80
)
"""People are reminded once, soon and whatever the hour, and not waited for much longer."""
UNVERIFIED_TERMS = DEFAULT_TERMS.model_copy(update={"verifier": False})
"""Nobody reads answers before people do: they are streamed."""
INSIDE_OFFICE, INSIDE_PRESS = subtask("inside", "office"), subtask("inside", "press")
LOW, HIGH = "Waste in May 2026 was 4.2 %.", "In May 2026, waste came to 6.1 percent."
UNSURE = {"reason": "confidence_too_low", "message": "I am not sure of the unit.", "options": []}
REFUTATION = {
    "sentences": [{"number": 1, "quotation": LOW, "verdict": "contradicted"}],
    "unanswered": [],
    "contradictions": [],
}
FINE = {**REFUTATION, "sentences": []}
CANVAS = {
    "planner": make_plan_words(WRITER),
    "specialist:writer": says(turn("", ("make_files", {"canvas": True})), result("A canvas.")),
}
LOOKS = (
    *(f"after commit {look}" for look in ("BriefRefined", "AnswerVerified")),
    *(f"after model {mind}" for mind in ("refiner", "verifier", "synthesizer")),
    "after commit AnswerWritten inside",
)
"""Each second look when it is over and nobody knows, and when it is known."""
_ALL = (
    Scenario("plain", {"planner": make_plan_words(WRITER), "specialist:writer": says(result("Tea is ready."))}),
    Scenario(
        "streamed",
        {
            "planner": make_plan_words(WRITER, REVIEWER),
            "specialist:writer": says(result("Tea is ready.")),
            "specialist:reviewer": says(turn("", ("count_words", {"text": "tea is ready"})), result("Three words.")),
            "synthesizer": streams,
        },
        terms=UNVERIFIED_TERMS,
    ),
    Scenario(
        "question",
        {"planner": make_plan_words(WRITER), "specialist:writer": asks_first},
        people=clicks,
    ),
    Scenario(
        "unanswered",
        {
            "planner": make_plan_words(WRITER),
            "specialist:writer": once_told("Oslo", WHICH_CITY, result("Tea in Oslo.")),
        },
        terms=IMPATIENT,
        may_ask=True,
        new=("QuestionReminded", "QuestionExpired"),
    ),
    Scenario(
        "asked_first",
        {
            "planner": once_told(
                "Answered by a person:",
                make_decision_turn("ask", text="Which city?", options=["Oslo", "Bergen"]),
                make_decision_turn("writer"),
            ),
            "specialist:writer": says(result("Tea in Oslo.")),
        },
        people=clicks,
        new=("PlannerAsked", "SettingKnown"),
    ),
    Scenario(
        "greeting", {"planner": says(make_decision_turn("answer", text="Good day to you."))}, new=("AnswerWritten",)
    ),
    Scenario(
        "files",
        {
            "planner": make_plan_words(WRITER),
            "specialist:writer": says(turn("", ("make_files", {})), result("Two files of one name.")),
        },
    ),
    Scenario(
        "canvas",
        CANVAS,
    ),
    Scenario(
        "canvas_direct",
        CANVAS,
        channel="@leadhand",
        new=("canvases.access.set", "outbox.record_sent_message file"),
    ),
    Scenario("cancel", {"planner": make_plan_words(WRITER), "specialist:writer": hangs}, people=stops),
    Scenario(
        "stopped_answer",
        {
            "planner": make_plan_words(WRITER, REVIEWER),
            "specialist:writer": says(result("Tea is ready.")),
            "specialist:reviewer": says(result("It is tea.")),
            "synthesizer": stops_short,
        },
        people=stops_the_answer,
        terms=UNVERIFIED_TERMS,
        new=("answer:stream", "chat.startStream", "chat.delete", "CancelRequested", "commit Posted answer"),
    ),
    Scenario(
        "corrected",
        {
            "planner": make_plan_words(WRITER),
            "specialist:writer": takes_its_time,
            "dispatcher": says(turn(json.dumps({"why": "How they want it.", "aim": "correction"}))),
        },
        people=corrects,
        new=("MessageSorted", "MessageAcknowledged", "dispatcher", "reactions"),
    ),
    Scenario(
        "attachment",
        {"planner": make_plan_words(WRITER), "specialist:writer": says(result("Read."))},
        files=(("tea.csv", b"tea,cups\ngreen,2\n"), ("tea.txt", b"Green tea draws for two minutes.\n")),
    ),
    Scenario(
        "write",
        {
            "planner": make_plan_words(WRITER),
            "specialist:writer": writes("send_letter", text="tea is ready"),
        },
        people=checks,
        letters=1,
        may_ask=True,
    ),
    Scenario(
        "approval",
        {"planner": make_plan_words(WRITER), "specialist:writer": writes("send_parcel", text="tea is ready")},
        people=approves,
        letters=1,
        may_ask=True,
        new=("Approval", "tool send_parcel", "ToolStarted", "ToolReturned", "signal"),
    ),
    Scenario(
        "message",
        {
            "planner": make_plan_words(WRITER),
            "specialist:writer": writes("send_message", to="#sales", text="tea is ready"),
        },
        people=approves,
        new=("elsewhere",),
        message_count=1,
    ),
    Scenario(
        "revised",
        {
            "planner": make_plan_words(WRITER, subtask("check", "reviewer", ["text"])),
            "specialist:writer": says(turn("", ("return_result", UPSET))),
            "replanner": says(turn(json.dumps(REVISION))),
            "specialist:reviewer": says(result("Coffee is ready.")),
            "synthesizer": says(turn("Coffee is ready, there is no tea.")),
        },
        new=("PlanRevised", "replanner"),
    ),
    Scenario(
        "levels",
        {
            "planner": by_crew(
                outer=make_plan_words(INSIDE_OFFICE),
                office=make_plan_words(subtask("one", "office/proofer"), subtask("two", "office/speller")),
            ),
            "specialist:office/proofer": says(result("It reads well.")),
            "specialist:office/speller": says(result("Tea is spelt right.")),
            "synthesizer": says(turn("It reads well, and tea is spelt right.")),
        },
        new=("inside", "planner#2", "model specialist:office", "model synthesizer"),
    ),
    Scenario(
        "looked_at",
        {
            "planner": by_crew(
                outer=make_plan_words(INSIDE_PRESS, WRITER),
                press=make_plan_words(subtask("one", "press/reporter"), subtask("two", "press/editor")),
            ),
            "specialist:writer": says(result("Tea is ready.")),
            "specialist:press/reporter": once_told("mend exactly this", result("TODO"), result(LOW)),
            "specialist:press/editor": once_told("in percent", turn("", ("escalate", UNSURE)), result(HIGH)),
            "refiner": says(turn(json.dumps({"intent": "Write one sentence about part two, in percent."}))),
            "synthesizer": once_told("# Your last answer", turn("The tea is black."), turn(LOW)),
            "verifier": once_told("[1] The tea is black.", turn(json.dumps(FINE)), turn(json.dumps(REFUTATION))),
        },
        text="Get tea ready; waste is 4.2 % by one account and 6.1 % by another",
        new=LOOKS,
    ),
    Scenario("long", {"planner": make_plan_words(WRITER), "specialist:writer": says(result(LONG))}),
)
SCENARIOS: Mapping[str, Scenario] = MappingProxyType({scenario.name: scenario for scenario in _ALL})
