"""The tool `open_ticket`: opens a ticket in the operator's place, once, after people have approved its text."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from handoff.text.visible_text import remove_invisible
from specialists.tools.messages.messages import NO_MESSENGER, describe_message_target
from specialists.tools.messenger import Addressee, DeliveryUnknown, Messenger
from specialists.tools.tickets.issue_tracker import IssueNotOpened, IssueTracker, defuse_body
from specialists.tools.tickets.ticket_desk import (
    CONTACT,
    NO_PLACE,
    TICKETS_SETTING,
    TicketPlace,
    is_reachable,
    read_ticket_place,
)
from specialists.tools.tool import OutgoingData, PreparedCall, Tool, ToolOutcome, Workbench
from specialists.tools.toolkit import Toolkit, ToolSettings

LONGEST_BODY = 6_000
"""Most characters of a ticket's body."""


class OpenTicketArguments(BaseModel):
    """Arguments of open_ticket. Models cannot choose `to`; `prepare` fills it in, for people to see."""

    to: SkipJsonSchema[str] = ""
    title: str = Field(min_length=1, max_length=200)
    body: str = Field(min_length=1, max_length=LONGEST_BODY)


def toolkit(settings: ToolSettings) -> Toolkit:
    """Make the ticket toolkit. Its `prove` checks the setting, and is None if `LEADHAND_TICKETS` is not set."""
    env = settings.env
    desk = read_ticket_place(env)

    async def prove() -> tuple[str, ...]:
        return (desk.fault,) if desk.fault else ()

    return Toolkit(TICKETS_SETTING, tools(settings), prove=prove if env.get(TICKETS_SETTING) else None)


def tools(settings: ToolSettings) -> tuple[Tool, ...]:
    """Return the tool `open_ticket`."""
    desk = _TicketCalls(read_ticket_place(settings.env))

    async def open_ticket(arguments: OpenTicketArguments, workbench: Workbench, key: str) -> ToolOutcome:
        """Open a ticket for people to act on, once somebody has approved it.

        The body is Markdown: what happens, since when, whom it hits, what was found and tried, what is asked for.
        """
        return await desk.open_ticket(arguments, workbench, key)

    tool = Tool(
        "open_ticket",
        "write",
        OpenTicketArguments,
        open_ticket,
        key="marks",
        look_up=desk.look_up_ticket,
        what=lambda arguments: f"Open a ticket: {arguments.title}",
        target=lambda arguments: arguments.to,
        prepare=desk.prepare_ticket,
        sends=desk.describe_sent_data if desk.place.issues_url else None,
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
            texts["body"] = defuse_body(texts["body"])
            if len(texts["body"]) > LONGEST_BODY:
                return ToolOutcome(f"The body is too long; {LONGEST_BODY:,} characters are allowed.", failed=True)
            why = f"It leaves the workspace: whoever may read {self.place.path} at {self.place.host} can read it."
            return PreparedCall(arguments.model_copy(update={"to": self.place.display_name, **texts}), why=why)
        messenger, goes = await self._find_addressee(workbench)
        if messenger is None or isinstance(goes, str):
            return ToolOutcome(str(goes), failed=True)
        readers = await messenger.find_deciding_readers(goes)
        how = "becomes a row of the list of tickets there" if self.place.kind == "list" else "goes out as a message"
        ready = arguments.model_copy(update={"to": goes.name_with_id, **texts})
        return PreparedCall(ready, why=f"It {how}. {describe_message_target(goes, readers)}", readers=readers)

    async def open_ticket(self, arguments: OpenTicketArguments, workbench: Workbench, key: str) -> ToolOutcome:
        """Open the ticket. Raises IssueOutcomeUnknown and DeliveryUnknown if it is unknown whether it was opened."""
        if not self.place.issues_url:
            return await self._send_as_message(arguments, workbench, key)
        try:
            address = await IssueTracker(self.place).open_issue(arguments.title, arguments.body, key)
        except IssueNotOpened as error:
            return ToolOutcome(f"No ticket was opened: {error}.", failed=True)
        return _report_opened(address)

    async def look_up_ticket(
        self, arguments: OpenTicketArguments, workbench: Workbench, key: str
    ) -> ToolOutcome | None:
        """Return the outcome of an earlier call with this key; None if it certainly opened no ticket.

        Raises IssueOutcomeUnknown and DeliveryUnknown.
        """
        if self.place.issues_url:
            address = await IssueTracker(self.place).find_issue(key)
            return None if address is None else _report_opened(address)
        messenger, goes = await self._find_addressee(workbench)
        if messenger is None or isinstance(goes, str):
            raise DeliveryUnknown(str(goes))
        rows = self.place.kind == "list"
        found = await (messenger.look_up_row(goes, key=key) if rows else messenger.look_up_message(goes, key=key))
        return None if found is None else _report_sending(found.id, found.fault, arguments)

    def describe_sent_data(self, _arguments: OpenTicketArguments) -> OutgoingData:
        """Return the host that a call sends data to; all that it sends is in its arguments."""
        return OutgoingData(self.place.host, "", in_arguments=True)

    async def _send_as_message(self, arguments: OpenTicketArguments, workbench: Workbench, key: str) -> ToolOutcome:
        messenger, goes = await self._find_addressee(workbench)
        if messenger is None or isinstance(goes, str):
            return ToolOutcome(str(goes), failed=True)
        if self.place.kind == "list":
            sent = await messenger.add_row(goes, arguments.title, arguments.body, key=key)
        else:
            sent = await messenger.send(goes, f"**{arguments.title}**\n\n{arguments.body}", key=key)
        return _report_sending(sent.id, sent.fault, arguments)

    async def _find_addressee(self, workbench: Workbench) -> tuple[Messenger | None, Addressee | str]:
        messenger = workbench.messenger
        if messenger is None:
            return None, NO_MESSENGER
        if self.place.path == CONTACT and not is_reachable(messenger.contact):
            return messenger, f"{NO_PLACE}."
        to = messenger.contact if self.place.path == CONTACT else self.place.path
        goes = await messenger.find_addressee(to)
        if self.place.kind == "list" and not isinstance(goes, str) and goes.kind != "channel":
            goes = (
                f"A list of tickets needs a channel, and {goes.name} is none; whoever runs the bot corrects "
                f"{TICKETS_SETTING}."
            )
        return messenger, goes


def _report_opened(address: str) -> ToolOutcome:
    return ToolOutcome(f"The ticket is open: {address}.", sources=(address,) if "://" in address else ())


def _report_sending(message_id: str, fault: str, arguments: OpenTicketArguments) -> ToolOutcome:
    if not message_id:
        return ToolOutcome(f"The ticket was not sent: {fault}.", failed=True)
    return ToolOutcome(f"The ticket was sent to {arguments.to}.")
