"""The tool `send_mail`: sends a mail through SMTP, once, after people have approved its text and recipients."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any

from pydantic import BaseModel, Field

from handoff.contracts import Artifact
from handoff.text.invisible_characters import remove_invisible
from specialists.tools.extras import describe_unavailable_tool
from specialists.tools.mail.smtp_server import (
    SERVER_SETTING,
    MailNotSent,
    SmtpServer,
    check_login,
    deliver_mail,
    is_mail_address,
    read_server,
)
from specialists.tools.tool import OutgoingData, PreparedCall, Tool, ToolOutcome, Workbench
from specialists.tools.toolkit import Toolkit, ToolSettings

MAX_RECIPIENTS = 10
"""Most recipients of a mail, and most attachments."""
MAX_ATTACHMENTS_BYTES = 10 * 1024 * 1024
"""Most bytes of all attachments together."""


class SendMailArguments(BaseModel):
    """Arguments of send_mail."""

    to: tuple[str, ...] = Field(min_length=1, max_length=MAX_RECIPIENTS)
    subject: str = Field(min_length=1, max_length=200)
    body: str = Field(min_length=1, max_length=6_000)
    attachments: tuple[str, ...] = Field(default=(), max_length=MAX_RECIPIENTS)


def toolkit(settings: ToolSettings) -> Toolkit:
    """Make the mail toolkit. Its `prove` tries the settings, and is None if `LEADHAND_SMTP` is not set."""
    env = settings.env

    async def prove() -> tuple[str, ...]:
        server = read_server(env)
        fault = server.fault or describe_unavailable_tool("mail", "aiosmtplib") or await check_login(server)
        return (fault,) if fault else ()

    return Toolkit(SERVER_SETTING, tools(settings), prove=prove if env.get(SERVER_SETTING) else None)


def tools(settings: ToolSettings) -> tuple[Tool, ...]:
    """Return the tool `send_mail`."""
    calls = _MailCalls(read_server(settings.env))

    async def send_mail(arguments: SendMailArguments, workbench: Workbench, key: str) -> ToolOutcome:
        """Send an e-mail, once people have approved it. Plain text; attachments are names of files in the brief."""
        return await calls.send_mail(arguments, workbench, key)

    tool = Tool(
        "send_mail",
        "write",
        SendMailArguments,
        send_mail,
        key="marks",
        look_up=calls.look_up_mail,
        what=lambda arguments: f"Send a mail to {', '.join(arguments.to)}: {arguments.subject}",
        target=lambda arguments: ", ".join(arguments.to),
        prepare=calls.prepare_mail,
        sends=_describe_sent_data,
    )
    return (tool,)


@dataclass(frozen=True, slots=True)
class _MailCalls:
    server: SmtpServer

    async def prepare_mail(self, arguments: SendMailArguments, workbench: Workbench) -> PreparedCall | ToolOutcome:
        """Check addresses, texts and files, and describe for people where the mail goes."""
        fault = self.server.fault or describe_unavailable_tool("mail", "aiosmtplib")
        if fault:
            return ToolOutcome(fault, failed=True)
        to = tuple(dict.fromkeys(one.strip() for one in arguments.to))
        invalid_addresses = [one for one in to if not is_mail_address(one)]
        if invalid_addresses:
            return ToolOutcome(
                f"{remove_invisible(invalid_addresses[0])!r} is no plain mail address, like ana@example.com.",
                failed=True,
            )
        texts = {
            "subject": " ".join(remove_invisible(arguments.subject).split()),
            "body": remove_invisible(arguments.body).strip(),
        }
        if not all(texts.values()):
            return ToolOutcome("The subject or the body is empty; give both.", failed=True)
        files = _find_files(arguments.attachments, workbench)
        if isinstance(files, str):
            return ToolOutcome(files, failed=True)
        checked_arguments = arguments.model_copy(
            update={"to": to, "attachments": tuple(one.name for one in files), **texts}
        )
        return PreparedCall(checked_arguments, why=_describe_mail(self.server.sender_address, to, files))

    async def send_mail(self, arguments: SendMailArguments, workbench: Workbench, key: str) -> ToolOutcome:
        """Send the mail. Raises the connection's error if it is uncertain whether the mail went out."""
        files = _find_files(arguments.attachments, workbench)
        if isinstance(files, str) or self.server.fault:
            return ToolOutcome(self.server.fault or str(files), failed=True)
        parts = [(one, await asyncio.to_thread((await workbench.path(one)).read_bytes)) for one in files]
        try:
            message = _make_mail(self.server, arguments, key, parts)
            await deliver_mail(self.server, message, arguments.to)
        except MailNotSent as error:
            return ToolOutcome(f"The mail was not sent: {error}.", failed=True)
        return ToolOutcome(f"Sent to {', '.join(arguments.to)}.")

    async def look_up_mail(self, _arguments: SendMailArguments, _workbench: Workbench, _key: str) -> ToolOutcome:
        """Return a failed outcome, as a mail server does not tell which mails it accepted. So a person is asked."""
        return ToolOutcome("Whether a mail was sent cannot be looked up.", failed=True)


def _make_mail(
    server: SmtpServer, arguments: SendMailArguments, key: str, files: Iterable[tuple[Artifact, bytes]]
) -> EmailMessage:
    """Make the mail. Its Message-ID has the key, by which people can find it in a mailbox or a server's log."""
    message = EmailMessage(policy=SMTP)
    message["From"], message["To"], message["Subject"] = server.sender, ", ".join(arguments.to), arguments.subject
    message["Date"] = format_datetime(datetime.now(UTC))
    message["Message-ID"] = f"<{key}@{server.sender_address.rpartition('@')[2]}>"
    message.set_content(arguments.body)
    for one, data in files:
        main, _, sub = (mimetypes.guess_type(one.name)[0] or "application/octet-stream").partition("/")
        message.add_attachment(data, maintype=main, subtype=sub, filename=one.name)
    return message


def _find_files(names: tuple[str, ...], workbench: Workbench) -> list[Artifact] | str:
    """Return the files to attach, or a sentence that says what is wrong."""
    files_by_name = {one.name: one for one in workbench.artifacts}
    missing_names = [name for name in names if name not in files_by_name]
    if missing_names:
        return f"There is no file {missing_names[0]!r} to attach. The files are: {', '.join(files_by_name) or 'none'}."
    files = [files_by_name[name] for name in dict.fromkeys(names)]
    if sum(one.size for one in files) > MAX_ATTACHMENTS_BYTES:
        return f"The files are larger than {MAX_ATTACHMENTS_BYTES >> 20} MB together; attach fewer."
    return files


def _describe_mail(sender: str, to: tuple[str, ...], files: list[Artifact]) -> str:
    count = f"{len(to)} people get it" if len(to) > 1 else "One person gets it"
    file_list = "; ".join(f"{one.name} ({one.size:,} bytes)" for one in files)
    return f"It leaves the workspace as mail from {sender}. {count}." + (f" Attached: {file_list}." if files else "")


def _describe_sent_data(arguments: Any) -> OutgoingData:
    hosts = dict.fromkeys(one.strip().rpartition("@")[2] for one in arguments.to)
    return OutgoingData(", ".join(hosts), "", in_arguments=True)
