"""Signs a person in to one MCP server: makes the link, and exchanges what comes back for tokens.

The browser ends at a page of the bot's, if it has an address; otherwise at an address of the person's own machine where
nobody answers, and the person pastes that address. Both hold a code, which is worthless without the proof (PKCE) that
we keep, and the state by which we find the sign-in it belongs to. Each state works once, within `LINK_SECONDS` seconds,
for the person who got the link.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from handoff.text.visible_text import remove_invisible
from specialists.mcp.kept_grant import GrantRefused, StoredGrant, TokenPlace, request_grant
from specialists.mcp.oauth_metadata import AuthorizationServer, find_authorization_server
from specialists.mcp.oauth_requests import send_request
from specialists.mcp.sdk import load_sdk
from specialists.mcp.server_config import ServerConfig
from specialists.tools.tool import WorkbenchLost
from specialists.tools.tool_sign_in import LOCAL_RETURN_URL, KeptSignIns, SignInFailed

if TYPE_CHECKING:
    import httpx2

LINK_SECONDS = 600.0
"""Seconds for which a link works."""
LONGEST_LINK = 2_900
"""Most characters of a link: Slack's buttons hold 3,000."""
SIGN_IN_HINT = (
    'it wants somebody to sign in; whoever runs the bot writes "auth": "oauth" for it into .mcp.json, or gives it a '
    "token under headers"
)
SIGN_IN_AGAIN_HINT = "it no longer accepts the sign-in; the next call asks somebody to sign in again"
_CLIENT_NAME = "Leadhand"
_NEW_LINK_HINT = "get a new link"
_LONGEST_PREFIX = 50
"""Most characters of an address in a fault: a Slack window shows 150 in all."""


class PendingSignIn(BaseModel):
    """A sign-in under way.

    `until` is when it ends, in seconds since the epoch. `verifier` proves that we began it. `lands` is the address
    where the browser ends. `names_issuer` is True if that address has to name the issuer. `about` is a note of the
    caller, returned at the end.
    """

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    server: str
    user: str
    until: float
    verifier: str
    issuer: str
    names_issuer: bool
    place: TokenPlace
    lands: str = LOCAL_RETURN_URL
    about: str = ""


