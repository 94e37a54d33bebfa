"""The types of commands: words after `/leadhand` or after a mention, and the context in which one is carried out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.payloads import IncomingMessage, SlashCommand
from bot.slack.receive.services import FeatureServices
from bot.slack.send.web_calls import BackgroundTasks
from bot.slack.views.outgoing import Outgoing
from handoff.access.audit_entry import AuditAction
from handoff.contracts import Place

S = TypeVar("S")

SubcommandInput = Literal["nothing", "words", "job"]
"""What follows a subcommand. `job` is the id of a job or a link to its thread, and then words. Both may be left out if
the first entry of `usages` is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """A command that somebody gave, and all that is needed to carry it out.

    - command: the command, with the person and the channel. Its `rest` has all words after the first. The `trigger_id`
      of a spoken command is empty.
    - subcommands, spoken: all commands of the bot.
    - job: the id of the job that it names; empty if it names none or takes none.
    - rest: the remaining words, as they were written: those after the job, if it names one.
    - page: the page of a list that is to be shown, from 1.
    - message: the message of a spoken command; None for a slash command or a click that turns a page.
    - dedupe_key: identifies this command. A second delivery has the same key, so that changes are made only once.
    """

    command: SlashCommand
    services: FeatureServices
    subcommands: Sequence[Subcommand]
    spoken: Sequence[SpokenCommand]
    client: AsyncWebClient
    background: BackgroundTasks
    job: str = ""
    rest: str = ""
    page: int = 1
    message: IncomingMessage | None = None
    dedupe_key: str = ""

    @property
    def team(self) -> str:
        """The id of the workspace."""
        return self.command.team

    @property
    def user(self) -> str:
        """The id of the person who gave the command."""
        return self.command.user

    @property
    def channel(self) -> str:
        """The id of the channel that the command was given in."""
        return self.command.channel

    @property
    def thread(self) -> Place | None:
        """The thread that a spoken command was given in; None outside of a thread."""
        return self.message.place if self.message is not None and self.message.in_thread else None

    def find_service(self, kind: type[S]) -> S:
        """Return the service of a class. Raises LookupError if no feature offers it."""
        return self.services.find(kind)

    def with_job(self, job: str, rest: str) -> CommandContext:
        """Return the context with the job that the command names, and the words after it."""
        return replace(self, job=job, rest=rest)


@dataclass(frozen=True, slots=True)
class Subcommand:
    """A subcommand: a word after `/leadhand`. Only the person who typed it sees its answer."""

    name: str
    usages: tuple[tuple[str, str], ...]
    """For each way to write it, a pair of (what follows the word, what it does), in the words of the help."""
    run: Callable[[CommandContext], Awaitable[Outgoing]]
    input_kind: SubcommandInput = "nothing"
    deed: AuditAction = "asked"
    """What the subcommand does, for the audit log."""
    text_after: str | None = None
    """The word after which a text of any length may follow; "" if it may follow at once, None if it never may."""

    def takes_text(self, first_word: str) -> bool:
        """Return True if a text of any length may follow. `first_word` is the word directly after the subcommand."""
        return self.text_after is not None and self.text_after in {"", first_word.lower()}


SpokenReply = Outgoing | Literal["told", "no_command"]
"""The outcome of a spoken command: a message that only the person sees, or `told` if they were told already, or
`no_command` if the words were no command after all and count as a request."""


@dataclass(frozen=True, slots=True)
class SpokenCommand:
    """A command that people give in their own words after a mention, and that is not a request."""

    name: str
    match: Callable[[str], str | None]
    """Called with the text of each mention. Returns the words that the command is about (maybe ""), which become
    `CommandContext.rest`, or None if the text is not this command. It is pure and quick."""
    run: Callable[[CommandContext], Awaitable[SpokenReply]]
    help_words: tuple[str, ...] = ()
    """Examples of its words that the help shows."""
    allows_files: bool = False
    """True if it is matched against messages with files too."""
    slash_words: str = ""
    """The same command after `/leadhand`: a subcommand and its first words, followed by the words that `match` returns.
    "" if there is none."""


def make_word_matcher(*words: str) -> Callable[[str], str | None]:
    """Return a `match` function for messages that are just one of `words`, ignoring case and outer punctuation."""

    def match(text: str) -> str | None:
        return "" if len(text) <= 40 and text.lower().strip(" .!?") in words else None

    return match


MAX_SUBCOMMAND_WORDS = 2
"""Maximum number of words after a subcommand. A longer text that names no job is a request."""
SHORT_NAME_LENGTH = 6
"""Maximum length of a name in which one spelling error is tolerated. In a longer name, two are."""


def guess_subcommand(text: str, names: Iterable[str], *, names_job: bool = False) -> str:
    """Return the subcommand that the first word probably misspells; "" if the text is a request.

    With `names_job`, a reference to a job follows the word, so the text may be long.
    """
    words = text.lower().split()
    if not words or (len(words) > 1 + MAX_SUBCOMMAND_WORDS and not names_job):
        return ""
    near = ((compute_edit_distance(words[0].strip(".,:;!?"), name), name) for name in names)
    wrong, name = min(near, default=(len(words[0]), ""))
    return name if wrong <= (1 if len(name) <= SHORT_NAME_LENGTH else 2) else ""


def compute_edit_distance(one: str, other: str) -> int:
    """Return the edit distance of two words: insertions, deletions, substitutions and swaps of neighbouring letters."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        earlier, before, row = before, row, [at]
        for to, other_letter in enumerate(other, 1):
            cost = min(row[to - 1] + 1, before[to] + 1, before[to - 1] + (letter != other_letter))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == other_letter:
                cost = min(cost, earlier[to - 2] + 1)
            row.append(cost)
    return row[-1]
