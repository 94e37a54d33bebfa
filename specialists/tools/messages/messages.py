"""The tool `send_message`: posts to another channel or person, once, after people have approved the text."""

from __future__ import annotations

from pydantic import BaseModel, Field

from handoff.text.visible_text import remove_invisible
from specialists.tools.messenger import Addressee, CommonReaders, DeliveryUnknown, MessageDelivery, Messenger
from specialists.tools.tool import PreparedCall, Tool, ToolOutcome, Workbench

LONGEST_MESSAGE = 3_000
"""Most characters of a message: so many fit into an approval card, and into the field for editing them."""
NO_MESSENGER = "There is no Slack here to send it through. Return the text as your result instead."


class SendMessageArguments(BaseModel):
    """Arguments of send_message."""

    to: str = Field(min_length=1, max_length=160)
    text: str = Field(min_length=1, max_length=LONGEST_MESSAGE)
    draft: bool = False


def tools() -> tuple[Tool, ...]:
    """Return the tool `send_message`."""
    return (
        Tool(
            "send_message",
            "write",
            SendMessageArguments,
            send_message,
            key="marks",
            look_up=_look_up_message,
            what=_describe_send,
            target=_describe_target,
            prepare=prepare_message,
        ),
    )


async def send_message(arguments: SendMessageArguments, workbench: Workbench, key: str) -> ToolOutcome:
    """Send a message to another channel (#name) or person (@name), once people have approved it.

    The text is Markdown and stands alone: its readers see nothing of this thread. With draft, it goes to the requester
    only, to send it themselves.
    """
    messenger, goes = await _find_addressee(arguments.to, workbench)
    if messenger is None or isinstance(goes, str):
        return ToolOutcome(str(goes), failed=True)
    return _report_delivery(await messenger.send(goes, arguments.text, key=key, draft=arguments.draft), arguments)


async def prepare_message(arguments: SendMessageArguments, workbench: Workbench) -> PreparedCall | ToolOutcome:
    """Find the addressee, and describe for people who would read the message."""
    messenger, goes = await _find_addressee(arguments.to, workbench)
    if messenger is None or isinstance(goes, str):
        return ToolOutcome(str(goes), failed=True)
    text = remove_invisible(arguments.text).strip()
    if not text:
        return ToolOutcome("The text is empty; give the whole of the message.", failed=True)
    ready = arguments.model_copy(update={"to": goes.name_with_id, "text": text})
    if arguments.draft:
        return PreparedCall(ready, why=f"It is a draft for {goes.name}: only the person who made the request gets it.")
    readers = await messenger.find_deciding_readers(goes)
    return PreparedCall(ready, why=describe_message_target(goes, readers), readers=readers)


def describe_message_target(addressee: Addressee, readers: CommonReaders | None) -> str:
    """Describe for people where a message goes and, if it takes private words elsewhere, who has to approve it."""
    told = f"{addressee.name} is {addressee.audience}." if addressee.audience else ""
    if readers is None:
        return told
    crosses = f"It may tell {readers.target_name} what was said in {readers.source_name}"
    return f"{told} {crosses}, so somebody who may read both has to approve it.".strip()


async def _look_up_message(arguments: SendMessageArguments, workbench: Workbench, key: str) -> ToolOutcome | None:
    messenger, goes = await _find_addressee(arguments.to, workbench)
    if messenger is None or isinstance(goes, str):
        raise DeliveryUnknown(str(goes))
    found = await messenger.look_up_message(goes, key=key, draft=arguments.draft)
    return None if found is None else _report_delivery(found, arguments)


async def _find_addressee(to: str, workbench: Workbench) -> tuple[Messenger | None, Addressee | str]:
    if workbench.messenger is None:
        return None, NO_MESSENGER
    return workbench.messenger, await workbench.messenger.find_addressee(to)


def _report_delivery(delivered: MessageDelivery, arguments: SendMessageArguments) -> ToolOutcome:
    if not delivered.id:
        return ToolOutcome(f"Not sent: {delivered.fault}.", failed=True)
    to, sources = arguments.to, (delivered.address,) if delivered.address else ()
    if arguments.draft:
        told = f"The draft for {to} is in the requester's direct messages. It was not sent on."
        return ToolOutcome(told, sources=sources)
    return ToolOutcome(f"Sent to {to}.", sources=sources)


def _describe_target(arguments: SendMessageArguments) -> str:
    """Name the target of a call. It differs for drafts, so that approving similar drafts approves no real message."""
    return f"the requester, as a draft for {arguments.to}" if arguments.draft else arguments.to


def _describe_send(arguments: SendMessageArguments) -> str:
    return f"Draft a message to {arguments.to}" if arguments.draft else f"Send a message to {arguments.to}"
