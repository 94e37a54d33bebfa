"""What the page's inspector asks for: POST /local/traffic, /local/traffic_entry and /local/resend."""

from typing import Any

from bot.workspace.person import Person
from bot.workspace.refusal import ActionFailed
from bot.workspace.traffic import TrafficEntry
from bot.workspace.world import World

Body = dict[str, Any]


class Inspector:
    """Answers the inspector, whoever the page acts as."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def list_entries(self, _person: Person, _body: Body) -> Body:
        """Return every entry in short, oldest first."""
        return {"entries": [entry.summary() for entry in self._world.traffic.entries()]}

    async def show_entry(self, _person: Person, body: Body) -> Body:
        """Return one entry with its payload and answer."""
        return {"entry": self._find(body).whole()}

    async def resend(self, _person: Person, body: Body) -> Body:
        """Send an event again: as a new one, or with `retry` as Slack sends one that was not acknowledged."""
        entry = self._find(body)
        if entry.kind != "event" or entry.state == "unsent":
            raise ActionFailed("Only events that were sent can be sent again.")
        self._world.find_app(entry.app).delivery.send_again(
            entry.name, entry.whole()["payload"], as_retry=bool(body.get("retry"))
        )
        return {}

    def _find(self, body: Body) -> TrafficEntry:
        entry = self._world.traffic.find(int(body["id"]))
        if entry is None:
            raise ActionFailed("That entry is no longer remembered.")
        return entry
