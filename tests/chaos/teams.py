"""The teams of a run: one workspace whose token the bots have, or several that install the app.

Several are an organisation with three workspaces and two beside it. On purpose they have the same people, and three of
them the same channels, by their ids. What they do not share is a word of each: it is in all that its people ask,
attach and are called, and in the name of a channel.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import yaml

from bot.app import find_manifest
from bot.command_line.app_manifest import make_manifest
from bot.workspace.workspace_server import Workspace
from tests.chaos.watch import Witness

RETRY_SCALE = 0.05
"""An event that was not acknowledged comes again at once, after 3 s and after 15 s."""
WORDS = ("quorvex", "zelmint", "bryxol", "dwopple", "fnarble")
"""A word of each team, which nobody says by chance."""
ORGANISATION = "Acme"
BESIDE = ("North", "South")
"""The two that are in no organisation. The last is the one that takes the app out and installs it again."""
TOKEN_SECONDS = 7_200 + 20
"""How long a token lasts: it is refreshed two hours before its end."""
GRACE_SECONDS = 30.0
"""For how long a refresh token that was used works again."""


@dataclass(eq=False)
class Team:
    """A workspace of the run. Without several its word is empty."""

    workspace: Workspace
    word: str = ""
    threads: set[tuple[str, str]] = field(default_factory=set)
    """Where somebody asked for something: the channel and the ts of each message."""
    removal_times: list[float] = field(default_factory=list)
    """When the app was taken out, in seconds since the epoch."""
    back: list[float] = field(default_factory=list)
    """When people were told that it is there again."""

    def __post_init__(self) -> None:
        """Put a witness between the workspace and the app."""
        world = self.workspace._world
        self.witness = Witness(world.delivery._transport, lambda: self.is_installed)
        world.delivery._transport = world.interactivity._transport = self.witness

    @property
    def id(self) -> str:
        """Slack's id of it."""
        return self.workspace.team_id

    @property
    def name(self) -> str:
        """What people call it."""
        return self.workspace.identity.team_name

    @property
    def is_installed(self) -> bool:
        """Whether the app is installed, as far as people know."""
        return bool(self.workspace._world.state.install_scope) and len(self.removal_times) == len(self.back)

    def away_for(self) -> float:
        """Seconds since the app was taken out; 0 while Slack takes its tokens."""
        return (
            0.0
            if self.workspace._world.state.install_scope or not self.removal_times
            else time.time() - self.removal_times[-1]
        )


async def open_one(stack: AsyncExitStack) -> list[Team]:
    """The one team of a usual run."""
    workspace = await Workspace.start(find_manifest(), rate_limits=False, retry_scale=RETRY_SCALE)
    stack.push_async_callback(workspace.stop)
    return [Team(workspace)]


async def open_several(stack: AsyncExitStack, folder: Path, port: int) -> list[Team]:
    """The several teams, whose app listens on a port. It is installed nowhere yet."""
    app = make_manifest("https://bot.example.com")
    app["settings"] |= {"token_rotation_enabled": True, "org_deploy_enabled": True}
    manifest = folder / "app.yml"
    manifest.write_text(yaml.safe_dump(app))
    first = await Workspace.start(
        manifest,
        request_url=f"http://127.0.0.1:{port}/slack/events",
        rate_limits=False,
        retry_scale=RETRY_SCALE,
        is_installed=False,
        organisation=ORGANISATION,
    )
    stack.push_async_callback(first.stop)
    first.oauth.token_seconds, first.oauth.grace_seconds = TOKEN_SECONDS, GRACE_SECONDS
    found = [first]
    for name in ("Second", "Third", *BESIDE):
        beside = await first.start_further_workspace(
            name, rate_limits=False, retry_scale=RETRY_SCALE, in_organisation=name not in BESIDE
        )
        stack.push_async_callback(beside.stop)
        found.append(beside)
    teams = [Team(workspace, word) for workspace, word in zip(found, WORDS, strict=True)]
    for team in teams:
        _mark(team)
    return teams


def find_words(text: str, teams: Sequence[Team]) -> set[str]:
    """The words of teams that stand in a text."""
    lowered = text.casefold()
    return {team.word for team in teams if team.word in lowered}


def _mark(team: Team) -> None:
    """Put the team's word into the names of its people and of a channel."""
    state = team.workspace._world.state
    for user in state.people:
        state.users[user.id] = state.by_name[user.name] = replace(user, real_name=f"{user.real_name} {team.word}")
    sales = state.channels[state.channel_ids["sales"]]
    sales.name, sales.topic = f"sales-{team.word}", f"What {team.word} sells"
    state.save_channel(sales)
