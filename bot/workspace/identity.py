"""Ids, tokens and names in the workspace: of the app, its bot, the people, and another app's bot."""

import secrets
import string
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

ID_ALPHABET = string.ascii_uppercase + string.digits
Standing = Literal["member", "guest", "channel_guest", "stranger"]
"""How a person belongs to the workspace: `channel_guest` is a guest of one channel, `stranger` a person of another
workspace who is here through Slack Connect."""
PEOPLE: tuple[tuple[str, str, str, Standing], ...] = (
    ("ana", "Ana Duarte", "#2f80a8", "member"),
    ("ben", "Ben Okafor", "#b5651d", "member"),
    ("cleo", "Cleo Marsh", "#5b8c3a", "member"),
    ("gus", "Gus Lindqvist", "#8a6d1f", "guest"),
    ("uma", "Uma Reyes", "#7a5c99", "channel_guest"),
    ("sol", "Sol Tanaka", "#a33d5e", "stranger"),
)
"""The people: name, real name, colour on the page, and standing."""
OTHER_BOT = ("buildbot", "Build Bot", "#555d66")
USER_GROUPS = (("reviewers", "Reviewers", ("ben", "cleo")),)
"""The user groups at the start: handle, name, and who is in it."""


def make_id(prefix: str) -> str:
    """Return a new id in Slack's shape: the prefix, a zero, and nine random letters and digits."""
    return prefix + "0" + "".join(secrets.choice(ID_ALPHABET) for _ in range(9))


@dataclass(frozen=True)
class User:
    """A person or a bot. `team` is the workspace they belong to, which for a stranger is another one.

    `bot_id` and `app_id` are those of a bot; a person has none.
    """

    id: str
    name: str
    real_name: str
    color: str
    team: str
    standing: Standing = "member"
    is_deleted: bool = False
    bot_id: str = ""
    app_id: str = ""

    @property
    def is_bot(self) -> bool:
        """True for the bot of an app."""
        return bool(self.bot_id)


@dataclass
class UserGroup:
    """A user group, which people mention by its handle. `users` are user ids."""

    id: str
    handle: str
    name: str
    users: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that are stored in the record."""
        return {"handle": self.handle, "name": self.name, "users": self.users}


@dataclass(frozen=True)
class Identity:
    """The ids, names and tokens of a workspace and an app, which stay the same over restarts."""

    team_id: str = field(default_factory=lambda: make_id("T"))
    app_id: str = field(default_factory=lambda: make_id("A"))
    bot_id: str = field(default_factory=lambda: make_id("B"))
    bot_user_id: str = field(default_factory=lambda: make_id("U"))
    bot_token: str = field(default_factory=lambda: f"xoxb-local-{secrets.token_hex(16)}")
    app_token: str = field(default_factory=lambda: f"xapp-1-local-{secrets.token_hex(16)}")
    signing_secret: str = field(default_factory=lambda: secrets.token_hex(16))
    verification_token: str = field(default_factory=lambda: secrets.token_hex(12))
    page_token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    people: dict[str, str] = field(default_factory=dict)
    team_name: str = "Local workspace"
    team_domain: str = "local"
    other_team_id: str = field(default_factory=lambda: make_id("T"))
    other_team_name: str = "Northwind"
    other_bot_id: str = field(default_factory=lambda: make_id("B"))
    other_bot_user_id: str = field(default_factory=lambda: make_id("U"))
    other_app_id: str = field(default_factory=lambda: make_id("A"))
    client_id: str = field(default_factory=lambda: f"{secrets.randbelow(10**12)}.{secrets.randbelow(10**12)}")
    client_secret: str = field(default_factory=lambda: secrets.token_hex(16))
    enterprise_id: str = ""
    enterprise_name: str = ""

    def __post_init__(self) -> None:
        """Add ids for people who have none: a record of an earlier release may lack some."""
        for name, *_ in PEOPLE:
            self.people.setdefault(name, make_id("U"))

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that are stored in the record."""
        return asdict(self)

    def make_further_workspace(self, name: str, *, in_organisation: bool) -> "Identity":
        """Return the identity of a further workspace of the same app.

        People keep their ids, as Slack's user ids are unique only within a workspace. The bot keeps its ids if both
        workspaces are in one organisation.
        """
        fresh = Identity()
        further = replace(
            self,
            team_id=fresh.team_id,
            team_name=name,
            team_domain=name.lower().replace(" ", "-"),
            page_token=fresh.page_token,
            bot_token=fresh.bot_token,
            people=dict(self.people),
        )
        if in_organisation and self.enterprise_id:
            return further
        return replace(
            further, bot_id=fresh.bot_id, bot_user_id=fresh.bot_user_id, enterprise_id="", enterprise_name=""
        )

    def make_further_app(self) -> "Identity":
        """Return the identity of a further app in the same workspace, with a bot, tokens and secrets of its own."""
        of_app = ("app_id", "bot_id", "bot_user_id", "bot_token", "app_token", "signing_secret", "verification_token")
        fresh, own = Identity(), (*of_app, "client_id", "client_secret")
        return replace(self, **{name: getattr(fresh, name) for name in own})

    def with_organisation(self, name: str) -> "Identity":
        """Return this identity as part of an organisation; unchanged if it is in one already."""
        return self if self.enterprise_id else replace(self, enterprise_id=make_id("E"), enterprise_name=name)

    def make_users(self, bot_name: str, app_name: str) -> list[User]:
        """Return the people, the app's bot, and the other app's bot."""
        people = [
            User(
                self.people[name],
                name,
                real,
                color,
                self.other_team_id if standing == "stranger" else self.team_id,
                standing=standing,
            )
            for name, real, color, standing in PEOPLE
        ]
        bots = (
            (self.bot_user_id, bot_name, app_name, "#4a3f8f", self.bot_id, self.app_id),
            (self.other_bot_user_id, *OTHER_BOT, self.other_bot_id, self.other_app_id),
        )
        return people + [
            User(user_id, name, real, color, self.team_id, bot_id=bot_id, app_id=app_id)
            for user_id, name, real, color, bot_id, app_id in bots
        ]
