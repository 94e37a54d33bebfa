"""The tool `open_ticket`: opens a ticket in the operator's place, once, after people have approved its text."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from handoff.text.invisible_characters import remove_invisible
from specialists.tools.messages.message_tools import NO_MESSENGER_MESSAGE, describe_message_target
from specialists.tools.messenger import Addressee, DeliveryUnknown, Messenger
from specialists.tools.tickets.issue_tracker import IssueNotOpened, IssueTracker, sanitize_body
from specialists.tools.tickets.ticket_place import (
    CONTACT_KEYWORD,
    NO_PLACE_MESSAGE,
    TICKETS_SETTING,
    TicketPlace,
    is_addressable,
    read_ticket_place,
)
from specialists.tools.tool import OutgoingData, PreparedCall, Tool, ToolOutcome, Workbench
from specialists.tools.toolkit import Toolkit, ToolSettings

MAX_BODY_CHARS = 6_000
"""Most characters of a ticket's body."""


class OpenTicketArguments(BaseModel):
    """Arguments of open_ticket. Models cannot choose `to`; `prepare` fills it in, for people to see."""

    to: SkipJsonSchema[str] = ""
    title: str = Field(min_length=1, max_length=200)
    body: str = Field(min_length=1, max_length=MAX_BODY_CHARS)


def toolkit(settings: ToolSettings) -> Toolkit:
    """Make the ticket toolkit. Its `prove` checks the setting, and is None if `LEADHAND_TICKETS` is not set."""
    env = settings.env
    place = read_ticket_place(env)

    async def prove() -> tuple[str, ...]:
        return (place.fault,) if place.fault else ()

    return Toolkit(TICKETS_SETTING, tools(settings), prove=prove if env.get(TICKETS_SETTING) else None)


def tools(settings: ToolSettings) -> tuple[Tool, ...]:
    """Return the tool `open_ticket`."""
    calls = _TicketCalls(read_ticket_place(settings.env))

    async def open_ticket(arguments: OpenTicketArguments, workbench: Workbench, key: str) -> ToolOutcome:
        """Open a ticket for people to act on, once somebody has approved it.

        The body is Markdown: what happens, since when, whom it hits, what was found and tried, what is asked for.
        """
        return await calls.open_ticket(arguments, workbench, key)

    tool = Tool(
        "open_ticket",
        "write",
        OpenTicketArguments,
        open_ticket,
        key="marks",
        look_up=calls.look_up_ticket,
        what=lambda arguments: f"Open a ticket: {arguments.title}",
        target=lambda arguments: arguments.to,
        prepare=calls.prepare_ticket,
        sends=calls.describe_sent_data if calls.place.issues_url else None,
    )
    return (tool,)


