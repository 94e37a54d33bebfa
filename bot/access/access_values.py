"""What holds in a channel: the values, where each comes from, and which of two sources counts.

The form (`/leadhand settings`) comes before the file (`channels.yml`), the file before the channel's crew (`channel` in
its crew.yml), the crew before the environment, and that before the default, each value for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from bot.access.quiet_hours import OFF, read_quiet_hours, resolve_quiet_times
from bot.access.time_zones import read_zone
from bot.limits.rules import BadLimit, SpendingBudget, read_budget
from handoff.contracts import ChannelTerms, Tier
from handoff.conversation.working_time import quiet_until
from handoff.text.member_ids import CHANNEL, GROUP, PERSON, TEAM
from handoff.text.visible_text import visible
from specialists.files.frontmatter import did_you_mean

Source = Literal["default", "environment", "crew", "file", "form"]
TEXTS = frozenset({"instructions", "highest_tier", "budget", "quiet_hours", "zone"})
"""The values that are written as text: in a file, in a crew's file, in the environment."""
_TIERS: tuple[Tier, ...] = get_args(Tier)
MOST_NAME = 75
LONGEST_INSTRUCTIONS = 1_500
"""Characters of a channel's instructions, as many as of a crew's: every call of a role that heeds them carries them."""
MOST_NAMED = 100
"""People, groups or workspaces that one value names: as many as a menu of Slack's holds. Groups hold more."""


def _check_people(named: tuple[str, ...]) -> tuple[str, ...]:
    return _check_ids(
        named, lambda one: PERSON.fullmatch(one) or GROUP.fullmatch(one), "of a person (U...) or group (S...)"
    )


def _check_crew(name: str) -> str:
    if not name.strip() or len(name) > MOST_NAME:
        message = f"a crew's name is a word of at most {MOST_NAME} characters"
        raise ValueError(message)
    return name.strip()


def _check_teams(named: tuple[str, ...]) -> tuple[str, ...]:
    return _check_ids(named, TEAM.fullmatch, "of a workspace (T...)")


def _check_ids(named: tuple[str, ...], fits: Callable[[str], object], what: str) -> tuple[str, ...]:
    wrong = next((one for one in named if not fits(one)), None)
    if wrong is not None:
        message = f"{wrong[:40]} is no id {what}"
        raise ValueError(message)
    if len(named) > MOST_NAMED:
        message = f"there are {len(named)}, and at most {MOST_NAMED} are allowed; name a user group instead"
        raise ValueError(message)
    return tuple(dict.fromkeys(named))


def _check_instructions(text: str) -> str:
    said = visible(text.replace("\r\n", "\n")).strip()
    if len(said) > LONGEST_INSTRUCTIONS:
        message = (
            f"these are {len(said):,} characters, and at most {LONGEST_INSTRUCTIONS:,} are allowed, for every request "
            "carries them; what is longer belongs into the crew's knowledge"
        )
        raise ValueError(message)
    return "" if said.casefold() == OFF else said


def _check_budget(text: str) -> str:
    """Keep a budget as it is written; `off` for none."""
    if text.strip().casefold() == OFF:
        return OFF
    try:
        if read_budget(text) is not None:
            return " ".join(text.split())
    except BadLimit:
        pass
    message = "it takes an amount such as `$2.50`, `400k tokens` or both: `$2.50, 400k tokens`, or off"
    raise ValueError(message)


def _check_tier(name: object) -> object:
    if name in _TIERS or not isinstance(name, str):
        return name
    message = f"there is no tier {name[:40]}{did_you_mean(name, _TIERS)}; there are {', '.join(_TIERS)}"
    raise ValueError(message)


HighestTier = Annotated[Tier, BeforeValidator(_check_tier)]
Instructions = Annotated[str, AfterValidator(_check_instructions)]
Budget = Annotated[str, AfterValidator(_check_budget)]
QuietHours = Annotated[str, AfterValidator(read_quiet_hours)]
Zone = Annotated[str, AfterValidator(read_zone)]
People = Annotated[tuple[str, ...], AfterValidator(_check_people)]
Teams = Annotated[tuple[str, ...], AfterValidator(_check_teams)]
CrewName = Annotated[str, AfterValidator(_check_crew)]


