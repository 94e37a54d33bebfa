"""Mail goes through a real server: to all or to nobody, never in clear, never with a header of a model's."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from bot.settings import Settings
from specialists.tools.mail import mail_tools
from specialists.tools.mail.smtp_server import is_mail_address, read_server
from specialists.tools.tool import PreparedCall, Tool, ToolOutcome
from specialists.tools.toolkit import ToolSettings
from tests.specialists.deed_bench import bench

CERTIFICATES = Path(__file__).parents[1] / "failover" / "certificates"
FROM = "Leadhand <bot@acme.example>"
KEY = "5f9c1c8e-0000-4000-8000-000000000001"


@dataclass
class Mailbox:
    """A mail server. `refuses` are recipients that it does not take; `says` is its answer to a mail."""

    port: int = 0
    mails: list[tuple[list[str], EmailMessage]] = field(default_factory=list)
    refuses: frozenset[str] = frozenset()
    says: str = "250 OK"
    drops: bool = False
    secure: bool = False

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's own name and arguments
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address in self.refuses:
            return "550 no such\tuser"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        self.secure = session.ssl is not None
        assert isinstance(envelope.content, bytes)
        if self.says.startswith("250"):
            parsed = message_from_bytes(envelope.content, policy=default)
            assert isinstance(parsed, EmailMessage)
            self.mails.append((list(envelope.rcpt_tos), parsed))
        if self.drops:
            server.transport.abort()
        return self.says


@asynccontextmanager
async def mailbox(**options: Any) -> AsyncIterator[Mailbox]:
    box = Mailbox(**options.pop("box", {}))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(box, hostname="localhost", loop=loop, **options), "127.0.0.1", 0)
    box.port = server.sockets[0].getsockname()[1]
    try:
        yield box
    finally:
        server.close()


def tool(server: str) -> Tool:
    (made,) = mail_tools.tools(ToolSettings({"LEADHAND_SMTP": server, "LEADHAND_MAIL_FROM": FROM}))
    return made


def arguments(**more: Any) -> mail_tools.SendMailArguments:
    given = {"to": ["ana@acme.example"], "subject": "The export", "body": "It was late.\nGrüße", **more}
    return mail_tools.SendMailArguments(**given)


async def send_prepared_mail(mail_tool: Tool, folder: Path, **more: Any) -> ToolOutcome:
    """Prepared, then sent, as an approved call is."""
    at = bench(folder, report_csv=b"a,b\n1,2\n")
    ready = await mail_tool.prepare(arguments(**more), at)
    if isinstance(ready, ToolOutcome):
        return ready
    again = await mail_tool.prepare(ready.arguments, at)
    assert again == ready, "a prepared call is prepared"
    return await mail_tool.run(ready.arguments, at, KEY)


async def test_a_mail_arrives_as_it_was_approved(tmp_path: Path) -> None:
    async with mailbox() as box:
        made = tool(f"smtp://127.0.0.1:{box.port}")
        to = ["ana@acme.example", "ben@north.example", "ana@acme.example"]
        outcome = await send_prepared_mail(made, tmp_path, to=to, attachments=["report.csv"])
    assert (outcome.failed, outcome.text) == (False, "Sent to ana@acme.example, ben@north.example.")
    ((recipients, message),) = box.mails
    assert recipients == ["ana@acme.example", "ben@north.example"]
    assert message["Message-ID"] == f"<{KEY}@acme.example>"
    assert message["From"] == FROM
    assert message["Date"]
    body = message.get_body(("plain",))
    assert body.get_content().split() == ["It", "was", "late.", "Grüße"]
    (attached,) = message.iter_attachments()
    assert attached.get_filename() == "report.csv"
    assert attached.get_payload(decode=True) == b"a,b\n1,2\n"


async def test_the_card_says_who_gets_it_and_what_leaves(tmp_path: Path) -> None:
    made = tool("smtp://127.0.0.1:1")
    given = arguments(to=["ana@acme.example", "ben@north.example"], attachments=["report.csv"])
    ready = await made.prepare(given, bench(tmp_path, report_csv=b"1"))
    assert isinstance(ready, PreparedCall)
    assert ready.why == (
        "It leaves the workspace as mail from bot@acme.example. 2 people get it. Attached: report.csv (1 bytes)."
    )
    assert made.target(ready.arguments) == "ana@acme.example, ben@north.example"
    assert (made.sends(ready.arguments).to, made.sends(ready.arguments).in_arguments) == (
        "acme.example, north.example",
        True,
    )


@pytest.mark.parametrize(
    ("more", "expected_words"),
    [
        ({"to": ["Ana <ana@acme.example>"]}, "no plain mail address"),
        ({"to": ["ana@acme.example\nBcc: eve@evil.example"]}, "no plain mail address"),
        ({"to": ["ana@acme.example,eve@evil.example"]}, "no plain mail address"),
        ({"to": ["аna@acme.example"]}, "no plain mail address"),  # noqa: RUF001 - that is the point
        ({"subject": "\u200b\u200b"}, "is empty"),
        ({"attachments": ["secret.txt"]}, "There is no file 'secret.txt' to attach. The files are: report.csv."),
    ],
)
async def test_what_is_no_address_or_file_is_told_and_nothing_is_sent(
    tmp_path: Path, more: dict[str, Any], expected_words: str
) -> None:
    async with mailbox() as box:
        outcome = await send_prepared_mail(tool(f"smtp://127.0.0.1:{box.port}"), tmp_path, **more)
    assert outcome.failed
    assert expected_words in outcome.text
    assert box.mails == []


async def test_a_subject_of_several_lines_makes_no_header(tmp_path: Path) -> None:
    async with mailbox() as box:
        outcome = await send_prepared_mail(
            tool(f"smtp://127.0.0.1:{box.port}"), tmp_path, subject="Hello\r\nBcc: eve@evil.example\r\n\r\nboo"
        )
    assert not outcome.failed
    ((recipients, message),) = box.mails
    assert recipients == ["ana@acme.example"]
    assert message["Subject"] == "Hello Bcc: eve@evil.example boo"
    assert message["Bcc"] is None


async def test_one_recipient_who_is_refused_keeps_the_mail_from_all(tmp_path: Path) -> None:
    async with mailbox(box={"refuses": frozenset({"ben@north.example"})}) as box:
        made = tool(f"smtp://127.0.0.1:{box.port}")
        outcome = await send_prepared_mail(made, tmp_path, to=["ana@acme.example", "ben@north.example"])
    assert outcome.failed
    assert "does not take mail for ben@north.example" in outcome.text
    assert "nobody got it" in outcome.text
    assert box.mails == []


async def test_a_refusal_is_certain_and_a_lost_answer_is_for_a_person(tmp_path: Path) -> None:
    async with mailbox(box={"says": "554 looks like spam"}) as box:
        outcome = await send_prepared_mail(tool(f"smtp://127.0.0.1:{box.port}"), tmp_path)
    assert outcome.failed
    assert "refused the mail: looks like spam" in outcome.text
    async with mailbox(box={"drops": True}) as box:
        made = tool(f"smtp://127.0.0.1:{box.port}")
        with pytest.raises(Exception, match=r"EOF|onnection"):
            await send_prepared_mail(made, tmp_path)
    assert len(box.mails) == 1, "it was taken, and nobody here knows"
    looked = await made.look_up(arguments(), bench(tmp_path), KEY)
    assert looked.failed, "nobody can tell: a person is asked"
    away = await send_prepared_mail(tool("smtp://127.0.0.1:1"), tmp_path)
    assert away.failed
    assert "could not be used" in away.text


async def test_mail_goes_over_tls_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "server_with_key.pem")

    def login(_server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, data: Any) -> AuthResult:
        return AuthResult(success=(data.login, data.password) == (b"bot", b"p@ss"), handled=False)

    async with mailbox(tls_context=context, authenticator=login, auth_required=True) as box:
        server = f"smtp://bot:p%40ss@localhost:{box.port}?tls=on"
        untrusted = await send_prepared_mail(tool(server), tmp_path)
        assert untrusted.failed
        assert "certificate" in untrusted.text.lower()
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATES / "ca.pem"))
        assert not (await send_prepared_mail(tool(server), tmp_path)).failed
        assert box.secure
        wrong = await send_prepared_mail(tool(server.replace("p%40ss", "guess")), tmp_path)
        assert wrong.text == "The mail was not sent: localhost does not accept the user and password of LEADHAND_SMTP."
    async with mailbox() as box:
        outcome = await send_prepared_mail(tool(f"smtp://localhost:{box.port}?tls=on"), tmp_path)
    assert outcome.failed, "a server without STARTTLS gets nothing"
    assert box.mails == []


@pytest.mark.parametrize(
    ("server", "sender", "fault"),
    [
        ("", FROM, "whoever runs the bot sets LEADHAND_SMTP"),
        ("smtp://mail.example", "", "must be the address that mail comes from"),
        ("smtp://mail.example", "Bot <b@x>\nBcc: e@x", "must be the address"),
        ("http://mail.example", FROM, "is not understood"),
        ("smtp://mail.example:port", FROM, "is not understood"),
        ("smtps://mail.example?tls=off", FROM, "has no `off`"),
    ],
)
def test_a_wrong_setting_is_told_without_its_password(server: str, sender: str, fault: str) -> None:
    assert fault in read_server({"LEADHAND_SMTP": server, "LEADHAND_MAIL_FROM": sender}).fault


def test_what_is_safe_on_the_way_and_what_is_secret() -> None:
    def security(url: str) -> tuple[str, int]:
        found = read_server({"LEADHAND_SMTP": url, "LEADHAND_MAIL_FROM": FROM})
        assert found.fault == ""
        return found.security, found.port

    assert security("smtp://mail.example") == ("starttls", 587)
    assert security("smtps://mail.example") == ("tls", 465)
    assert security("smtp://127.0.0.1:2525") == ("none", 2525)
    assert security("smtp://relay.internal:25?tls=off") == ("none", 25)
    settings = Settings(env={"LEADHAND_SMTP": "smtp://bot:p%40ss@mail.example"})
    assert {"p%40ss", "p@ss"} <= settings.secrets
    assert is_mail_address("a.b+c@sub.acme.example")
    assert not any(map(is_mail_address, ("a@", "@b", "a..b@c", "a b@c", "a@b@c", "a@-b", "a" * 300 + "@b.example")))


async def test_check_tries_the_server_sends_nothing_and_is_silent_where_none_is_set() -> None:
    assert mail_tools.toolkit(ToolSettings()).prove is None
    async with mailbox() as box:
        given = {"LEADHAND_SMTP": f"smtp://127.0.0.1:{box.port}", "LEADHAND_MAIL_FROM": FROM}
        prove = mail_tools.toolkit(ToolSettings(given)).prove
        assert await prove() == ()
        assert box.mails == []
    (fault,) = await prove()
    assert "could not be used" in fault
    assert "correct LEADHAND_SMTP" in fault
