"""Host, Origin and token checks that let in only this machine and our own page, and the page's security headers."""

import hmac

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

TOKEN_HEADER = "X-Workspace-Token"  # noqa: S105  # the header's name
FORBIDDEN_STATUS = 403
HTTP_PORT = 80
LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost"})
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class RequestGuard:
    """Checks host, origin and the page's token of every request. Requests are refused until `set_port` is called."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._cookie = ""
        self._hosts: frozenset[str] = frozenset()
        self._origins: frozenset[str] = frozenset()

    def set_port(self, port: int) -> None:
        """Accept requests for this port only.

        A Host header without a port is accepted too, as slack_sdk's own Socket Mode client sends one. A browser
        omits the port only for port 80. A foreign host name that DNS rebinding points to this machine is refused.
        """
        self._cookie = f"workspace_token_{port}"  # browsers share cookies between ports
        with_port = frozenset(f"{name}:{port}" for name in LOOPBACK_HOSTS)
        self._hosts = with_port | LOOPBACK_HOSTS
        self._origins = frozenset(f"http://{host}" for host in (self._hosts if port == HTTP_PORT else with_port))

    def allow_host(self, host: str) -> None:
        """Accept requests for a further host, such as that of a proxy in front of this server."""
        self._hosts |= {host}

    def make_middleware(self) -> Middleware:
        """Return the middleware that checks Host, Origin and, below /local/, the token, and adds security headers."""

        @web.middleware
        async def check_request(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.host not in self._hosts:
                return web.Response(status=FORBIDDEN_STATUS, text="Wrong Host header.")
            origin = request.headers.get("Origin")
            if origin is not None and origin not in self._origins:
                return web.Response(status=FORBIDDEN_STATUS, text="Wrong Origin header.")
            if request.path.startswith("/local/") and not self._may_use_page(request):
                return web.Response(status=FORBIDDEN_STATUS, text="Open the page by the address the workspace printed.")
            response = await handler(request)
            if not request.path.startswith("/api/") and not response.prepared:
                for name, value in SECURITY_HEADERS.items():
                    response.headers.setdefault(name, value)
            return response

        return check_request

    def is_page_token(self, token: str) -> bool:
        """Return True if `token` is the page's token. The time of the comparison does not depend on the content."""
        return hmac.compare_digest(token.encode(), self._token.encode())

    def has_page_cookie(self, request: web.Request) -> bool:
        """Return True if the request has a valid cookie of the page."""
        return self.is_page_token(request.cookies.get(self._cookie, ""))

    def _may_use_page(self, request: web.Request) -> bool:
        header = request.headers.get(TOKEN_HEADER)
        if header is not None:
            return self.is_page_token(header)
        if not self.has_page_cookie(request):
            return False
        # Browsers send the cookie by themselves: requests that write or listen must also have our page's Origin.
        needs_origin = request.method != "GET" or request.path == "/local/live"
        return not needs_origin or request.headers.get("Origin") in self._origins

    def set_page_cookie(self, response: web.StreamResponse) -> None:
        """Set the cookie that holds the page's token (HttpOnly, SameSite=Strict)."""
        response.set_cookie(self._cookie, self._token, httponly=True, samesite="Strict", path="/")
