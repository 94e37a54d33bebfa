"""An HTTP proxy on loopback: it tunnels, and ends the TLS of hosts that are nowhere else, with its own authority."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime as dt
import ssl
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

USER, PASSWORD = "bot", "p@ss/word"
BASIC_AUTH = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


@dataclass
class Authority:
    """A certificate authority that nobody knows. `file` is what `SSL_CERT_FILE` is to name."""

    folder: Path
    _key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def __post_init__(self) -> None:
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Acme inspection")])
        made = self._make_builder(self._name, self._key).add_extension(x509.BasicConstraints(True, None), critical=True)
        identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        usage = x509.KeyUsage(True, *[False] * 4, True, True, False, False)
        made = made.add_extension(identifier, critical=False).add_extension(usage, critical=True)
        self.file.write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    @property
    def file(self) -> Path:
        return self.folder / "acme-ca.pem"

    def context_for(self, host: str) -> ssl.SSLContext:
        """Make the server's side of TLS for a host."""
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        made = self._make_builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)]), key)
        made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        made = made.add_extension(issuer, critical=False)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        file = self.folder / f"{host}.pem"
        signed = made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        file.write_bytes(private + signed)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _make_builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name)
        builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
        day = dt.timedelta(days=1)
        return builder.not_valid_before(now - day).not_valid_after(now + day)


@dataclass
class ConnectProxy:
    """A running proxy. `request_lines` has the first line of each request, `hosts` the port that stands for a host."""

    authority: Authority
    with_password: bool = False
    port: int = 0
    hosts: dict[str, int] = field(default_factory=dict)
    request_lines: list[str] = field(default_factory=list)
    _fronts: dict[str, asyncio.Server] = field(default_factory=dict)
    _lines: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        """What `HTTPS_PROXY` is to be."""
        login = "bot:p%40ss%2Fword@" if self.with_password else ""
        return f"http://{login}127.0.0.1:{self.port}"

    def has_reached(self, host: str) -> bool:
        """Return True if a host was asked for through it."""
        return any(host in line for line in self.request_lines)

    async def route(self, host: str, port: int) -> None:
        """Have a host stand for a port of loopback that speaks plain HTTP; its TLS is ended here."""
        self.hosts[host] = port
        if host not in self._fronts:
            context = self.authority.context_for(host)

            async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await self._join(reader, writer, self.hosts[host])

            self._fronts[host] = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a client of the proxy."""
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.request_lines.append(first)
        method, target, _ = first.split(" ", 2)
        if self.with_password and f"proxy-authorization: {BASIC_AUTH}".lower() not in (one.lower() for one in lines):
            await _refuse(writer, "407 Proxy Authentication Required")
        elif method == "CONNECT":
            front = self._fronts.get(target.rpartition(":")[0])
            if front is None or not target.endswith(":443"):
                await _refuse(writer, "403 Forbidden")
                return
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await self._join(reader, writer, front.sockets[0].getsockname()[1])
        else:
            parts = urlsplit(target)
            if (parts.hostname or "") not in self.hosts:
                await _refuse(writer, "403 Forbidden")
                return
            path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
            kept = [line for line in lines if line and not line.lower().startswith(("proxy-", "connection:"))]
            again = "\r\n".join((f"{method} {path} HTTP/1.1", *kept, "Connection: close", "", ""))
            await self._join(reader, writer, self.hosts[parts.hostname or ""], again.encode("latin-1"))

    async def _join(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, first: bytes = b""
    ) -> None:
        """Carry bytes both ways until both sides have ended."""
        task = asyncio.current_task()
        assert task is not None
        self._lines.add(task)
        there_reads, there_writes = await asyncio.open_connection("127.0.0.1", port)
        there_writes.write(first)
        try:
            await asyncio.gather(_pump(reader, there_writes), _pump(there_reads, writer))
        except asyncio.CancelledError:
            pass
        finally:
            writer.close()
            there_writes.close()
            self._lines.discard(task)

    async def close(self) -> None:
        for front in self._fronts.values():
            front.close()
        for line in list(self._lines):
            line.cancel()
        await asyncio.gather(*self._lines, return_exceptions=True)


async def _refuse(writer: asyncio.StreamWriter, status: str) -> None:
    asks = 'Proxy-Authenticate: Basic realm="acme"\r\n' if status.startswith("407") else ""
    writer.write(f"HTTP/1.1 {status}\r\n{asks}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
    with contextlib.suppress(OSError):
        await writer.drain()
    writer.close()


async def _pump(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(65_536):
            to.write(data)
            await to.drain()
    to.close()


@contextlib.asynccontextmanager
async def connect_proxy(authority: Authority, *, with_password: bool = False) -> AsyncIterator[ConnectProxy]:
    """Run one on a free port."""
    proxy = ConnectProxy(authority, with_password)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close()


def environment(proxy: ConnectProxy) -> Iterator[tuple[str, str]]:
    """Give the variables of a machine that reaches nothing but by the proxy."""
    yield "HTTPS_PROXY", proxy.url
    yield "HTTP_PROXY", proxy.url
    yield "SSL_CERT_FILE", str(proxy.authority.file)
