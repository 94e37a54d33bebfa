"""The port through which tools reach people outside of their job's thread. Only the bot's Slack side stands behind it.

It is made for one attempt and lies on its workbench, as tools are there before any connection is. Where nobody is
connected (an evaluation, a question on the command line) there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Addressee:
    """A channel that the bot is in, or a person: what a name was resolved to.

    `id` is Slack's. `name` is as people know it, `#ops` or `Ana Silva`. `about` says who would read a message there;
    `private`: not everybody in the workspace may. `shared`: people of another organisation do.
    """

    id: str
    name: str
    kind: Literal["channel", "person"]
    about: str = ""
    private: bool = True
    shared: bool = False

    @property
    def name_with_id(self) -> str:
        """Name it so that it is found again whatever it is called by then: `#ops (C0123)`."""
        return f"{self.name} ({self.id})"


@dataclass(frozen=True, slots=True)
class Readers:
    """Those who may read both the place that something comes from and the one that it would go to.

    One of these `people` (Slack ids) has to approve it. `admins` are those among them who are admins. `came` and
    `goes` name the places.
    """

    people: frozenset[str]
    requester: str
    admins: frozenset[str]
    came: str
    goes: str


@dataclass(frozen=True, slots=True)
class MessageDelivery:
    """The Slack `id` of a message that went out; empty if it certainly never did, then `fault` says why.

    `address` is the link to the message, if it has one.
    """

    id: str
    fault: str = ""
    address: str = ""


class DeliveryUnknown(Exception):
    """Nobody can tell whether a message went out. The text is fit for people."""


class Messenger(Protocol):
    """The way to other channels and people, in the name of one job.

    All methods raise WorkbenchLost while the job is in other hands or the store is away; a tool lets that pass.
    """

    @property
    def contact(self) -> str:
        """Whom the crew sends people to where nothing works: a name or an id, as in its file; empty: nobody."""

    async def find(self, to: str) -> Addressee | str:
        """Resolve a channel or a person, by name or id; a text says why there is none, fit for a model."""

    async def find_deciding_readers(self, goes: Addressee) -> Readers | None:
        """Say who may allow what was said in the job to go there; None if nobody has to allow it."""

    async def send(self, to: Addressee, text: str, *, key: str, draft: bool = False) -> MessageDelivery:
        """Post Markdown once, in the job's name. A `draft` goes to the requester alone, for them to send.

        Raises DeliveryUnknown.
        """

    async def add_row(self, to: Addressee, title: str, body: str, *, key: str) -> MessageDelivery:
        """Add a row to the list that the bot keeps for a channel, once. Raises DeliveryUnknown."""

    async def look_up_row(self, to: Addressee, *, key: str) -> MessageDelivery | None:
        """Find the row that was added with a key; None: there certainly is none. Raises DeliveryUnknown."""

    async def look_up(self, to: Addressee, *, key: str, draft: bool = False) -> MessageDelivery | None:
        """Find what was sent with a key; None: it certainly was not, and no longer will be. Raises DeliveryUnknown."""
