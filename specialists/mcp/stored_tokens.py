"""Gets, stores, renews and drops the tokens of a sign-in to an MCP server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from handoff.text.invisible_characters import remove_invisible
from specialists.mcp.oauth_requests import send_request
from specialists.mcp.sdk import load_sdk
from specialists.tools.tool_sign_in import SignInFailed, SignInStore

if TYPE_CHECKING:
    from mcp.shared.auth import OAuthToken

RENEW_EARLY_SECONDS = 10.0
"""Seconds before its expiry at which a token is renewed."""
_MODEL_CONFIG = ConfigDict(frozen=True, hide_input_in_errors=True)


class GrantRefused(SignInFailed):
    """The authorization server rejects our code or token: somebody has to sign in again."""


class OAuthClient(BaseModel):
    """Where tokens come from: the token endpoint, the resource that they are for, and our client id and secret.

    `method` says how the client id and secret are sent.
    """

    model_config = _MODEL_CONFIG

    endpoint: str
    resource: str
    client_id: str
    client_secret: str = ""
    method: str = "none"


class TokenSet(BaseModel):
    """The tokens for a server. The `access` token expires at `until`, in seconds since the epoch; None: unknown."""

    model_config = _MODEL_CONFIG

    access: str
    refresh: str = ""
    until: float | None = None
    place: OAuthClient


async def request_tokens(place: OAuthClient, data: dict[str, str], server: str, now: float) -> TokenSet:
    """Request tokens at the token endpoint. Raises GrantRefused for status 400, 401 or 403, otherwise SignInFailed.

    `data` holds the form fields of the grant, `server` is the MCP server's address, and `now` is in seconds since the
    epoch.
    """
    await load_sdk()
    import httpx2  # noqa: PLC0415 - comes with the SDK
    from mcp.client.auth import OAuthFlowError  # noqa: PLC0415 - heavy
    from mcp.client.auth.utils import handle_token_response_scopes  # noqa: PLC0415 - heavy

    form, headers = _add_client_fields(
        place, {**data, "client_id": place.client_id, "resource": place.resource}, server
    )
    answer = await send_request(httpx2.Request("POST", place.endpoint, data=form, headers=headers), server)
    if answer.status_code in (400, 401, 403):
        raise GrantRefused(f"The server did not accept it ({_read_error_code(answer)}).")
    if answer.status_code not in (200, 201):
        raise SignInFailed(f"The authorization server answered {answer.status_code}.")
    try:
        token = await handle_token_response_scopes(answer)
    except (OAuthFlowError, ValueError):
        raise SignInFailed("The authorization server gave no token.") from None
    return _make_token_set(token, place, now, earlier_refresh=data.get("refresh_token", ""))


def _make_token_set(token: OAuthToken, place: OAuthClient, now: float, *, earlier_refresh: str) -> TokenSet:
    if not token.access_token.isascii() or not token.access_token.isprintable() or " " in token.access_token:
        raise SignInFailed("The authorization server gave no token.")
    until = now + token.expires_in if token.expires_in is not None else None
    return TokenSet(access=token.access_token, refresh=token.refresh_token or earlier_refresh, until=until, place=place)


def _add_client_fields(place: OAuthClient, form: dict[str, str], server: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the form and headers of a token request with our client's id and secret added, as the SDK does it."""
    from mcp.client.auth import OAuthTokenError  # noqa: PLC0415 - heavy
    from mcp.client.auth.oauth2 import OAuthContext  # noqa: PLC0415 - heavy
    from mcp.shared.auth import OAuthClientInformationFull  # noqa: PLC0415 - heavy

    client_fields = {"client_id": place.client_id, "client_secret": place.client_secret}
    client = OAuthClientInformationFull(**client_fields, token_endpoint_auth_method=place.method)
    nothing: Any = None  # only the part of the context on the client is used
    context = OAuthContext(server, nothing, nothing, None, None, client_info=client)
    try:
        return context.prepare_token_auth(form, {"Accept": "application/json"})
    except OAuthTokenError:
        raise SignInFailed(
            "The authorization server wants Leadhand to identify itself in a way that it does not support."
        ) from None


def _read_error_code(answer: Any) -> str:
    """Return the `error` field of an answer, at most 40 visible characters; its status if there is none."""
    try:
        answer_fields = answer.json()
        code = answer_fields.get("error", "") if isinstance(answer_fields, dict) else ""
    except ValueError:
        code = ""
    return remove_invisible(str(code))[:40] or f"status {answer.status_code}"


class TokenStorage:
    """The stored tokens of one server, shared by all instances of the bot.

    Args:
        name: The name under which they are stored.
        server: The server's address.
        clock: Returns seconds since the epoch.
    """

    def __init__(self, name: str, server: str, clock: Callable[[], float] = time.time) -> None:
        self._name, self._server, self._clock = name, server, clock
        self._renewal_lock = asyncio.Lock()

    async def read_tokens(self, store: SignInStore) -> TokenSet | None:
        """Return the stored tokens; None if there are none, or they are expired and cannot be renewed."""
        try:
            grant = TokenSet.model_validate_json(await store.read(self._name) or "null")
        except ValidationError:
            return None
        return grant if grant.refresh or not self._is_expired(grant) else None

    async def store_tokens(self, store: SignInStore, grant: TokenSet) -> None:
        """Store tokens in place of earlier ones."""
        await store.keep(self._name, grant.model_dump_json())

    async def get_token(self, store: SignInStore, refused_token: str = "") -> str:
        """Return a valid access token, renewed if need be; "" if somebody has to sign in.

        If `refused_token`, which the server rejected, is the stored token, it is renewed too. Without a refresh token,
        or if renewal is refused, the stored tokens are deleted. Raises SignInFailed if renewal fails otherwise.
        """
        async with self._renewal_lock:
            grant = await self.read_tokens(store)
            if grant is None or not (self._is_expired(grant) or grant.access == refused_token):
                return grant.access if grant is not None else ""
            try:
                renewed_grant = await self._renew_tokens(grant)
            except GrantRefused:
                current_tokens = await self.read_tokens(store)
                if current_tokens is not None and current_tokens.access not in (grant.access, refused_token):
                    return current_tokens.access  # another instance was quicker
                await store.pop(self._name)
                return ""
            await self.store_tokens(store, renewed_grant)
            return renewed_grant.access

    async def drop_token(self, store: SignInStore, refused_token: str) -> None:
        """Delete the stored tokens if `refused_token` is still their access token."""
        async with self._renewal_lock:
            grant = await self.read_tokens(store)
            if grant is not None and grant.access == refused_token:
                await store.pop(self._name)

    async def _renew_tokens(self, grant: TokenSet) -> TokenSet:
        if not grant.refresh:
            raise GrantRefused("There is nothing to renew it with.")
        data = {"grant_type": "refresh_token", "refresh_token": grant.refresh}
        return await request_tokens(grant.place, data, self._server, self._clock())

    def _is_expired(self, grant: TokenSet) -> bool:
        return grant.until is not None and self._clock() > grant.until - RENEW_EARLY_SECONDS
