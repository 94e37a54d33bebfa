"""The values that apply in a channel: their types, their sources, and which source takes precedence.

From the highest precedence to the lowest: the form (`/leadhand settings`), the file (`channels.yml`), the channel's
crew (`channel` in its crew.yml), the environment, the default. Each value is decided separately.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from bot.access.quiet_hours import OFF, normalize_quiet_hours, resolve_quiet_times
from bot.access.time_zones import parse_zone_name
from bot.limits.limit_rules import InvalidLimitError, SpendingBudget, parse_budget
from handoff.contracts import ChannelTerms, Tier
from handoff.conversation.working_time import find_quiet_hours_end
from handoff.text.invisible_characters import remove_invisible
from handoff.text.slack_ids import CHANNEL_ID, GROUP_ID, PERSON_ID, TEAM_ID
from specialists.files.frontmatter import suggest_name

ValueSource = Literal["default", "environment", "crew", "file", "form"]
TEXT_VALUE_NAMES = frozenset({"instructions", "highest_tier", "budget", "quiet_hours", "zone"})
"""Names of the values that are texts in `channels.yml`, in crew.yml and in the environment: `off` is not False."""
_TIERS: tuple[Tier, ...] = get_args(Tier)
MAX_CREW_NAME_CHARS = 75
MAX_INSTRUCTIONS_CHARS = 1_500
"""Maximum characters of a channel's instructions. They are sent with every model call that uses them."""
MAX_IDS = 100
"""Maximum ids of people, groups or workspaces in one value: as many as a Slack menu holds."""


def _check_people(ids: tuple[str, ...]) -> tuple[str, ...]:
    return _check_ids(
        ids, lambda one: PERSON_ID.fullmatch(one) or GROUP_ID.fullmatch(one), "of a person (U...) or group (S...)"
    )


def _check_crew(name: str) -> str:
    if not name.strip() or len(name) > MAX_CREW_NAME_CHARS:
        message = f"a crew's name is a word of at most {MAX_CREW_NAME_CHARS} characters"
        raise ValueError(message)
    return name.strip()


def _check_teams(ids: tuple[str, ...]) -> tuple[str, ...]:
    return _check_ids(ids, TEAM_ID.fullmatch, "of a workspace (T...)")


def _check_ids(ids: tuple[str, ...], fits: Callable[[str], object], kind: str) -> tuple[str, ...]:
    wrong = next((one for one in ids if not fits(one)), None)
    if wrong is not None:
        message = f"{wrong[:40]} is no id {kind}"
        raise ValueError(message)
    if len(ids) > MAX_IDS:
        message = f"there are {len(ids)}, and at most {MAX_IDS} are allowed; name a user group instead"
        raise ValueError(message)
    return tuple(dict.fromkeys(ids))


def _check_instructions(text: str) -> str:
    instructions = remove_invisible(text.replace("\r\n", "\n")).strip()
    if len(instructions) > MAX_INSTRUCTIONS_CHARS:
        message = (
            f"these are {len(instructions):,} characters, and at most {MAX_INSTRUCTIONS_CHARS:,} are allowed, for "
            "every request "
            "carries them; what is longer belongs into the crew's knowledge"
        )
        raise ValueError(message)
    return "" if instructions.casefold() == OFF else instructions


def _check_budget(text: str) -> str:
    """Return a valid budget as it is written, or `off` for none. Raises ValueError."""
    if text.strip().casefold() == OFF:
        return OFF
    try:
        if parse_budget(text) is not None:
            return " ".join(text.split())
    except InvalidLimitError:
        pass
    message = "it takes an amount such as `$2.50`, `400k tokens` or both: `$2.50, 400k tokens`, or off"
    raise ValueError(message)


def _check_tier(name: object) -> object:
    if name in _TIERS or not isinstance(name, str):
        return name
    message = f"there is no tier {name[:40]}{suggest_name(name, _TIERS)}; there are {', '.join(_TIERS)}"
    raise ValueError(message)


HighestTier = Annotated[Tier, BeforeValidator(_check_tier)]
Instructions = Annotated[str, AfterValidator(_check_instructions)]
Budget = Annotated[str, AfterValidator(_check_budget)]
QuietHours = Annotated[str, AfterValidator(normalize_quiet_hours)]
Zone = Annotated[str, AfterValidator(parse_zone_name)]
People = Annotated[tuple[str, ...], AfterValidator(_check_people)]
Teams = Annotated[tuple[str, ...], AfterValidator(_check_teams)]
CrewName = Annotated[str, AfterValidator(_check_crew)]


