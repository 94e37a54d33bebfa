"""Signs a person in to one MCP server: makes the link, and exchanges what comes back for tokens.

The browser ends at a page of the bot's, if it has an address; otherwise at an address of the person's own machine where
nobody answers, and the person pastes that address. Both hold a code, which is worthless without the proof (PKCE) that
we keep, and the state by which we find the sign-in it belongs to. Each state works once, within `LASTS` seconds, for
the person who got the link.
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

from handoff.text.visible_text import visible
from specialists.mcp.kept_grant import GrantRefused, KeptGrant, TokenPlace, request_grant
from specialists.mcp.oauth_metadata import Authority, discover
from specialists.mcp.oauth_requests import send_request
from specialists.mcp.sdk import load_sdk
from specialists.mcp.server_config import ServerConfig
from specialists.tools.tool import WorkbenchLost
from specialists.tools.tool_sign_in import LANDS, KeptSignIns, SignInFailed

if TYPE_CHECKING:
    import httpx2

LASTS = 600.0
"""Seconds for which a link works."""
LONGEST_LINK = 2_900
"""Most characters of a link: Slack's buttons hold 3,000."""
SIGN_IN = (
    'it wants somebody to sign in; whoever runs the bot writes "auth": "oauth" for it into .mcp.json, or gives it a '
    "token under headers"
)
SIGN_IN_AGAIN = "it no longer accepts the sign-in; the next call asks somebody to sign in again"
_CLIENT = "Leadhand"
_AGAIN = "get a new link"
_LONGEST_SHOWN = 50
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
    lands: str = LANDS
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
        said = json.dumps([crew, config.name, config.url, config.client[0]])
        self._mark = hashlib.sha256(said.encode()).hexdigest()[:32]
        self._grant = KeptGrant(f"grant:{self._mark}", config.url, clock)
        self.kept: KeptSignIns | None = None

    @property
    def server(self) -> str:
        """The server's name."""
        return self._config.name

    @property
    def host(self) -> str:
        """The server's host, as people know it."""
        return self._config.recipient

    async def is_signed_in(self, kept: KeptSignIns) -> bool:
        """Return True if there are stored tokens. From now on, the connection takes its tokens from `kept`."""
        self.kept = kept
        return await self._grant.read(kept) is not None

    async def begin(self, kept: KeptSignIns, user: str, lands: str = LANDS, about: str = "") -> str:
        """Find the authorization server, register with it, and return the link at which a person signs in.

        Raises SignInFailed.
        """
        await load_sdk()
        from mcp.client.auth import PKCEParameters  # noqa: PLC0415 - heavy

        authority = await discover(self._config.url)
        place = await self._register_client_place(authority, lands)
        proof, state = PKCEParameters.generate(), secrets.token_urlsafe(32)
        asked = {
            "response_type": "code",
            "client_id": place.client_id,
            "redirect_uri": lands,
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
            until=self._clock() + LASTS,
            verifier=proof.code_verifier,
            issuer=authority.issuer,
            names_issuer=bool(authority.metadata.authorization_response_iss_parameter_supported),
            place=place,
            lands=lands,
            about=about,
        )
        await kept.keep(_name_of(state), pending.model_dump_json(), LASTS)
        return link

    async def finish(self, kept: KeptSignIns, user: str, landed: str, lands: str = LANDS) -> None:
        """Check the address where a browser ended, and exchange its code for tokens, once. Raises SignInFailed."""
        said = _parse_landing(landed, lands)
        name = _name_of(said.get("state", ""))
        self._check(await kept.read(name), user, said, lands)
        pending = self._check(await kept.take(name), user, said, lands)  # from here on nobody else can use it
        if "code" not in said:
            code = visible(said.get("error", ""))[:40]
            raise SignInFailed(f"Nobody was signed in: the page said “{code}”. To try again, {_AGAIN}.")
        data = {
            "grant_type": "authorization_code",
            "code": said["code"],
            "redirect_uri": pending.lands,
            "code_verifier": pending.verifier,
        }
        try:
            grant = await request_grant(pending.place, data, self._config.url, self._clock())
        except GrantRefused as refused:
            raise SignInFailed(f"{refused} Each address works once: {_AGAIN}.") from None
        await self._grant.keep(kept, grant)

    def _check(self, text: str, user: str, said: dict[str, str], lands: str) -> PendingSignIn:
        """Return the sign-in that an address belongs to.

        Raises SignInFailed unless it is this person's, for this server, and not over.
        """
        try:
            pending = PendingSignIn.model_validate_json(text or "null")
        except ValidationError:
            pending = None
        if pending is None or pending.server != self._mark or self._clock() > pending.until:
            raise SignInFailed(f"That address was used, or is older than {LASTS / 60:g} minutes: {_AGAIN}.")
        if pending.user != user:
            raise SignInFailed(f"That address is from somebody else's link: {_AGAIN} of your own.")
        if pending.lands != lands:
            raise SignInFailed(f"My own address has changed since that link: {_AGAIN}.")
        if said.get("iss", pending.issuer if not pending.names_issuer else "") != pending.issuer:
            raise SignInFailed("That address is not from the page that the link leads to: open the link again.")
        return pending

    async def _register_client_place(self, authority: Authority, lands: str) -> TokenPlace:
        """Return our client at the authorization server; register one unless the operator has."""
        endpoint, resource = str(authority.metadata.token_endpoint), authority.resource
        own, secret = self._config.client
        if own:
            method = "client_secret_post" if secret else "none"
            return TokenPlace(endpoint=endpoint, resource=resource, client_id=own, client_secret=secret, method=method)
        if authority.metadata.registration_endpoint is None:
            raise SignInFailed(
                "The server accepts only registered clients: whoever runs the bot registers one there, and puts its "
                "clientId into .mcp.json."
            )
        client_id, secret, method = await _register_client(authority, self._config.url, lands)
        return TokenPlace(
            endpoint=endpoint, resource=resource, client_id=client_id, client_secret=secret, method=method
        )

    # ------------------------------------------------------------ at work

    def auth(self, again: Callable[[], None]) -> httpx2.Auth:
        """Make the `httpx2.Auth` that adds the token to each request, and drops a token that the server refuses.

        `again` is called before a refused request is sent once more.
        """
        import httpx2  # noqa: PLC0415 - comes with the SDK

        sign_in = self

        class Bearer(httpx2.Auth):
            """Sends a request again, with a new token, if the server refused its token and so did nothing."""

            async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
                """Send the request with a token, and once more with a new one if it is refused."""
                token = await self.token(request)
                response = yield request
                if token and response.status_code == 401 and (renewed := await self.token(request, refused=token)):
                    again()
                    response = yield request
                    if response.status_code == 401:
                        await sign_in.drop(renewed)

            async def token(self, request: httpx2.Request, refused: str = "") -> str:
                """Add a token to the request, if there is one, and return it."""
                try:
                    token = await sign_in.token(refused)
                except (SignInFailed, WorkbenchLost) as error:
                    raise httpx2.ConnectError(f"its sign-in cannot be renewed: {error}", request=request) from None
                if token:
                    request.headers["Authorization"] = f"Bearer {token}"
                return token

        return Bearer()

    async def token(self, refused: str = "") -> str:
        """Return a token for a request; "" if there is none. Raises SignInFailed if it cannot be renewed now."""
        return await self._grant.token(self.kept, refused) if self.kept is not None else ""

    async def drop(self, refused: str) -> None:
        """Delete tokens that the server refuses, so that somebody is asked to sign in before the next call."""
        if self.kept is not None:
            await self._grant.drop(self.kept, refused)


