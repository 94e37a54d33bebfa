"""What holds in each channel, of all sources together, and what admins set with the form, kept in the store."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from bot.access.access_values import NAMES, Access, ChannelValues, ValueOrigin, groups_in, merge_sources
from bot.limits.rules import LimitRules, Scope, SpendingBudget
from bot.store.redis.redis_store import Store
from bot.store.values import StoreError
from handoff.contracts import ChannelTerms, Tier
from handoff.text.member_ids import CHANNEL

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FormValues:
    """What the form set for a channel, and for each value who did and when.

    `row` is the text that is kept, empty if there is none. `newer`: a newer release wrote
    the row, and this one cannot read it: the channel is closed, and the row is not overwritten.
    """

    values: ChannelValues = field(default_factory=ChannelValues)
    origins: Mapping[str, ValueOrigin] = field(default_factory=dict)
    row: str = ""
    newer: bool = False

    def stamp(self, name: str) -> str:
        """Return a short text that changes whenever the value does. A window carries it, and sends it back."""
        return make_stamp(self.values, name)


def make_stamp(values: ChannelValues, name: str) -> str:
    """Return the stamp of a value, see `FormValues.stamp`."""
    value = values.model_dump(mode="json", include={name})[name]
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:8]


def dump_form_row(values: ChannelValues, origins: Mapping[str, ValueOrigin]) -> str:
    """Write a channel's row."""
    by = {name: {"user": origin.user, "at": origin.at} for name, origin in origins.items()}
    return json.dumps({"values": values.model_dump(mode="json", exclude_none=True), "set": by})


def load_form_row(channel: str, row: str) -> FormValues:
    """Read a channel's row. One that cannot be read closes the channel: it may keep people out."""
    try:
        fields = json.loads(row)
        given, by = dict(fields["values"]), dict(fields["set"])
    except (ValueError, KeyError, TypeError) as error:
        why = type(error).__name__  # never its text, which may quote what somebody wrote
        log.error("the settings of channel %s cannot be read (%s): closed until set again", channel, why)  # noqa: TRY400 - one line
        return FormValues(ChannelValues(allowed=False), row=row)
    try:
        values = ChannelValues.model_validate(given)
        origins = {
            name: ValueOrigin("form", str(one["user"]), float(one["at"])) for name, one in by.items() if name in NAMES
        }
    except (ValueError, KeyError, TypeError) as error:
        why = type(error).__name__
        log.error("a newer release wrote the settings of channel %s (%s): closed here", channel, why)  # noqa: TRY400 - one line
        return FormValues(ChannelValues(allowed=False), row=row, newer=True)
    return FormValues(values, origins, row)


CACHE_SECONDS = 1.5
"""Seconds for which what the form set is not read again. What this instance set itself holds at once."""
MOST_TRIES = 5
"""Times that a change is tried again because somebody changed other values of the channel at that moment."""
NOTHING_SET = FormValues()


@dataclass(frozen=True, slots=True)
class FormNotSaved:
    """Nothing was changed. `overtaken` names the values that others changed since; `form` is what the form sets now.

    `overtaken` is empty if a newer release set what this one cannot read, or if others change the channel all the time.
    """

    form: FormValues
    overtaken: tuple[str, ...] = ()


