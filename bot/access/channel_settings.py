"""Merges a channel's settings from all sources, and stores the values that admins set with the form."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from bot.access.access_values import (
    VALUE_NAMES,
    ChannelValues,
    EffectiveValues,
    ValueOrigin,
    merge_sources,
    pick_groups,
)
from bot.limits.limit_rules import LimitRules, Scope, SpendingBudget
from bot.store.redis.redis_store import Store
from bot.store.values import StoreError
from handoff.contracts import ChannelTerms, Tier
from handoff.text.slack_ids import CHANNEL_ID

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FormValues:
    """The values that the form set for a channel, with who set each one and when.

    `row` is the stored text, empty if there is none. `is_newer`: a newer release wrote the row, and this
    release cannot read it. Then the channel is closed, and the row is not overwritten.
    """

    values: ChannelValues = field(default_factory=ChannelValues)
    origins: Mapping[str, ValueOrigin] = field(default_factory=dict)
    row: str = ""
    is_newer: bool = False

    def compute_stamp(self, name: str) -> str:
        """Return 8 hex digits that change with the value. A window carries them, to detect changes by others."""
        return make_stamp(self.values, name)


def make_stamp(values: ChannelValues, name: str) -> str:
    """Return the first 8 hex digits of the SHA-256 of the value with this name."""
    value = values.model_dump(mode="json", include={name})[name]
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:8]


def render_form_row(values: ChannelValues, origins: Mapping[str, ValueOrigin]) -> str:
    """Render a channel's values and their origins as the text of its row."""
    stored_origins = {name: {"user": origin.user, "at": origin.at} for name, origin in origins.items()}
    return json.dumps({"values": values.model_dump(mode="json", exclude_none=True), "set": stored_origins})


def parse_form_row(channel: str, row: str) -> FormValues:
    """Parse a channel's row. An unreadable row closes the channel, as it may have excluded people."""
    try:
        fields = json.loads(row)
        stored_values, stored_origins = dict(fields["values"]), dict(fields["set"])
    except (ValueError, KeyError, TypeError) as error:
        why = type(error).__name__  # never its text, which may quote what somebody wrote
        log.error("the settings of channel %s cannot be read (%s): closed until set again", channel, why)  # noqa: TRY400 - one line
        return FormValues(ChannelValues(allowed=False), row=row)
    try:
        values = ChannelValues.model_validate(stored_values)
        origins = {
            name: ValueOrigin("form", str(one["user"]), float(one["at"]))
            for name, one in stored_origins.items()
            if name in VALUE_NAMES
        }
    except (ValueError, KeyError, TypeError) as error:
        why = type(error).__name__
        log.error("a newer release wrote the settings of channel %s (%s): closed here", channel, why)  # noqa: TRY400 - one line
        return FormValues(ChannelValues(allowed=False), row=row, is_newer=True)
    return FormValues(values, origins, row)


FORM_CACHE_SECONDS = 1.5
"""Seconds for which the form's values of a workspace are cached. Changes made by this instance apply at once."""
MAX_SAVE_TRIES = 5
"""Maximum number of tries to save a form while others save other values of the same channel."""
NO_FORM_VALUES = FormValues()


@dataclass(frozen=True, slots=True)
class FormNotSaved:
    """The outcome of a save that changed nothing. `form` has the values in the store.

    `conflicting_names` names the values that others changed meanwhile. It is empty if a newer release wrote the row, or
    if other changes came in between at every try.
    """

    form: FormValues
    conflicting_names: tuple[str, ...] = ()


