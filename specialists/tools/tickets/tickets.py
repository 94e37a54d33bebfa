"""The tool `open_ticket`: opens a ticket in the operator's place, once, after people have approved its text."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from handoff.text.visible_text import visible
from specialists.tools.messages.messages import NO_MESSENGER, describe_message_target
from specialists.tools.messenger import Addressee, DeliveryUnknown, Messenger
from specialists.tools.tickets.issue_tracker import IssueTracker, NotOpened, defuse_body
from specialists.tools.tickets.ticket_desk import CONTACT, NAME, NOWHERE, TicketDesk, desk_of, is_reachable
from specialists.tools.tool import OutgoingData, PreparedCall, Tool, ToolOutcome, Workbench
from specialists.tools.toolkit import Toolkit, ToolSettings

LONGEST = 6_000
"""Most characters of a ticket's body."""


class OpenTicketArguments(BaseModel):
    """Arguments of open_ticket. Models cannot choose `to`; `prepare` fills it in, for people to see."""

    to: SkipJsonSchema[str] = ""
    title: str = Field(min_length=1, max_length=200)
    body: str = Field(min_length=1, max_length=LONGEST)


def toolkit(settings: ToolSettings) -> Toolkit:
    """Make the ticket toolkit. Its `prove` checks the setting, and is None if `LEADHAND_TICKETS` is not set."""
    env = settings.env
    desk = desk_of(env)

    async def prove() -> tuple[str, ...]:
        return (desk.fault,) if desk.fault else ()

    return Toolkit(NAME, tools(settings), prove=prove if env.get(NAME) else None)


def tools(settings: ToolSettings) -> tuple[Tool, ...]:
    """Return the tool `open_ticket`."""
    desk = _TicketCalls(desk_of(settings.env))

    async def open_ticket(arguments: OpenTicketArguments, workbench: Workbench, key: str) -> ToolOutcome:
        """Open a ticket for people to act on, once somebody has approved it.

        The body is Markdown: what happens, since when, whom it hits, what was found and tried, what is asked for.
        """
        return await desk.open(arguments, workbench, key)

    tool = Tool(
        "open_ticket",
        "write",
        OpenTicketArguments,
        open_ticket,
        key="marks",
        look_up=desk.look_up,
        what=lambda arguments: f"Open a ticket: {arguments.title}",
        target=lambda arguments: arguments.to,
        prepare=desk.prepare,
        sends=desk.sends if desk.place.issues else None,
    )
    return (tool,)


@dataclass(frozen=True, slots=True)
class _TicketCalls:
    place: TicketDesk

    async def prepare(self, arguments: OpenTicketArguments, workbench: Workbench) -> PreparedCall | ToolOutcome:
        """Check the texts, and describe for people where the ticket goes and who can read it."""
        if self.place.fault:
            return ToolOutcome(self.place.fault, failed=True)
        texts = {"title": " ".join(visible(arguments.title).split()), "body": visible(arguments.body).strip()}
        if not all(texts.values()):
            return ToolOutcome("The title or the body is empty; give both.", failed=True)
        if self.place.issues:
            texts["body"] = defuse_body(texts["body"])
            if len(texts["body"]) > LONGEST:
                return ToolOutcome(f"The body is too long; {LONGEST:,} characters are allowed.", failed=True)
            why = f"It leaves the workspace: whoever may read {self.place.path} at {self.place.host} can read it."
            return PreparedCall(arguments.model_copy(update={"to": self.place.display_name, **texts}), why=why)
        messenger, goes = await self._find_addressee(workbench)
        if messenger is None or isinstance(goes, str):
            return ToolOutcome(str(goes), failed=True)
        readers = await messenger.find_deciding_readers(goes)
        how = "becomes a row of the list of tickets there" if self.place.kind == "list" else "goes out as a message"
        ready = arguments.model_copy(update={"to": goes.name_with_id, **texts})
        return PreparedCall(ready, why=f"It {how}. {describe_message_target(goes, readers)}", readers=readers)

    async def open(self, arguments: OpenTicketArguments, workbench: Workbench, key: str) -> ToolOutcome:
        """Open the ticket. Raises CannotTell and DeliveryUnknown if it is unknown whether it was opened."""
        if not self.place.issues:
            return await self._send_as_message(arguments, workbench, key)
        try:
            address = await IssueTracker(self.place).open(arguments.title, arguments.body, key)
        except NotOpened as error:
            return ToolOutcome(f"No ticket was opened: {error}.", failed=True)
        return _report_open_ticket(address)

    async def look_up(self, arguments: OpenTicketArguments, workbench: Workbench, key: str) -> ToolOutcome | None:
        """Return the outcome of an earlier call with this key; None if it certainly opened no ticket.

        Raises CannotTell and DeliveryUnknown.
        """
        if self.place.issues:
            address = await IssueTracker(self.place).find(key)
            return None if address is None else _report_open_ticket(address)
        messenger, goes = await self._find_addressee(workbench)
        if messenger is None or isinstance(goes, str):
            raise DeliveryUnknown(str(goes))
        rows = self.place.kind == "list"
        found = await (messenger.look_up_row(goes, key=key) if rows else messenger.look_up(goes, key=key))
        return None if found is None else _report_sending(found.id, found.fault, arguments)

    def sends(self, _arguments: OpenTicketArguments) -> OutgoingData:
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
            return messenger, f"{NOWHERE}."
        to = messenger.contact if self.place.path == CONTACT else self.place.path
        goes = await messenger.find(to)
        if self.place.kind == "list" and not isinstance(goes, str) and goes.kind != "channel":
            goes = f"A list of tickets needs a channel, and {goes.name} is none; whoever runs the bot corrects {NAME}."
        return messenger, goes


def _report_open_ticket(address: str) -> ToolOutcome:
    return ToolOutcome(f"The ticket is open: {address}.", sources=(address,) if "://" in address else ())


def _report_sending(sent: str, fault: str, arguments: OpenTicketArguments) -> ToolOutcome:
    if not sent:
        return ToolOutcome(f"The ticket was not sent: {fault}.", failed=True)
    return ToolOutcome(f"The ticket was sent to {arguments.to}.")
