"""Signs a person in to one MCP server by OAuth: makes the link, and exchanges the returned code for tokens.

If the bot has a web address, the browser ends at a page of the bot. Otherwise it ends at an address on the person's own
machine where nothing listens, and the person pastes that address. Either address holds a code and a state. The code is
worthless without the PKCE verifier that we keep. The state names the pending sign-in; it works once, within
`LINK_SECONDS` seconds, for the person who got the link.
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

from handoff.text.invisible_characters import remove_invisible
from specialists.mcp.oauth_metadata import AuthorizationServer, find_authorization_server
from specialists.mcp.oauth_requests import send_request
from specialists.mcp.sdk import load_sdk
from specialists.mcp.server_config import ServerConfig
from specialists.mcp.stored_tokens import GrantRefused, OAuthClient, TokenStorage, request_tokens
from specialists.tools.tool import WorkbenchLost
from specialists.tools.tool_sign_in import LOCAL_RETURN_URL, SignInFailed, SignInStore

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
"""Most characters of an address in an error text: a Slack window shows 150 characters in all."""


class PendingSignIn(BaseModel):
    """A sign-in under way.

    `until` is when it expires, in seconds since the epoch. `verifier` is the PKCE verifier. `lands` is the address
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
    place: OAuthClient
    lands: str = LOCAL_RETURN_URL
    about: str = ""


