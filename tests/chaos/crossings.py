"""What crossed from one team to another: in requests to Slack and to models, in the store, and on people's screens.

A word of each team is in all that its people say, make and are called. So a word that stands where another team's
token, key or screen is has crossed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from bot.store.redis.redis_store import Store
from handoff.contracts import Place
from tests.chaos.tap import SlackRequest
from tests.chaos.teams import Team, find_words
from tests.providers.wire import WireRequest
from tests.store.kit import read_entries

LEARNS = 20.0
"""Seconds within which every instance knows that the app was taken out of a team, though it was frozen meanwhile."""
PROOFS = frozenset({"auth.test"})
"""What a bot may ask with a token that is void: if it is."""
SECRETS = ("xoxb-", "xoxe", "xapp-")
"""What a token begins with."""


class Crossings:
    """Hears all requests. `wrong` says what must not be, once for each kind of it."""

    def __init__(self, teams: Sequence[Team]) -> None:
        self.request_counts: Counter[str] = Counter()
        """Requests to Slack by the id of the team whose token they had."""
        self.refusal_counts: Counter[str] = Counter()
        """Requests with a token that was void, by their method."""
        self.refresh_count = 0
        self.unanswered_tokens: set[str] = set()
        """Refresh tokens whose new tokens were lost on their way."""
        self._teams = {team.id: team for team in teams}
        self._owners: dict[str, str] = {}
        """By token: the team that it was issued for, or the organisation."""
        self._wrong: Counter[str] = Counter()

    @property
    def wrong(self) -> list[str]:
        """What must not be."""
        return [f"{text} ({count} times)" if count > 1 else text for text, count in self._wrong.items()]

    def note(self, text: str) -> None:
        """Note something that must not be."""
        self._wrong[text] += 1

    def hear(self, heard: SlackRequest) -> None:
        """Judge a request to Slack."""
        if heard.method == "oauth.v2.access":
            self._learn(heard)
            return
        team = self._team_of(heard)
        if team is None:
            return
        self.request_counts[team.id] += 1
        for word in find_words(heard.text, list(self._teams.values())) - {team.word}:
            self.note(f"{heard.method} with the token of {team.name} holds the word {word}")
        if heard.answer.get("ok") is False and heard.answer.get("error") in {"account_inactive", "token_revoked"}:
            self.refusal_counts[heard.method] += 1
            if heard.method not in PROOFS and team.away_for() > LEARNS:
                self.note(f"{heard.method} was sent with the token of {team.name} {LEARNS:g} s after it was void")

    def hear_model(self, request: WireRequest) -> None:
        """Judge a request to a model."""
        words = find_words(str(request.body), list(self._teams.values()))
        if len(words) > 1:
            self.note(f"a model is told the words {', '.join(sorted(words))} at once")
        for team in self._teams.values():
            if team.word in words and team.away_for() > LEARNS:
                self.note(f"a job of {team.name} calls a model {LEARNS:g} s after the app was taken out")

    def _learn(self, heard: SlackRequest) -> None:
        """Remember whose the tokens are that Slack gives out."""
        token, answer = heard.answer.get("access_token"), heard.answer
        refresh = str(heard.args.get("refresh_token", ""))
        (self.unanswered_tokens.discard if token or not refresh else self.unanswered_tokens.add)(refresh)
        if token:
            self.refresh_count += heard.args.get("grant_type") == "refresh_token"
            self._owners[token] = (answer.get("team") or answer["enterprise"])["id"]

    def _team_of(self, heard: SlackRequest) -> Team | None:
        """Whose token a request has; of an organisation's, which team it names. Without one, at whose address it is."""
        if not heard.token:
            return self._teams[heard.at] if heard.method.startswith(("/upload/", "/response/")) else None
        owner, at = self._owners.get(heard.token, ""), self._teams[heard.at]
        if heard.method.startswith("/"):  # a file, which is at the address of its team
            if owner not in {at.id, at.workspace.identity.enterprise_id}:
                self.note(f"a file of {at.name} is asked for with the token of another")
            return at
        if owner in self._teams:
            return self._teams[owner]
        if not owner:
            self.note(f"{heard.method} has a token that nobody was given")
            return None
        # Some calls name no team, and Slack knows it by the channel.
        workspaces = [team.workspace for team in self._teams.values()]
        named = str(heard.args.get("team_id", "")) or workspaces[0].oauth.find_team(heard.token, heard.args)
        if named not in self._teams:
            return None
        team = self._teams[named]
        if team.workspace.identity.enterprise_id != owner:
            self.note(f"{heard.method} has the token of {owner} and names {team.name}")
        return team


# ------------------------------------------------------------------------------ at the end


async def in_store(store: Store, teams: Sequence[Team]) -> list[str]:
    """What crossed in the store: every entry of every key is of one team at most, by name and by content."""
    wrong: Counter[str] = Counter()
    server, held = store._server, Counter[str]()
    for name in await server.run_command("KEYS", f"{store._keys.prefix}:*"):
        for entry, content in await read_entries(store, name):
            text = content.decode("utf-8", "replace")
            place = f"{name.decode()} {entry}"
            named = {team.id for team in teams if team.id in place}
            told = {team.id for team in teams if team.id in text or team.word in text.casefold()}
            words = {team.id for team in teams if team.word in text.casefold()}
            held.update(words)
            if len(named | told) > 1:
                wrong[f"the key {_short(name)} holds what is of {len(named | told)} teams"] += 1
            if words and not named and not any(team in text for team in words):
                wrong[f"the key {_short(name)} holds words of a team that it does not name"] += 1
            if any(secret in text for secret in SECRETS):
                wrong[f"the key {_short(name)} holds a token"] += 1
    missing = [team.name for team in teams if not held[team.id]]
    return [*wrong, *(f"nothing of {name} is in the store" for name in missing)]


def _short(name: bytes) -> str:
    """A key without the numbers of its jobs: one fault is told once."""
    text = name.decode("utf-8", "replace")
    return text if len(text) < 60 else f"{text[:24]}...{text[-20:]}"


def on_screens(teams: Sequence[Team]) -> Iterator[str]:
    """What people of a team can see of another: messages, what only one of them sees, homes and files."""
    for team in teams:
        world = team.workspace._world
        shown = [each.as_shown() for place in world.state.channels.values() for each in place.messages.values()]
        alone = [each.as_shown() for some in world.messages.ephemerals.values() for each in some.values()]
        seen = repr([shown, alone, world.views.homes, world.state.files, list(world.state.record._files.values())])
        for word in find_words(seen, teams) - {team.word}:
            yield f"the people of {team.name} can see the word {word}"


async def in_lists(store: Store, teams: Sequence[Team]) -> list[str]:
    """Jobs that stand in a person's list and are of no thread of their team."""
    wrong, listed = [], 0
    for team in teams:
        own = {Place(team=team.id, channel=channel, thread_ts=ts).job_id for channel, ts in team.threads}
        for person in team.workspace._world.state.people:
            heads = await store.jobs.read_heads_asked_by(team.id, person.id, limit=1000)
            listed += len(heads)
            wrong += [
                f"{person.name} of {team.name} has the job {head.key.team}/{head.key.job} in the list"
                for head in heads
                if head.key.team != team.id or head.key.job not in own
            ]
    return wrong if listed else ["nobody has a job in the list"]


def in_logs(folder: Path) -> Iterator[str]:
    """Tokens in what the instances log."""
    for log in folder.glob("instance-*.log"):
        text = log.read_text(errors="replace")
        for secret in SECRETS:
            if secret in text:
                yield f"{log.name} holds a token"
