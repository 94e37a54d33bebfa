"""How what admins set with the form is kept: a row of JSON for a channel, with who set each value and when."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.access.access_values import NAMES, ChannelValues, ValueOrigin

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FormValues:
    """What the form set for a channel, and for each value who did and when.

    `row` is the text that is kept, empty if there is none. `newer`: a newer release wrote it, so that nobody here can
    say what holds: the channel is closed, and what stands there is not written over.
    """

    values: ChannelValues = field(default_factory=ChannelValues)
    origins: Mapping[str, ValueOrigin] = field(default_factory=dict)
    row: str = ""
    newer: bool = False

    def stamp(self, name: str) -> str:
        """Return a short text that is another once that value is another: a window carries it, and brings it back."""
        return stamp_of(self.values, name)


def stamp_of(values: ChannelValues, name: str) -> str:
    """Return the stamp of a value, see `FormValues.stamp`."""
    value = values.model_dump(mode="json", include={name})[name]
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:8]


def dump_form_row(values: ChannelValues, origins: Mapping[str, ValueOrigin]) -> str:
    """Write a channel's row."""
    by = {name: {"user": origin.user, "at": origin.at} for name, origin in origins.items()}
    return json.dumps({"values": values.model_dump(mode="json", exclude_none=True), "set": by})


def load_form_row(channel: str, row: str) -> FormValues:
    """Read a channel's row. One that cannot be read closes the channel: it may hold who must not use the bot there."""
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