class ServerSignIn:
    """Signs people in to one MCP server by OAuth: a `SignIn`.

    Args:
        config: How the server is reached.
        crew: The crew that the server belongs to. Crews share no sign-ins.
        clock: Returns seconds since the epoch.
    """

    def __init__(self, config: ServerConfig, crew: str, clock: Callable[[], float] = time.time) -> None:
        self._config, self._clock = config, clock
        key_text = json.dumps([crew, config.name, config.url, config.client_credentials[0]])
        self._sign_in_key = hashlib.sha256(key_text.encode()).hexdigest()[:32]
        self._grant = TokenStorage(f"grant:{self._sign_in_key}", config.url, clock)
        self.store: SignInStore | None = None

    @property
    def server(self) -> str:
        """The server's name."""
        return self._config.name

    @property
    def host(self) -> str:
        """The server's host, as people know it."""
        return self._config.recipient

    async def is_signed_in(self, store: SignInStore) -> bool:
        """Return True if there are stored tokens. From now on, the connection takes its tokens from `store`."""
        self.store = store
        return await self._grant.read_tokens(store) is not None

    async def begin(self, store: SignInStore, user: str, redirect_url: str = LOCAL_RETURN_URL, about: str = "") -> str:
        """Find the authorization server, register with it, and return the link at which a person signs in.

        Raises SignInFailed.
        """
        await load_sdk()
        from mcp.client.auth import PKCEParameters  # noqa: PLC0415 - heavy

        authorization_server = await find_authorization_server(self._config.url)
        place = await self._get_or_register_client(authorization_server, redirect_url)
        proof, state = PKCEParameters.generate(), secrets.token_urlsafe(32)
        parameters = {
            "response_type": "code",
            "client_id": place.client_id,
            "redirect_uri": redirect_url,
            "state": state,
            "code_challenge": proof.code_challenge,
            "code_challenge_method": "S256",
            "resource": place.resource,
            **({"scope": authorization_server.scope} if authorization_server.scope else {}),
        }
        page = str(authorization_server.metadata.authorization_endpoint)
        link = f"{page}{'&' if urlsplit(page).query else '?'}{urlencode(parameters)}"
        if len(link) > LONGEST_LINK:
            raise SignInFailed("The server wants a link that is longer than Slack's buttons hold.")
        pending = PendingSignIn(
            server=self._sign_in_key,
            user=user,
            until=self._clock() + LINK_SECONDS,
            verifier=proof.code_verifier,
            issuer=authorization_server.issuer,
            names_issuer=bool(authorization_server.metadata.authorization_response_iss_parameter_supported),
            place=place,
            lands=redirect_url,
            about=about,
        )
        await store.keep(_make_pending_key(state), pending.model_dump_json(), LINK_SECONDS)
        return link

    async def finish(
        self, store: SignInStore, user: str, landed_url: str, redirect_url: str = LOCAL_RETURN_URL
    ) -> None:
        """Check the address where a browser ended, and exchange its code for tokens, once. Raises SignInFailed."""
        fields = _parse_callback_url(landed_url, redirect_url)
        name = _make_pending_key(fields.get("state", ""))
        self._check_pending(await store.read(name), user, fields, redirect_url)
        # From here on nobody else can use it.
        pending = self._check_pending(await store.pop(name), user, fields, redirect_url)
        if "code" not in fields:
            code = remove_invisible(fields.get("error", ""))[:40]
            raise SignInFailed(f"Nobody was signed in: the page said “{code}”. To try again, {_NEW_LINK_HINT}.")
        data = {
            "grant_type": "authorization_code",
            "code": fields["code"],
            "redirect_uri": pending.lands,
            "code_verifier": pending.verifier,
        }
        try:
            grant = await request_tokens(pending.place, data, self._config.url, self._clock())
        except GrantRefused as refused:
            raise SignInFailed(f"{refused} Each address works once: {_NEW_LINK_HINT}.") from None
        await self._grant.store_tokens(store, grant)

    def _check_pending(self, text: str, user: str, fields: dict[str, str], redirect_url: str) -> PendingSignIn:
        """Parse the stored sign-in `text`, and check it against the `fields` of the address where the browser ended.

        Raises SignInFailed unless it is this person's, for this server, return address and issuer, and not over.
        """
        try:
            pending = PendingSignIn.model_validate_json(text or "null")
        except ValidationError:
            pending = None
        if pending is None or pending.server != self._sign_in_key or self._clock() > pending.until:
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

    async def _get_or_register_client(
        self, authorization_server: AuthorizationServer, redirect_url: str
    ) -> OAuthClient:
        """Return our client at the authorization server: the configured one, otherwise a newly registered one."""
        endpoint, resource = str(authorization_server.metadata.token_endpoint), authorization_server.resource
        own, secret = self._config.client_credentials
        if own:
            method = "client_secret_post" if secret else "none"
            return OAuthClient(endpoint=endpoint, resource=resource, client_id=own, client_secret=secret, method=method)
        if authorization_server.metadata.registration_endpoint is None:
            raise SignInFailed(
                "The server accepts only registered clients: whoever runs the bot registers one there, and puts its "
                "clientId into .mcp.json."
            )
        client_id, secret, method = await _register_client(authorization_server, self._config.url, redirect_url)
        return OAuthClient(
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
                token = await self.add_token(request)
                response = yield request
                if (
                    token
                    and response.status_code == 401
                    and (renewed_token := await self.add_token(request, refused_token=token))
                ):
                    on_retry()
                    response = yield request
                    if response.status_code == 401:
                        await sign_in.drop_token(renewed_token)

            async def add_token(self, request: httpx2.Request, refused_token: str = "") -> str:
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
        """Return a valid access token; "" if somebody has to sign in first. Raises SignInFailed if renewal fails."""
        return await self._grant.get_token(self.store, refused_token) if self.store is not None else ""

    async def drop_token(self, refused_token: str) -> None:
        """Delete the stored tokens if `refused_token` is among them, so that the next call asks for a sign-in."""
        if self.store is not None:
            await self._grant.drop_token(self.store, refused_token)


async def _register_client(
    authorization_server: AuthorizationServer, server: str, redirect_url: str
) -> tuple[str, str, str]:
    """Register us with the authorization server. Returns (client id, secret, how the secret is sent)."""
    from mcp.client.auth import OAuthFlowError, utils  # noqa: PLC0415 - heavy
    from mcp.client.auth.oauth2 import check_registration_usable  # noqa: PLC0415 - heavy
    from mcp.shared.auth import OAuthClientMetadata  # noqa: PLC0415 - heavy
    from pydantic import AnyUrl  # noqa: PLC0415 - beside the others

    client_metadata = OAuthClientMetadata(
        redirect_uris=[AnyUrl(redirect_url)],
        client_name=_CLIENT_NAME,
        token_endpoint_auth_method="none",  # noqa: S106 - a way, and no password
        scope=authorization_server.scope,
    )
    answer = await send_request(
        utils.create_client_registration_request(authorization_server.metadata, client_metadata, server), server
    )
    try:
        client = await utils.handle_registration_response(answer)
        check_registration_usable(client)
    except OAuthFlowError:
        raise SignInFailed(f"The authorization server does not let us register ({answer.status_code}).") from None
    secret = client.client_secret or ""
    return client.client_id, secret, client.token_endpoint_auth_method or ("client_secret_post" if secret else "none")


def _make_pending_key(state: str) -> str:
    return f"pending:{hashlib.sha256(state.encode('utf-8', 'replace')).hexdigest()}"


async def find_pending_sign_in(store: SignInStore, query: str) -> PendingSignIn | None:
    """Return the sign-in under way that the `state` of an address's query names; None if none is stored."""
    try:
        states = parse_qs(query, max_num_fields=20).get("state", [])
        return (
            PendingSignIn.model_validate_json(await store.read(_make_pending_key(states[0])) or "null")
            if states
            else None
        )
    except ValueError:
        return None


def _parse_callback_url(landed_url: str, redirect_url: str) -> dict[str, str]:
    """Return the query fields of the address where a browser ended, without repeated ones. Raises SignInFailed."""
    text = landed_url.strip().strip("<>").strip()
    if not text.startswith(f"{redirect_url}?"):
        expected_start = (
            redirect_url if len(redirect_url) <= _LONGEST_PREFIX else f"{redirect_url[:_LONGEST_PREFIX]}..."
        )
        raise SignInFailed(
            f"That is not the address: it begins with {expected_start}? and stands in the browser's address bar."
        )
    try:
        values_by_name = parse_qs(urlsplit(text).query, max_num_fields=20)
    except ValueError:
        values_by_name = {}
    fields = {name: values[0] for name, values in values_by_name.items() if len(values) == 1}
    if "state" not in fields or not ("code" in fields or "error" in fields):
        raise SignInFailed("That address is not whole: copy all of it from the browser's address bar.")
    return fields
