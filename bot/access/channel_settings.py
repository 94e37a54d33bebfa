"""What holds in each channel, of all sources together, and what admins set with the form, kept in the store."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from bot.access.access_values import NAMES, Access, ChannelValues, Origin, combined, groups_in
from bot.store.interface import Store, StoreError
from handoff.member_ids import CHANNEL

log = logging.getLogger(__name__)

HEARD_FOR = 2.0
"""Seconds for which what the form set is not read again. What this instance set itself holds at once."""


@dataclass(frozen=True, slots=True)
class FormValues:
    """What the form set for a channel, and for each value who did and when."""

    values: ChannelValues = field(default_factory=ChannelValues)
    origins: Mapping[str, Origin] = field(default_factory=dict)


NOTHING_SET = FormValues()


class ChannelSettings:
    """Says who may use the bot in a channel.

    Args:
        store: Where the form's values are kept.
        environment: Gives what the environment sets for a channel, by its id.
        file: What `channels.yml` sets, by the channel's id.
        admins: Slack ids of people who may use the form.
        crews: The bot's crews by name, the usual one first, with what each says of itself; none if there is but one.
    """

    def __init__(
        self,
        store: Store,
        environment: Callable[[str], ChannelValues],
        file: Mapping[str, ChannelValues],
        *,
        admins: frozenset[str] = frozenset(),
        crews: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._store = store
        self._environment = environment
        self._file = file
        self.admins = admins
        self.crews = crews
        self._forms: dict[str, tuple[float, dict[str, FormValues]]] = {}

    async def of(self, team: str, channel: str) -> Access:
        """Say what holds in a channel. While the store is away, what was last read of it holds.

        Raises StoreError if nothing was read before.
        """
        form = (await self._read(team)).get(channel, NOTHING_SET)
        return self._with(channel, form)

    async def approvers_in(self, team: str, channel: str) -> tuple[str, ...]:
        """Name the people and user groups who may approve in a channel; nobody: as the crew says. Raises StoreError."""
        return (await self.of(team, channel)).approvers

    def without_form(self, channel: str) -> Access:
        """Say what would hold in a channel if the form had set nothing."""
        return self._with(channel, NOTHING_SET)

    def _with(self, channel: str, form: FormValues) -> Access:
        return combined(
            [
                (form.values, form.origins),
                (self._file.get(channel, ChannelValues()), "file"),
                (self._environment(channel), "environment"),
            ],
            crew=next(iter(self.crews), ""),
        )

    async def form(self, team: str, channel: str) -> FormValues:
        """Read what the form set for a channel. Raises StoreError."""
        self._forms.pop(team, None)
        return (await self._read(team)).get(channel, NOTHING_SET)

    async def set(self, team: str, channel: str, values: ChannelValues, *, user: str) -> tuple[str, ...]:
        """Keep what an admin set with the form, whole, and return the names of the values that changed.

        A value that stays as it was stays with who set it. Raises StoreError.
        """
        before = await self.form(team, channel)
        now = Origin("form", user, self._store.clock())
        changed = tuple(name for name in NAMES if getattr(values, name) != getattr(before.values, name))
        given = [name for name in NAMES if getattr(values, name) is not None]
        origins = {name: now if name in changed else before.origins.get(name, now) for name in given}
        if changed:
            await self._store.settings.put(team, channel, _dump(FormValues(values, origins)))
            self._forms.pop(team, None)
        return changed

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
            rows = await self._store.settings.of(team)
        except StoreError:
            if known is None:
                raise
            return known
        read = {channel: _load(channel, row) for channel, row in rows.items() if CHANNEL.fullmatch(channel)}
        self._forms[team] = (time.monotonic() + HEARD_FOR, read)
        return read


def _dump(form: FormValues) -> str:
    origins = {name: {"user": origin.user, "at": origin.at} for name, origin in form.origins.items()}
    return json.dumps({"values": form.values.model_dump(mode="json", exclude_none=True), "set": origins})


def _load(channel: str, row: str) -> FormValues:
    """Read a channel's row. One that a newer release wrote, with values unknown here, closes the channel."""
    try:
        fields = json.loads(row)
        values = ChannelValues.model_validate(fields["values"])
        origins = {
            name: Origin("form", str(one["user"]), float(one["at"]))
            for name, one in fields["set"].items()
            if name in NAMES
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = type(error).__name__  # never its text, which may quote what somebody wrote
        log.error("the settings of channel %s cannot be read (%s): closed until set again", channel, why)  # noqa: TRY400 - one line
        return FormValues(ChannelValues(allowed=False))
    return FormValues(values, origins)