async def _register_client(authority: Authority, server: str, lands: str) -> tuple[str, str, str]:
    """Register us with the authorization server. Returns (client id, secret, how the secret is sent)."""
    from mcp.client.auth import OAuthFlowError, utils  # noqa: PLC0415 - heavy
    from mcp.client.auth.oauth2 import check_registration_usable  # noqa: PLC0415 - heavy
    from mcp.shared.auth import OAuthClientMetadata  # noqa: PLC0415 - heavy
    from pydantic import AnyUrl  # noqa: PLC0415 - beside the others

    us = OAuthClientMetadata(
        redirect_uris=[AnyUrl(lands)],
        client_name=_CLIENT,
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


def _name_of(state: str) -> str:
    return f"pending:{hashlib.sha256(state.encode('utf-8', 'replace')).hexdigest()}"


async def pending_of(kept: KeptSignIns, query: str) -> PendingSignIn | None:
    """Return the sign-in under way that an address's query belongs to; None if there is none or it is over."""
    try:
        states = parse_qs(query, max_num_fields=20).get("state", [])
        return PendingSignIn.model_validate_json(await kept.read(_name_of(states[0])) or "null") if states else None
    except ValueError:
        return None


def _parse_landing(landed: str, lands: str) -> dict[str, str]:
    """Return the query fields of the address where a browser ended, without repeated ones. Raises SignInFailed."""
    text = landed.strip().strip("<>").strip()
    if not text.startswith(f"{lands}?"):
        begins = lands if len(lands) <= _LONGEST_SHOWN else f"{lands[:_LONGEST_SHOWN]}..."
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