class ChannelSettings:
    """The settings of channels: who may use the bot in a channel, and how it works there.

    Args:
        store: Where the form's values are kept.
        environment: Returns the values that the environment sets for a channel, by its id.
        file: The values that `channels.yml` sets, by the channel's id.
        crews: The descriptions of the bot's crews by name, the default crew first; empty if there is only one crew.
        crew_values: The values that the crews' own files set, by the crew's name; the default crew first.
        models: The model of each tier, by the tier's name, for people who choose one.
    """

    def __init__(
        self,
        store: Store,
        environment: Callable[[str], ChannelValues],
        file: Mapping[str, ChannelValues],
        *,
        crews: Mapping[str, str] = MappingProxyType({}),
        crew_values: Mapping[str, ChannelValues] = MappingProxyType({}),
        models: Mapping[Tier, str] = MappingProxyType({}),
    ) -> None:
        self._store = store
        self._environment = environment
        self._file = file
        self._crew_values = crew_values
        self.crews = crews
        self.models = models
        self._forms: dict[str, tuple[float, dict[str, FormValues]]] = {}

    async def read_effective_values(self, team: str, channel: str) -> EffectiveValues:
        """Return the values that apply in a channel. While the store is away, the form's last read values are used.

        Raises StoreError if the store is away and the form's values were never read.
        """
        form = (await self._read_forms(team)).get(channel, NO_FORM_VALUES)
        return self._merge_values(channel, form)

    async def read_approvers(self, team: str, channel: str) -> tuple[str, ...]:
        """Return the ids of those who may approve in a channel; empty if the crew decides. Raises StoreError."""
        return (await self.read_effective_values(team, channel)).approvers

    async def read_terms(self, team: str, channel: str) -> ChannelTerms:
        """Return the channel's terms for a request whose work begins now. Raises StoreError."""
        return (await self.read_effective_values(team, channel)).make_terms(self._store.clock())

    async def find_quiet_end(self, team: str, channel: str) -> float:
        """Return when a channel's quiet hours end (s since the epoch), or now if none are on. Raises StoreError."""
        return (await self.read_effective_values(team, channel)).find_quiet_end(self._store.clock())

    async def apply_channel_budget(self, rules: LimitRules, team: str, channel: str) -> LimitRules:
        """Return `rules` with the channel's budget from the form, the file or the crew, if one of them sets it.

        Raises StoreError.
        """
        access = await self.read_effective_values(team, channel)
        if access.find_origin("budget").source in {"default", "environment"}:
            return rules
        others: dict[Scope, SpendingBudget] = {scope: one for scope, one in rules.budgets.items() if scope != "channel"}
        own = access.daily_budget
        return dataclasses.replace(rules, budgets={**others, "channel": own} if own is not None else others)

    def merge_without_form(self, channel: str) -> EffectiveValues:
        """Return the values that would apply in a channel if the form had set none."""
        return self._merge_values(channel, NO_FORM_VALUES)

    def _merge_values(self, channel: str, form: FormValues) -> EffectiveValues:
        default_crew, file = next(iter(self.crews), ""), self._file.get(channel, ChannelValues())
        crew = form.values.crew or file.crew or default_crew or next(iter(self._crew_values), "")
        return merge_sources(
            [
                (form.values, form.origins),
                (file, "file"),
                (self._crew_values.get(crew, ChannelValues()), "crew"),
                (self._environment(channel), "environment"),
            ],
            crew=default_crew,
        )

    async def read_form(self, team: str, channel: str) -> FormValues:
        """Read the values that the form set for a channel from the store, not the cache. Raises StoreError."""
        self._forms.pop(team, None)
        return (await self._read_forms(team)).get(channel, NO_FORM_VALUES)

    async def save_form(
        self,
        team: str,
        channel: str,
        values: ChannelValues,
        *,
        user: str,
        names: tuple[str, ...] = VALUE_NAMES,
        seen_stamps: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[str, ...] | FormNotSaved:
        """Save the values of these `names` that an admin set with the form. Returns the names of the changed values.

        `seen_stamps` has the stamps of the values as the admin saw them. If others have since set one to another value
        than the admin's, nothing is saved, and FormNotSaved is returned. An unchanged value keeps its author.
        Raises StoreError.
        """
        for _ in range(MAX_SAVE_TRIES):
            before = await self.read_form(team, channel)
            changed_names = tuple(one for one in names if getattr(values, one) != getattr(before.values, one))
            conflicting_names = tuple(
                one
                for one in changed_names
                if before.compute_stamp(one) != seen_stamps.get(one, before.compute_stamp(one))
            )
            if conflicting_names or before.is_newer:
                return FormNotSaved(before, () if before.is_newer else conflicting_names)
            if not changed_names:
                return ()
            now = ValueOrigin("form", user, self._store.clock())
            merged_values = before.values.model_copy(update={one: getattr(values, one) for one in changed_names})
            set_names = [one for one in VALUE_NAMES if getattr(merged_values, one) is not None]
            origins = {one: now if one in changed_names else before.origins.get(one, now) for one in set_names}
            row = render_form_row(merged_values, origins)
            if await self._store.settings.put(team, channel, row, old_payload=before.row):
                self._forms.pop(team, None)
                return changed_names
        return FormNotSaved(before)

    async def read_groups(self, team: str) -> frozenset[str]:
        """Return the ids of the user groups named in the form, `channels.yml` or the environment. Raises StoreError."""
        form_values = (form.values for form in (await self._read_forms(team)).values())
        all_values = [*self._file.values(), self._environment(""), *form_values]
        return pick_groups([one for values in all_values for one in (*(values.users or ()), *(values.approvers or ()))])

    async def _read_forms(self, team: str) -> dict[str, FormValues]:
        expires_at, cached_forms = self._forms.get(team, (0.0, None))
        if cached_forms is not None and time.monotonic() < expires_at:
            return cached_forms
        try:
            rows = await self._store.settings.read_team(team)
        except StoreError:
            if cached_forms is None:
                raise
            return cached_forms
        before = cached_forms or {}
        forms = {
            channel: before[channel]
            if channel in before and before[channel].row == row
            else parse_form_row(channel, row)
            for channel, row in rows.items()
            if CHANNEL_ID.fullmatch(channel)  # other rows hold data of the bot itself
        }
        self._forms[team] = (time.monotonic() + FORM_CACHE_SECONDS, forms)
        return forms