class ChannelValues(BaseModel):
    """The values of a channel that one source sets; None is one that it leaves open.

    - allowed: whether the bot may be used in the channel at all.
    - users: ids of the people and user groups that may use it; empty: everybody.
    - guests: whether guests of the workspace may.
    - strangers: the ids of other workspaces whose people may (Slack Connect).
    - approvers: ids of the people and user groups that may approve; empty: as the crew says.
    - follow_ups: whether replies without a mention are heard in threads that have a job.
    - crew: the name of the crew that gets what is asked there, in a bot with several.
    - instructions: what the channel asks of every answer; empty: nothing.
    - highest_tier: the highest tier that models work on there.
    - budget: what the channel may spend a day, such as `$5, 200k tokens`; `off`: nothing is counted.
    - quiet_hours: when nothing is said there that nobody asked for by mention, such as `20-8, weekends`, or `off`.
    - zone: the time zone that these hours are in, by its IANA name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)

    allowed: bool | None = None
    users: People | None = None
    guests: bool | None = None
    strangers: Teams | None = None
    approvers: People | None = None
    follow_ups: bool | None = None
    crew: CrewName | None = None
    instructions: Instructions | None = None
    highest_tier: HighestTier | None = None
    budget: Budget | None = None
    quiet_hours: QuietHours | None = None
    zone: Zone | None = None


NAMES: tuple[str, ...] = tuple(ChannelValues.model_fields)
DEFAULTS = ChannelValues(
    allowed=True,
    users=(),
    guests=False,
    strangers=(),
    approvers=(),
    follow_ups=True,
    instructions="",
    highest_tier="deep",
    budget=OFF,
    quiet_hours=OFF,
    zone="UTC",
)
"""The crew has no default here: it is the first of the settings."""


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """Where a value comes from. For the form, also who set it (a Slack id), and when (seconds since the epoch)."""

    source: Source
    user: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Access:
    """What holds in a channel: see `ChannelValues`. `origins` says of each value where it comes from."""

    allowed: bool = True
    users: tuple[str, ...] = ()
    guests: bool = False
    strangers: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()
    follow_ups: bool = True
    crew: str = ""
    instructions: str = ""
    highest_tier: Tier = "deep"
    budget: str = OFF
    quiet_hours: str = OFF
    zone: str = "UTC"
    origins: Mapping[str, ValueOrigin] = field(default_factory=dict)

    def origin(self, name: str) -> ValueOrigin:
        """Say where the value of that name comes from."""
        return self.origins.get(name, ValueOrigin("default"))

    def terms(self, at: float) -> ChannelTerms:
        """Return what the work on a request that begins now (`at`, s since the epoch) is to heed."""
        quiet = resolve_quiet_times(self.quiet_hours, self.zone, at)
        return ChannelTerms(instructions=self.instructions, highest=self.highest_tier, quiet=quiet)

    def find_quiet_end(self, at: float) -> float:
        """Return the end of the quiet hours around a moment; outside of quiet hours, the moment itself."""
        return quiet_until(at, resolve_quiet_times(self.quiet_hours, self.zone, at))

    @property
    def spending(self) -> SpendingBudget | None:
        """What the channel may spend a day; None: nothing is counted for it."""
        return None if self.budget == OFF else read_budget(self.budget)

    @property
    def groups(self) -> frozenset[str]:
        """The user groups that are named."""
        return groups_in((*self.users, *self.approvers))


def classify_contact(named: str) -> Literal["person", "group", "channel", "words"]:
    """Say what a crew's contact is. An id has a digit: “CEO” is a word."""
    if not any(one.isdigit() for one in named):
        return "words"
    if PERSON.fullmatch(named):
        return "person"
    return "group" if GROUP.fullmatch(named) else "channel" if CHANNEL.fullmatch(named) else "words"


def groups_in(named: Sequence[str]) -> frozenset[str]:
    """Pick the user groups out of ids of people and groups."""
    return frozenset(one for one in named if GROUP.fullmatch(one))


def merge_sources(
    sources: Sequence[tuple[ChannelValues, Mapping[str, ValueOrigin] | Source]], *, crew: str = ""
) -> Access:
    """Merge the sources of a channel's values, the one that counts most first. `crew` is the default crew.

    Each source comes with the origin of its values. For the form it is a mapping, by the name of the value.
    """
    values: dict[str, Any] = {}
    origins: dict[str, ValueOrigin] = {}
    default = DEFAULTS.model_copy(update={"crew": crew})
    for found, source in [*sources, (default, "default")]:
        for name in NAMES:
            value = getattr(found, name)
            if value is not None and name not in values:
                values[name] = value
                origins[name] = (
                    ValueOrigin(source) if isinstance(source, str) else source.get(name, ValueOrigin("form"))
                )
    return Access(**values, origins=origins)