class ServerSignIn:
    """The `SignIn` of a server.

    Args:
        config: The server.
        crew: The crew that it belongs to: crews share no sign-ins.
        clock: Returns seconds since the epoch.
    """

    def __init__(self, config: ServerConfig, crew: str, clock: Callable[[], float] = time.time) -> None:
        self._config, self._clock = config, clock
        said = json.dumps([crew, config.name, config.url, config.client_credentials[0]])
        self._mark = hashlib.sha256(said.encode()).hexdigest()[:32]
        self._grant = StoredGrant(f"grant:{self._mark}", config.url, clock)
        self.store: KeptSignIns | None = None

    @property
    def server(self) -> str:
        """The server's name."""
        return self._config.name

    @property
    def host(self) -> str:
        """The server's host, as people know it."""
        return self._config.recipient

    async def is_signed_in(self, store: KeptSignIns) -> bool:
        """Return True if there are stored tokens. From now on, the connection takes its tokens from `store`."""
        self.store = store
        return await self._grant.read_grant(store) is not None

    async def begin(self, store: KeptSignIns, user: str, redirect_url: str = LOCAL_RETURN_URL, about: str = "") -> str:
        """Find the authorization server, register with it, and return the link at which a person signs in.

        Raises SignInFailed.
        """
        await load_sdk()
        from mcp.client.auth import PKCEParameters  # noqa: PLC0415 - heavy

        authority = await find_authorization_server(self._config.url)
        place = await self._register_client_place(authority, redirect_url)
        proof, state = PKCEParameters.generate(), secrets.token_urlsafe(32)
        asked = {
            "response_type": "code",
            "client_id": place.client_id,
            "redirect_uri": redirect_url,
            "state": state,
            "code_challenge": proof.code_challenge,
            "code_challenge_method": "S256",
            "resource": place.resource,
            **({"scope": authority.scope} if authority.scope else {}),
        }
        page = str(authority.metadata.authorization_endpoint)
        link = f"{page}{'&' if urlsplit(page).query else '?'}{urlencode(asked)}"
        if len(link) > LONGEST_LINK:
            raise SignInFailed("The server wants a link that is longer than Slack's buttons hold.")
        pending = PendingSignIn(
            server=self._mark,
            user=user,
            until=self._clock() + LINK_SECONDS,
            verifier=proof.code_verifier,
            issuer=authority.issuer,
            names_issuer=bool(authority.metadata.authorization_response_iss_parameter_supported),
            place=place,
            lands=redirect_url,
            about=about,
        )
        await store.keep(_make_pending_name(state), pending.model_dump_json(), LINK_SECONDS)
        return link

    async def finish(
        self, store: KeptSignIns, user: str, landed_url: str, redirect_url: str = LOCAL_RETURN_URL
    ) -> None:
        """Check the address where a browser ended, and exchange its code for tokens, once. Raises SignInFailed."""
        said = _parse_landing(landed_url, redirect_url)
        name = _make_pending_name(said.get("state", ""))
        self._check_pending(await store.read(name), user, said, redirect_url)
        pending = self._check_pending(
            await store.take(name), user, said, redirect_url
        )  # from here on nobody else can use it
        if "code" not in said:
            code = remove_invisible(said.get("error", ""))[:40]
            raise SignInFailed(f"Nobody was signed in: the page said “{code}”. To try again, {_NEW_LINK_HINT}.")
        data = {
            "grant_type": "authorization_code",
            "code": said["code"],
            "redirect_uri": pending.lands,
            "code_verifier": pending.verifier,
        }
        try:
            grant = await request_grant(pending.place, data, self._config.url, self._clock())
        except GrantRefused as refused:
            raise SignInFailed(f"{refused} Each address works once: {_NEW_LINK_HINT}.") from None
        await self._grant.keep_grant(store, grant)

    def _check_pending(self, text: str, user: str, fields: dict[str, str], redirect_url: str) -> PendingSignIn:
        """Return the sign-in that an address belongs to.

        Raises SignInFailed unless it is this person's, for this server, and not over.
        """
        try:
            pending = PendingSignIn.model_validate_json(text or "null")
        except ValidationError:
            pending = None
        if pending is None or pending.server != self._mark or self._clock() > pending.until:
            raise SignInFailed(
                f"That address was used, or is older than {LINK_SECONDS / 60:g} minutes: {_NEW_LINK_HINT}."
            )
        if pending.user != user:
            raise SignInFailed(f"That address is from somebody else's link: {_NEW_LINK_HINT} of your own.")
        if pending.lands != redirect_url:
            raise SignInFailed(f"My own address has changed since that link: {_NEW_LINK_HINT}.")
        if fields.get("iss", pending.issuer if not pending.names_issuer else "") != pending.issuer:
            raise SignInFailed("That address is not from the page that the link leads to: open the link again.")
        return pending

    async def _register_client_place(self, authority: AuthorizationServer, redirect_url: str) -> TokenPlace:
        """Return our client at the authorization server; register one unless the operator has."""
        endpoint, resource = str(authority.metadata.token_endpoint), authority.resource
        own, secret = self._config.client_credentials
        if own:
            method = "client_secret_post" if secret else "none"
            return TokenPlace(endpoint=endpoint, resource=resource, client_id=own, client_secret=secret, method=method)
        if authority.metadata.registration_endpoint is None:
            raise SignInFailed(
                "The server accepts only registered clients: whoever runs the bot registers one there, and puts its "
                "clientId into .mcp.json."
            )
        client_id, secret, method = await _register_client(authority, self._config.url, redirect_url)
        return TokenPlace(
            endpoint=endpoint, resource=resource, client_id=client_id, client_secret=secret, method=method
        )

    # ------------------------------------------------------------ at work

    def make_auth(self, on_retry: Callable[[], None]) -> httpx2.Auth:
        """Make the `httpx2.Auth` that adds the token to each request, and drops a token that the server refuses.

        `on_retry` is called before a refused request is sent once more.
        """
        import httpx2  # noqa: PLC0415 - comes with the SDK

        sign_in = self

        class Bearer(httpx2.Auth):
            """Sends a request again, with a new token, if the server refused its token and so did nothing."""

            async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
                """Send the request with a token, and once more with a new one if it is refused."""
                token = await self.token(request)
                response = yield request
                if (
                    token
                    and response.status_code == 401
                    and (renewed := await self.token(request, refused_token=token))
                ):
                    on_retry()
                    response = yield request
                    if response.status_code == 401:
                        await sign_in.drop_token(renewed)

            async def token(self, request: httpx2.Request, refused_token: str = "") -> str:
                """Add a token to the request, if there is one, and return it."""
                try:
                    token = await sign_in.get_token(refused_token)
                except (SignInFailed, WorkbenchLost) as error:
                    raise httpx2.ConnectError(f"its sign-in cannot be renewed: {error}", request=request) from None
                if token:
                    request.headers["Authorization"] = f"Bearer {token}"
                return token

        return Bearer()

    async def get_token(self, refused_token: str = "") -> str:
        """Return a token for a request; "" if there is none. Raises SignInFailed if it cannot be renewed now."""
        return await self._grant.get_token(self.store, refused_token) if self.store is not None else ""

    async def drop_token(self, refused_token: str) -> None:
        """Delete tokens that the server refuses, so that somebody is asked to sign in before the next call."""
        if self.store is not None:
            await self._grant.drop_token(self.store, refused_token)