@dataclass(frozen=True, slots=True)
class _TicketCalls:
    place: TicketPlace

    async def prepare_ticket(self, arguments: OpenTicketArguments, workbench: Workbench) -> PreparedCall | ToolOutcome:
        """Check the texts, and describe for people where the ticket goes and who can read it."""
        if self.place.fault:
            return ToolOutcome(self.place.fault, failed=True)
        texts = {
            "title": " ".join(remove_invisible(arguments.title).split()),
            "body": remove_invisible(arguments.body).strip(),
        }
        if not all(texts.values()):
            return ToolOutcome("The title or the body is empty; give both.", failed=True)
        if self.place.issues_url:
            texts["body"] = sanitize_body(texts["body"])
            if len(texts["body"]) > MAX_BODY_CHARS:
                return ToolOutcome(f"The body is too long; {MAX_BODY_CHARS:,} characters are allowed.", failed=True)
            why = f"It leaves the workspace: whoever may read {self.place.path} at {self.place.host} can read it."
            return PreparedCall(arguments.model_copy(update={"to": self.place.display_name, **texts}), why=why)
        messenger, addressee = await self._find_addressee(workbench)
        if messenger is None or isinstance(addressee, str):
            return ToolOutcome(str(addressee), failed=True)
        readers = await messenger.find_deciding_readers(addressee)
        route = "becomes a row of the list of tickets there" if self.place.kind == "list" else "goes out as a message"
        ready = arguments.model_copy(update={"to": addressee.name_with_id, **texts})
        return PreparedCall(ready, why=f"It {route}. {describe_message_target(addressee, readers)}", readers=readers)

    async def open_ticket(self, arguments: OpenTicketArguments, workbench: Workbench, key: str) -> ToolOutcome:
        """Open the ticket. Raises IssueOutcomeUnknown and DeliveryUnknown if it is unknown whether it was opened."""
        if not self.place.issues_url:
            return await self._send_to_slack(arguments, workbench, key)
        try:
            address = await IssueTracker(self.place).open_issue(arguments.title, arguments.body, key)
        except IssueNotOpened as error:
            return ToolOutcome(f"No ticket was opened: {error}.", failed=True)
        return _report_open_ticket(address)

    async def look_up_ticket(
        self, arguments: OpenTicketArguments, workbench: Workbench, key: str
    ) -> ToolOutcome | None:
        """Return the outcome of an earlier call with this key; None if it certainly opened no ticket.

        Raises IssueOutcomeUnknown and DeliveryUnknown.
        """
        if self.place.issues_url:
            address = await IssueTracker(self.place).find_issue(key)
            return None if address is None else _report_open_ticket(address)
        messenger, addressee = await self._find_addressee(workbench)
        if messenger is None or isinstance(addressee, str):
            raise DeliveryUnknown(str(addressee))
        is_list = self.place.kind == "list"
        delivery = await (
            messenger.look_up_row(addressee, key=key) if is_list else messenger.look_up_message(addressee, key=key)
        )
        return None if delivery is None else _report_sending(delivery.id, delivery.fault, arguments)

    def describe_sent_data(self, _arguments: OpenTicketArguments) -> OutgoingData:
        """Return the host that a call sends data to; all that it sends is in its arguments."""
        return OutgoingData(self.place.host, "", in_arguments=True)

    async def _send_to_slack(self, arguments: OpenTicketArguments, workbench: Workbench, key: str) -> ToolOutcome:
        messenger, addressee = await self._find_addressee(workbench)
        if messenger is None or isinstance(addressee, str):
            return ToolOutcome(str(addressee), failed=True)
        if self.place.kind == "list":
            delivery = await messenger.add_row(addressee, arguments.title, arguments.body, key=key)
        else:
            delivery = await messenger.send(addressee, f"**{arguments.title}**\n\n{arguments.body}", key=key)
        return _report_sending(delivery.id, delivery.fault, arguments)

    async def _find_addressee(self, workbench: Workbench) -> tuple[Messenger | None, Addressee | str]:
        messenger = workbench.messenger
        if messenger is None:
            return None, NO_MESSENGER_MESSAGE
        if self.place.path == CONTACT_KEYWORD and not is_addressable(messenger.contact):
            return messenger, f"{NO_PLACE_MESSAGE}."
        to = messenger.contact if self.place.path == CONTACT_KEYWORD else self.place.path
        addressee = await messenger.find_addressee(to)
        if self.place.kind == "list" and not isinstance(addressee, str) and addressee.kind != "channel":
            addressee = (
                f"A list of tickets needs a channel, and {addressee.name} is none; whoever runs the bot corrects "
                f"{TICKETS_SETTING}."
            )
        return messenger, addressee


def _report_open_ticket(address: str) -> ToolOutcome:
    return ToolOutcome(f"The ticket is open: {address}.", sources=(address,) if "://" in address else ())


def _report_sending(message_id: str, fault: str, arguments: OpenTicketArguments) -> ToolOutcome:
    if not message_id:
        return ToolOutcome(f"The ticket was not sent: {fault}.", failed=True)
    return ToolOutcome(f"The ticket was sent to {arguments.to}.")
