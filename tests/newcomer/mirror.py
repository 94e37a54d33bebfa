"""A company's package index on loopback: tiny wheels over TLS, under a certificate that no machine trusts by itself."""

import contextlib
import hashlib
import io
import ssl
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CERTIFICATES = Path(__file__).parents[1] / "failover" / "certificates"
AUTHORITY = CERTIFICATES / "ca.pem"


def wheel(name: str) -> bytes:
    """A package of one module, version 1."""
    info = f"{name}-1.dist-info"
    files = {
        f"{name}.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path, date_time=(2026, 1, 1, 0, 0, 0)), text)
    return kept.getvalue()


def lock(name: str) -> str:
    """The line of a lock for that package."""
    return f"{name}==1 --hash=sha256:{hashlib.sha256(wheel(name)).hexdigest()}\n"


class _Index(BaseHTTPRequestHandler):
    """`/simple/NAME/` lists one wheel of any name; `/pip-only/NAME/` is closed to all clients but pip."""

    def do_GET(self) -> None:
        kind, _, rest = self.path.strip("/").partition("/")
        name = rest.removesuffix("-1-py3-none-any.whl").replace("-", "_")
        if kind == "pip-only" and not self.headers["User-Agent"].startswith("pip/"):
            self.send_error(403)
        elif kind == "empty":
            self.send_error(404)
        elif kind == "files":
            self._send(wheel(name), "application/zip")
        else:
            file = f"/files/{name}-1-py3-none-any.whl"
            self._send(f'<!doctype html><a href="{file}">{Path(file).name}</a>'.encode(), "text/html")

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _send(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """Serve the index; gives its address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "server_with_key.pem")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Index) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"https://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
