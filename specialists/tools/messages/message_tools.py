"""The tool `send_message`: posts to another channel or person, once, after people have approved the text."""

from __future__ import annotations

from pydantic import BaseModel, Field

from handoff.text.invisible_characters import remove_invisible
from specialists.tools.messenger import Addressee, CommonReaders, DeliveryUnknown, MessageDelivery, Messenger
from specialists.tools.tool import PreparedCall, Tool, ToolOutcome, Workbench

MAX_MESSAGE_CHARS = 3_000
"""Most characters of a message: so many fit into an approval card, and into the field for editing them."""
NO_MESSENGER_MESSAGE = "There is no Slack here to send it through. Return the text as your result instead."


class SendMessageArguments(BaseModel):
    """Arguments of send_message."""

    to: str = Field(min_length=1, max_length=160)
    text: str = Field(min_length=1, max_length=MAX_MESSAGE_CHARS)
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
    messenger, addressee = await _find_addressee(arguments.to, workbench)
    if messenger is None or isinstance(addressee, str):
        return ToolOutcome(str(addressee), failed=True)
    return _report_delivery(await messenger.send(addressee, arguments.text, key=key, draft=arguments.draft), arguments)


async def prepare_message(arguments: SendMessageArguments, workbench: Workbench) -> PreparedCall | ToolOutcome:
    """Find the addressee, and describe for people who would read the message."""
    messenger, addressee = await _find_addressee(arguments.to, workbench)
    if messenger is None or isinstance(addressee, str):
        return ToolOutcome(str(addressee), failed=True)
    text = remove_invisible(arguments.text).strip()
    if not text:
        return ToolOutcome("The text is empty; give the whole of the message.", failed=True)
    checked_arguments = arguments.model_copy(update={"to": addressee.name_with_id, "text": text})
    if arguments.draft:
        return PreparedCall(
            checked_arguments, why=f"It is a draft for {addressee.name}: only the person who made the request gets it."
        )
    readers = await messenger.find_deciding_readers(addressee)
    return PreparedCall(checked_arguments, why=describe_message_target(addressee, readers), readers=readers)


def describe_message_target(addressee: Addressee, readers: CommonReaders | None) -> str:
    """Describe for people where a message goes and, if it takes private words elsewhere, who has to approve it."""
    description = f"{addressee.name} is {addressee.audience}." if addressee.audience else ""
    if readers is None:
        return description
    warning = f"It may tell {readers.target_name} what was said in {readers.source_name}"
    return f"{description} {warning}, so somebody who may read both has to approve it.".strip()


async def _look_up_message(arguments: SendMessageArguments, workbench: Workbench, key: str) -> ToolOutcome | None:
    messenger, addressee = await _find_addressee(arguments.to, workbench)
    if messenger is None or isinstance(addressee, str):
        raise DeliveryUnknown(str(addressee))
    delivery = await messenger.look_up_message(addressee, key=key, draft=arguments.draft)
    return None if delivery is None else _report_delivery(delivery, arguments)


async def _find_addressee(to: str, workbench: Workbench) -> tuple[Messenger | None, Addressee | str]:
    if workbench.messenger is None:
        return None, NO_MESSENGER_MESSAGE
    return workbench.messenger, await workbench.messenger.find_addressee(to)


def _report_delivery(delivery: MessageDelivery, arguments: SendMessageArguments) -> ToolOutcome:
    if not delivery.id:
        return ToolOutcome(f"Not sent: {delivery.fault}.", failed=True)
    to, sources = arguments.to, (delivery.address,) if delivery.address else ()
    if arguments.draft:
        text = f"The draft for {to} is in the requester's direct messages. It was not sent on."
        return ToolOutcome(text, sources=sources)
    return ToolOutcome(f"Sent to {to}.", sources=sources)


def _describe_target(arguments: SendMessageArguments) -> str:
    """Name the target of a call. It differs for drafts, so that approving similar drafts approves no real message."""
    return f"the requester, as a draft for {arguments.to}" if arguments.draft else arguments.to


def _describe_send(arguments: SendMessageArguments) -> str:
    return f"Draft a message to {arguments.to}" if arguments.draft else f"Send a message to {arguments.to}"
