"""The one line for somebody who may not use the bot, and the words for it in the audit."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from bot.access.ruling import RulingReason
from bot.slack.text.cleaning import mention

REASONS: Mapping[RulingReason, str] = {
    "unknown": "Slack could not say who it is",
    "gone": "the account is deactivated",
    "bot": "a bot",
    "place": "not used in this channel",
    "stranger": "of another workspace",
    "guest": "a guest",
    "not_named": "not among those who may use it here",
}
"""Why somebody was refused, in fixed words."""
_LINES: Mapping[RulingReason, str] = {
    "unknown": "I could not ask Slack just now whether you may use me, so I did nothing. Try again in a minute.",
    "gone": "I did nothing: Slack says that this account is deactivated.",
    "bot": "I work for people only, so I did nothing.",
    "place": "I am not used in this channel, so I did nothing.",
    "stranger": "People of your workspace cannot use me here, so I did nothing.",
    "guest": "Guests cannot use me here, so I did nothing.",
    "not_named": "Only certain people can use me in this channel, and you are not one of them, so I did nothing.",
}
PUT_OFF = (
    "I could not ask Slack just now whether you may use me, so I have not begun. Slack brings it to me again within "
    "the next minutes: once I react with :eyes:, I have it."
)
"""For what Slack brings again."""
_SHOWN = 3


def refusal_line(why: RulingReason, admins: Collection[str]) -> str:
    """Say why nothing was done, and who can change that."""
    if why in {"unknown", "gone", "bot"}:
        return _LINES[why]
    named = [mention(admin) for admin in sorted(admins)[:_SHOWN]]
    who = " or ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    return f"{_LINES[why]} " + (f"Ask {who} if you need me." if who else "Ask whoever runs me if you need me.")