class ChannelSettings:
    """Says what holds in a channel: who may use the bot there, and how it works there.

    Args:
        store: Where the form's values are kept.
        environment: Gives what the environment sets for a channel, by its id.
        file: What `channels.yml` sets, by the channel's id.
        crews: The bot's crews by name, the usual one first, with what each says of itself; none if there is but one.
        of_crews: What the crews' own files set, by their names; the usual one first.
        models: The model of each tier, by the tier's name, for people who choose one.
    """

    def __init__(
        self,
        store: Store,
        environment: Callable[[str], ChannelValues],
        file: Mapping[str, ChannelValues],
        *,
        crews: Mapping[str, str] = MappingProxyType({}),
        of_crews: Mapping[str, ChannelValues] = MappingProxyType({}),
        models: Mapping[Tier, str] = MappingProxyType({}),
    ) -> None:
        self._store = store
        self._environment = environment
        self._file = file
        self._of_crews = of_crews
        self.crews = crews
        self.models = models
        self._forms: dict[str, tuple[float, dict[str, FormValues]]] = {}

    async def read_access(self, team: str, channel: str) -> Access:
        """Say what holds in a channel. While the store is away, what was last read of it holds.

        Raises StoreError if nothing was read before.
        """
        form = (await self._read(team)).get(channel, NOTHING_SET)
        return self._build_access(channel, form)

    async def read_approvers(self, team: str, channel: str) -> tuple[str, ...]:
        """Name the people and user groups who may approve in a channel; nobody: as the crew says. Raises StoreError."""
        return (await self.read_access(team, channel)).approvers

    async def read_terms(self, team: str, channel: str) -> ChannelTerms:
        """Return what the work on a request that begins now is to heed. Raises StoreError."""
        return (await self.read_access(team, channel)).terms(self._store.clock())

    async def find_quiet_end(self, team: str, channel: str) -> float:
        """Return when the quiet hours of a channel end (s since the epoch); now if it is in none. Raises StoreError."""
        return (await self.read_access(team, channel)).find_quiet_end(self._store.clock())

    async def add_channel_budget(self, rules: LimitRules, team: str, channel: str) -> LimitRules:
        """Return the limits on calls with the budget of the channel, where it has one of its own. Raises StoreError."""
        access = await self.read_access(team, channel)
        if access.origin("budget").source in {"default", "environment"}:
            return rules
        others: dict[Scope, SpendingBudget] = {scope: one for scope, one in rules.budgets.items() if scope != "channel"}
        own = access.spending
        return dataclasses.replace(rules, budgets={**others, "channel": own} if own is not None else others)

    def build_access_without_form(self, channel: str) -> Access:
        """Say what would hold in a channel if the form had set nothing."""
        return self._build_access(channel, NOTHING_SET)

    def _build_access(self, channel: str, form: FormValues) -> Access:
        usual, file = next(iter(self.crews), ""), self._file.get(channel, ChannelValues())
        crew = form.values.crew or file.crew or usual or next(iter(self._of_crews), "")
        return merge_sources(
            [
                (form.values, form.origins),
                (file, "file"),
                (self._of_crews.get(crew, ChannelValues()), "crew"),
                (self._environment(channel), "environment"),
            ],
            crew=usual,
        )

    async def form(self, team: str, channel: str) -> FormValues:
        """Read what the form set for a channel. Raises StoreError."""
        self._forms.pop(team, None)
        return (await self._read(team)).get(channel, NOTHING_SET)

    async def save_form(
        self,
        team: str,
        channel: str,
        values: ChannelValues,
        *,
        user: str,
        names: tuple[str, ...] = NAMES,
        seen: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[str, ...] | FormNotSaved:
        """Keep what an admin set with the form for the values of these `names`; return the names of those that changed.

        `seen` are the stamps (`FormValues.stamp`) of the values as the admin saw them. If others changed one of them
        since, to anything but what is set now, nothing is kept. An unchanged value keeps its author.
        Raises StoreError.
        """
        for _ in range(MOST_TRIES):
            before = await self.form(team, channel)
            changed = tuple(one for one in names if getattr(values, one) != getattr(before.values, one))
            overtaken = tuple(one for one in changed if before.stamp(one) != seen.get(one, before.stamp(one)))
            if overtaken or before.newer:
                return FormNotSaved(before, () if before.newer else overtaken)
            if not changed:
                return ()
            now = ValueOrigin("form", user, self._store.clock())
            whole = before.values.model_copy(update={one: getattr(values, one) for one in changed})
            given = [one for one in NAMES if getattr(whole, one) is not None]
            origins = {one: now if one in changed else before.origins.get(one, now) for one in given}
            row = dump_form_row(whole, origins)
            if await self._store.settings.put(team, channel, row, instead_of=before.row):
                self._forms.pop(team, None)
                return changed
        return FormNotSaved(before)

    async def groups(self, team: str) -> frozenset[str]:
        """Collect the user groups that are named for any channel, so that their members can be asked for."""
        kept = (form.values for form in (await self._read(team)).values())
        found = [*self._file.values(), self._environment(""), *kept]
        return groups_in([one for values in found for one in (*(values.users or ()), *(values.approvers or ()))])

    async def _read(self, team: str) -> dict[str, FormValues]:
        until, known = self._forms.get(team, (0.0, None))
        if known is not None and time.monotonic() < until:
            return known
        try:
            rows = await self._store.settings.read_team(team)
        except StoreError:
            if known is None:
                raise
            return known
        before = known or {}
        read = {
            channel: before[channel]
            if channel in before and before[channel].row == row
            else load_form_row(channel, row)
            for channel, row in rows.items()
            if CHANNEL.fullmatch(channel)  # other rows are what the bot itself remembers
        }
        self._forms[team] = (time.monotonic() + CACHE_SECONDS, read)
        return read