class ChannelValues(BaseModel):
    """The values that one source sets for a channel. None means that the source does not set the value.

    - allowed: whether the bot may be used in the channel at all.
    - users: ids of the people and user groups that may use it; empty: everybody.
    - guests: whether guests of the workspace may use it.
    - strangers: the ids of other workspaces whose people may use it (Slack Connect).
    - approvers: ids of the people and user groups that may approve; empty: as the crew says.
    - follow_ups: whether replies without a mention are read in threads that have a job.
    - crew: the name of the crew that gets the channel's requests, if the bot has several.
    - instructions: the channel's instructions for every answer; empty for none.
    - highest_tier: the highest tier of models that work for the channel.
    - budget: what the channel may spend a day, such as `$5, 200k tokens`; `off` for no limit.
    - quiet_hours: when the bot posts only what people asked for by mention, such as `20-8, weekends`, or `off`.
    - zone: the time zone of the quiet hours, by its IANA name.
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


VALUE_NAMES: tuple[str, ...] = tuple(ChannelValues.model_fields)
DEFAULT_VALUES = ChannelValues(
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
"""The default values. The default crew is missing here: it is the first crew of the settings."""


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """The origin of a value: its source, and for the form who set it (a Slack id), and when (s since the epoch)."""

    source: ValueSource
    user: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class EffectiveValues:
    """The values that apply in a channel, as in `ChannelValues`. `origins` maps the name of a value to its origin."""

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

    def find_origin(self, name: str) -> ValueOrigin:
        """Return the origin of the value with this name."""
        return self.origins.get(name, ValueOrigin("default"))

    def make_terms(self, at: float) -> ChannelTerms:
        """Return the channel's terms for a request whose work begins at `at` (seconds since the epoch)."""
        quiet = resolve_quiet_times(self.quiet_hours, self.zone, at)
        return ChannelTerms(instructions=self.instructions, highest=self.highest_tier, quiet=quiet)

    def find_quiet_end(self, at: float) -> float:
        """Return the end of the quiet hours that `at` (s since the epoch) falls into; outside of them, `at` itself."""
        return find_quiet_hours_end(at, resolve_quiet_times(self.quiet_hours, self.zone, at))

    @property
    def daily_budget(self) -> SpendingBudget | None:
        """The channel's budget for a day, or None if it has none."""
        return None if self.budget == OFF else parse_budget(self.budget)

    @property
    def groups(self) -> frozenset[str]:
        """The ids of the user groups among `users` and `approvers`."""
        return pick_groups((*self.users, *self.approvers))


def classify_contact(contact: str) -> Literal["person", "group", "channel", "words"]:
    """Return the kind of a contact that a crew names. A text without a digit, such as “CEO”, is never an id."""
    if not any(one.isdigit() for one in contact):
        return "words"
    if PERSON_ID.fullmatch(contact):
        return "person"
    return "group" if GROUP_ID.fullmatch(contact) else "channel" if CHANNEL_ID.fullmatch(contact) else "words"


def pick_groups(ids: Sequence[str]) -> frozenset[str]:
    """Return the ids of user groups among ids of people and groups."""
    return frozenset(one for one in ids if GROUP_ID.fullmatch(one))


def merge_sources(
    sources: Sequence[tuple[ChannelValues, Mapping[str, ValueOrigin] | ValueSource]], *, crew: str = ""
) -> EffectiveValues:
    """Merge the sources of a channel's values, highest precedence first. `crew` is the default crew.

    Each source is a pair of its values and its name. For the form, the second item maps value names to origins.
    """
    values: dict[str, Any] = {}
    origins: dict[str, ValueOrigin] = {}
    default = DEFAULT_VALUES.model_copy(update={"crew": crew})
    for source_values, source in [*sources, (default, "default")]:
        for name in VALUE_NAMES:
            value = getattr(source_values, name)
            if value is not None and name not in values:
                values[name] = value
                origins[name] = (
                    ValueOrigin(source) if isinstance(source, str) else source.get(name, ValueOrigin("form"))
                )
    return EffectiveValues(**values, origins=origins)