async def _register_client(authority: AuthorizationServer, server: str, redirect_url: str) -> tuple[str, str, str]:
    """Register us with the authorization server. Returns (client id, secret, how the secret is sent)."""
    from mcp.client.auth import OAuthFlowError, utils  # noqa: PLC0415 - heavy
    from mcp.client.auth.oauth2 import check_registration_usable  # noqa: PLC0415 - heavy
    from mcp.shared.auth import OAuthClientMetadata  # noqa: PLC0415 - heavy
    from pydantic import AnyUrl  # noqa: PLC0415 - beside the others

    us = OAuthClientMetadata(
        redirect_uris=[AnyUrl(redirect_url)],
        client_name=_CLIENT_NAME,
        token_endpoint_auth_method="none",  # noqa: S106 - a way, and no password
        scope=authority.scope,
    )
    answer = await send_request(utils.create_client_registration_request(authority.metadata, us, server), server)
    try:
        client = await utils.handle_registration_response(answer)
        check_registration_usable(client)
    except OAuthFlowError:
        raise SignInFailed(f"The authorization server does not let us register ({answer.status_code}).") from None
    secret = client.client_secret or ""
    return client.client_id, secret, client.token_endpoint_auth_method or ("client_secret_post" if secret else "none")


def _make_pending_name(state: str) -> str:
    return f"pending:{hashlib.sha256(state.encode('utf-8', 'replace')).hexdigest()}"


async def find_pending(store: KeptSignIns, query: str) -> PendingSignIn | None:
    """Return the sign-in under way that an address's query belongs to; None if there is none or it is over."""
    try:
        states = parse_qs(query, max_num_fields=20).get("state", [])
        return (
            PendingSignIn.model_validate_json(await store.read(_make_pending_name(states[0])) or "null")
            if states
            else None
        )
    except ValueError:
        return None


def _parse_landing(landed_url: str, redirect_url: str) -> dict[str, str]:
    """Return the query fields of the address where a browser ended, without repeated ones. Raises SignInFailed."""
    text = landed_url.strip().strip("<>").strip()
    if not text.startswith(f"{redirect_url}?"):
        begins = redirect_url if len(redirect_url) <= _LONGEST_PREFIX else f"{redirect_url[:_LONGEST_PREFIX]}..."
        raise SignInFailed(
            f"That is not the address: it begins with {begins}? and stands in the browser's address bar."
        )
    try:
        found = parse_qs(urlsplit(text).query, max_num_fields=20)
    except ValueError:
        found = {}
    said = {name: values[0] for name, values in found.items() if len(values) == 1}
    if "state" not in said or not ("code" in said or "error" in said):
        raise SignInFailed("That address is not whole: copy all of it from the browser's address bar.")
    return said
