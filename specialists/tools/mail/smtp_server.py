"""Reads the settings of the operator's mail server, and delivers a mail through it: to all recipients or to none.

Passwords and mails are sent unencrypted only to this machine, or if the operator allows it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import parseaddr
from typing import TYPE_CHECKING

from specialists.service_url import BadUrl, parse_service_url
from specialists.tools.blocking import import_in_thread

if TYPE_CHECKING:
    from aiosmtplib import SMTP

SERVER_SETTING, SENDER_SETTING = "LEADHAND_SMTP", "LEADHAND_MAIL_FROM"
CALL_SECONDS = 30.0
URL_FORM = "smtp://USER:PASSWORD@HOST:587 (STARTTLS) or smtps://USER:PASSWORD@HOST:465"
_LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
_MAIL_ADDRESS = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
)
_MAX_ADDRESS_CHARS = 254


class MailNotSent(Exception):
    """A mail certainly went to nobody. The message says why, in words for people."""


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """A mail server. `security` is `tls` from the first byte, `starttls` or `none`; `fault` says why it is unusable."""

    host: str = ""
    port: int = 587
    user: str = ""
    password: str = ""
    security: str = "starttls"
    sender: str = ""
    fault: str = ""

    @property
    def sender_address(self) -> str:
        """The address that mail comes from, without a display name."""
        return parseaddr(self.sender)[1]


def read_server(env: Mapping[str, str]) -> SmtpServer:
    """Read the mail settings. If they are wrong, the `fault` of the result says so, without the password."""
    text, sender = env.get("LEADHAND_SMTP", "").strip(), env.get("LEADHAND_MAIL_FROM", "").strip()
    if not text:
        return SmtpServer(
            fault=f"No mail is set up here: whoever runs the bot sets {SERVER_SETTING} and {SENDER_SETTING}."
        )
    if not is_mail_address(parseaddr(sender)[1]) or any(not one.isprintable() for one in sender):
        return SmtpServer(
            fault=f"{SENDER_SETTING} must be the address that mail comes from: `Leadhand <bot@example.com>`."
        )
    try:
        url = parse_service_url(text, ("smtp", "smtps"))
    except BadUrl as error:
        return SmtpServer(fault=f"{SERVER_SETTING} is not understood: {error}. It is {URL_FORM}.")
    host, port, tls_option = url.host, url.port, url.options.get("tls", "")
    if not host or url.path.strip("/") or len(url.hosts) > 1:
        return SmtpServer(fault=f"{SERVER_SETTING} is not understood; it is {URL_FORM}.")
    if tls_option not in {"", "on", "off"} or (tls_option == "off" and url.scheme == "smtps"):
        return SmtpServer(fault=f"{SERVER_SETTING}: tls is `on` or `off`, and smtps:// has no `off`.")
    is_unencrypted = tls_option == "off" or (not tls_option and host in _LOOPBACK_HOSTS)
    security = "tls" if url.scheme == "smtps" else "none" if is_unencrypted else "starttls"
    default_port = 465 if security == "tls" else 587
    return SmtpServer(host, port or default_port, url.user, url.password, security, sender)


def is_mail_address(text: str) -> bool:
    """Return True for a plain ASCII address, without a display name, comments or look-alike letters."""
    return len(text) <= _MAX_ADDRESS_CHARS and _MAIL_ADDRESS.fullmatch(text) is not None


async def deliver_mail(server: SmtpServer, message: EmailMessage, recipients: tuple[str, ...]) -> None:
    """Deliver a mail, to all recipients or to none.

    Raises MailNotSent. After any other error (of aiosmtplib, OSError, TimeoutError) it is unknown if the mail went out.
    """
    await import_in_thread("aiosmtplib")
    import aiosmtplib  # noqa: PLC0415 - an extra, and only where mail is sent

    client = _make_client(server)
    try:
        await _open_envelope(client, server, recipients)
        try:
            await client.data(message.as_bytes())
        except aiosmtplib.SMTPDataError as error:
            raise MailNotSent(f"{server.host} refused the mail: {_describe_error(error)}") from error
    finally:
        client.close()


async def check_login(server: SmtpServer) -> str:
    """Try the settings: connect and log in, but send nothing. Return why that failed; "" if it worked."""
    await import_in_thread("aiosmtplib")
    client = _make_client(server)
    try:
        await _open_envelope(client, server, ())
    except MailNotSent as error:
        return f"{error}; correct {SERVER_SETTING}, or start the server."
    finally:
        client.close()
    return ""


def _make_client(server: SmtpServer) -> SMTP:
    import aiosmtplib  # noqa: PLC0415 - as above

    return aiosmtplib.SMTP(
        hostname=server.host,
        port=server.port,
        use_tls=server.security == "tls",
        start_tls=server.security == "starttls",
        timeout=CALL_SECONDS,
    )


async def _open_envelope(client: SMTP, server: SmtpServer, recipients: tuple[str, ...]) -> None:
    """Connect, log in, and give the server sender and recipients. Raises MailNotSent, as no mail was sent yet."""
    import aiosmtplib  # noqa: PLC0415 - as above

    try:
        await client.connect()
        if server.user:
            await client.login(server.user, server.password)
        if recipients:
            await client.mail(server.sender_address)
        for one in recipients:
            await client.rcpt(one)
    except aiosmtplib.SMTPRecipientRefused as error:
        raise MailNotSent(
            f"{server.host} does not take mail for {error.recipient} ({_describe_error(error)}), and nobody got it"
        ) from None
    except aiosmtplib.SMTPAuthenticationError as error:
        raise MailNotSent(f"{server.host} does not accept the user and password of {SERVER_SETTING}") from error
    except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
        raise MailNotSent(f"{server.host} could not be used ({_describe_error(error)})") from error


def _describe_error(error: Exception) -> str:
    """Return the server's message as one short line without control characters, since it may be hostile."""
    words = str(getattr(error, "message", "") or error or type(error).__name__)
    return " ".join("".join(one if one.isprintable() else " " for one in words).split())[:200]
