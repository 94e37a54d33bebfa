"""Who is who in the workspace: ids, tokens, the bot and the three people."""

import secrets
import string
from dataclasses import asdict, dataclass, field
from typing import Any

ALPHABET = string.ascii_uppercase + string.digits
PEOPLE = (("ana", "Ana Duarte", "#2f80a8"), ("ben", "Ben Okafor", "#b5651d"), ("cleo", "Cleo Marsh", "#5b8c3a"))


def new_id(prefix: str) -> str:
    """Return an id in Slack's shape: a letter or two, then ten letters and digits."""
    return prefix + "".join(secrets.choice(ALPHABET) for _ in range(10))


@dataclass(frozen=True)
class User:
    """A person or the bot."""

    id: str
    name: str
    real_name: str
    color: str
    is_bot: bool = False


@dataclass(frozen=True)
class Identity:
    """Everything that stays the same over restarts, tokens included."""

    team_id: str = field(default_factory=lambda: new_id("T"))
    app_id: str = field(default_factory=lambda: new_id("A"))
    bot_id: str = field(default_factory=lambda: new_id("B"))
    bot_user_id: str = field(default_factory=lambda: new_id("U"))
    bot_token: str = field(default_factory=lambda: f"xoxb-local-{secrets.token_hex(16)}")
    app_token: str = field(default_factory=lambda: f"xapp-1-local-{secrets.token_hex(16)}")
    signing_secret: str = field(default_factory=lambda: secrets.token_hex(16))
    verification_token: str = field(default_factory=lambda: secrets.token_hex(12))
    page_token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    people: dict[str, str] = field(default_factory=lambda: {name: new_id("U") for name, _, _ in PEOPLE})
    team_name: str = "Local workspace"
    team_domain: str = "local"

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for the record."""
        return asdict(self)

    def users(self, bot_name: str, app_name: str) -> list[User]:
        """Return the people and the bot."""
        people = [User(self.people[name], name, real, color) for name, real, color in PEOPLE]
        return [*people, User(self.bot_user_id, bot_name, app_name, "#4a3f8f", is_bot=True)]
