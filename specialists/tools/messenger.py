"""The interface through which tools reach people outside of their job's thread; the bot's Slack code implements it.

A messenger is made for one attempt and belongs to its workbench, as tools exist before any connection does. Without
Slack (in an evaluation, or for a question on the command line) there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Addressee:
    """A channel that the bot is in, or a person, found by name.

    Attributes:
        id: Slack's id.
        name: The name as people know it: `#ops` or `Ana Silva`.
        kind: Whether it is a channel or a person.
        audience: Who would read a message there, in words for people.
        is_private: True if not everybody in the workspace may read there.
        is_shared: True if people of another organisation read there.
    """

    id: str
    name: str
    kind: Literal["channel", "person"]
    audience: str = ""
    is_private: bool = True
    is_shared: bool = False

    @property
    def name_with_id(self) -> str:
        """The name with the id, `#ops (C0123)`; the id still finds the channel or person after a renaming."""
        return f"{self.name} ({self.id})"


@dataclass(frozen=True, slots=True)
class CommonReaders:
    """Those who may read both the place that words come from and the place that they would go to.

    Attributes:
        people: Their Slack ids; one of them has to approve.
        requester: The Slack id of the person who made the request.
        admins: The Slack ids of those among `people` who are admins.
        source_name: The name of the place that the words come from.
        target_name: The name of the place that they would go to.
    """

    people: frozenset[str]
    requester: str
    admins: frozenset[str]
    source_name: str
    target_name: str


@dataclass(frozen=True, slots=True)
class MessageDelivery:
    """The delivery of a message.

    Attributes:
        id: Slack's id of the message; "" if it was certainly not sent.
        fault: Why it was not sent.
        address: The link to the message; "" if it has none.
    """

    id: str
    fault: str = ""
    address: str = ""


class DeliveryUnknown(Exception):
    """It is unknown whether a message was sent. The text of this error is for people."""


class Messenger(Protocol):
    """Reaches other channels and people, in the name of one job.

    All methods raise WorkbenchLost if another instance owns the job or the store is unavailable; tools do not catch it.
    """

    @property
    def contact(self) -> str:
        """The channel or person that the crew's file names for help, by name or id; "" if it names none."""

    async def find_addressee(self, to: str) -> Addressee | str:
        """Find a channel or a person by name or id. Return a text for the model if there is none."""

    async def find_deciding_readers(self, addressee: Addressee) -> CommonReaders | None:
        """Return the people who may allow the job's words to go there; None if nobody has to allow it."""

    async def send(self, to: Addressee, text: str, *, key: str, draft: bool = False) -> MessageDelivery:
        """Post Markdown once, in the job's name. A `draft` goes to the requester alone, for them to send.

        Raises DeliveryUnknown.
        """

    async def add_row(self, to: Addressee, title: str, body: str, *, key: str) -> MessageDelivery:
        """Add a row to the list that the bot keeps for a channel, once. Raises DeliveryUnknown."""

    async def look_up_row(self, to: Addressee, *, key: str) -> MessageDelivery | None:
        """Return the row that was added with a key; None if there certainly is none. Raises DeliveryUnknown."""

    async def look_up_message(self, to: Addressee, *, key: str, draft: bool = False) -> MessageDelivery | None:
        """Return the message with a key; None if it certainly is not and will not be sent. Raises DeliveryUnknown."""
