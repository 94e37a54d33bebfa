"""What a command is: a word after `/leadhand`, or words after a mention, with what carrying it out is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.payloads import IncomingMessage, SlashCommand
from bot.slack.receive.services import FeatureServices
from bot.slack.send.web_calls import Background
from bot.slack.views.outgoing import Outgoing
from handoff.access.audit_entry import Deed
from handoff.contracts import Place

S = TypeVar("S")

SubcommandInput = Literal["nothing", "words", "job"]
"""What follows a subcommand. `job`: the name of a job, or a link to its thread, and then words. Both may be left
out if the first of the usages is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """A command that somebody gave, and what it takes to carry it out.

    - command: who gave it and where; its `rest` are all the words after the first. Spoken ones have no `trigger`.
    - job: the id of the job that it names; empty if it names none, or takes none.
    - rest: the words that are left, as they were written: behind the job, if one is named.
    - subcommands, spoken: all commands that there are.
    - page: which page of a list is wanted, from 1.
    - said: the message, if it was spoken after a mention; None for a slash command or a click on a page.
    - mark: names this command, the same at its second delivery: what it changes happens once for each.
    """

    command: SlashCommand
    services: FeatureServices
    subcommands: Sequence[Subcommand]
    spoken: Sequence[SpokenCommand]
    client: AsyncWebClient
    background: Background
    job: str = ""
    rest: str = ""
    page: int = 1
    said: IncomingMessage | None = None
    mark: str = ""

    @property
    def team(self) -> str:
        """The id of the workspace."""
        return self.command.team

    @property
    def user(self) -> str:
        """The id of the person who gave it."""
        return self.command.user

    @property
    def channel(self) -> str:
        """The id of the channel that it was given in."""
        return self.command.channel

    @property
    def thread(self) -> Place | None:
        """The thread that it was spoken in; None outside of one."""
        return self.said.place if self.said is not None and self.said.in_thread else None

    def find(self, kind: type[S]) -> S:
        """Return the service of that class."""
        return self.services.find(kind)

    def replace_job(self, job: str, rest: str) -> CommandContext:
        """Return the context with the job that the command names, and the words behind it."""
        return replace(self, job=job, rest=rest)


@dataclass(frozen=True, slots=True)
class Subcommand:
    """One word after `/leadhand`. Its answer is for the person alone.

    `usages` holds, for each way to write it, what follows the word and what that does, in the words of the help.
    """

    name: str
    usages: tuple[tuple[str, str], ...]
    run: Callable[[CommandContext], Awaitable[Outgoing]]
    takes: SubcommandInput = "nothing"
    deed: Deed = "asked"
    """What it would do, for the audit."""
    text_after: str | None = None
    """The word behind which any text may follow (empty: at once); None: a few words follow at most."""

    def takes_text(self, first: str) -> bool:
        """Return True if any text may follow, of which this is the first word."""
        return self.text_after is not None and self.text_after in {"", first.lower()}


Reply = Outgoing | Literal["told", "no_command"]
"""What came of a spoken command: what its person alone is shown, nothing more (`told`), or it was none after all, so
that its words are a request like any other."""


@dataclass(frozen=True, slots=True)
class SpokenCommand:
    """Words to the bot that are a command and no request.

    `match` is asked for each mention: it gives what the command is about (may be empty), as `CommandContext.rest`; None
    if the words are none. It is pure and quick, and never takes a request for a command. `shown` are the words that the
    help names. With `files` it is asked for messages with files too. `typed` is what it is after `/leadhand`: a
    subcommand and words of it, before what the command is about; empty: nothing.
    """

    name: str
    match: Callable[[str], str | None]
    run: Callable[[CommandContext], Awaitable[Reply]]
    shown: tuple[str, ...] = ()
    files: bool = False
    typed: str = ""


def match_alone(*words: str) -> Callable[[str], str | None]:
    """Match a message that is one of these words and nothing else; case and a mark at its end do not count."""

    def match(text: str) -> str | None:
        return "" if len(text) <= 40 and text.lower().strip(" .!?") in words else None

    return match


FEW = 2
"""Words that follow a subcommand; with more, and no job among them, it is a request that begins as one does."""
SHORT = 6
"""Letters of a name up to which one of them may be wrong, or two be swapped; in longer names two may."""


def guess_subcommand(text: str, names: Iterable[str], *, names_job: bool = False) -> str:
    """Return the subcommand that was meant; empty if the text is a request. `names_job`: a job follows the word."""
    words = text.lower().split()
    if not words or (len(words) > 1 + FEW and not names_job):
        return ""
    near = ((edit_distance(words[0].strip(".,:;!?"), name), name) for name in names)
    wrong, name = min(near, default=(len(words[0]), ""))
    return name if wrong <= (1 if len(name) <= SHORT else 2) else ""


def edit_distance(one: str, other: str) -> int:
    """Count the letters to add, leave out, replace or swap with their neighbour that make one word of the other."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        earlier, before, row = before, row, [at]
        for to, wanted in enumerate(other, 1):
            cost = min(row[to - 1] + 1, before[to] + 1, before[to - 1] + (letter != wanted))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == wanted:
                cost = min(cost, earlier[to - 2] + 1)
            row.append(cost)
    return row[-1]
