"""Finds where people sign in to an MCP server, from its metadata and that of its authorization server.

None of it is trusted: each address in it is checked (`oauth_requests.find_url_fault`). Metadata of another server, or
of another authorization server than the one named, is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from handoff.text.invisible_characters import remove_invisible
from specialists.mcp.oauth_requests import find_url_fault, send_request
from specialists.mcp.sdk import load_sdk
from specialists.tools.tool_sign_in import SignInFailed

if TYPE_CHECKING:
    import httpx2
    from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata

_PKCE_METHOD = "S256"


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """The authorization server of an MCP server, with the resource and scope to request tokens for; None: no scope."""

    metadata: OAuthMetadata
    resource: str
    scope: str | None

    @property
    def issuer(self) -> str:
        """The authorization server's issuer identifier (a URL)."""
        return str(self.metadata.issuer)


async def find_authorization_server(server: str) -> AuthorizationServer:
    """Fetch the metadata of the authorization server for the MCP server at an address. Raises SignInFailed."""
    await load_sdk()
    from mcp.client.auth import utils  # noqa: PLC0415 - heavy
    from mcp.shared.auth_utils import resource_url_from_server_url  # noqa: PLC0415 - heavy

    probe_answer = await send_request(_make_probe_request(server), server)
    if probe_answer.status_code not in (401, 403):
        raise SignInFailed(f"The server answers {probe_answer.status_code} and asks nobody to sign in.")
    metadata_url = utils.extract_resource_metadata_from_www_auth(probe_answer)
    resource_metadata = await _fetch_resource_metadata(
        utils.build_protected_resource_metadata_discovery_urls(metadata_url, server), server
    )
    issuer = str(resource_metadata.authorization_servers[0]) if resource_metadata is not None else None
    urls = utils.build_oauth_authorization_server_metadata_discovery_urls(issuer, server)
    parts = urlsplit(server)
    metadata = await _fetch_server_metadata(urls, issuer or f"{parts.scheme}://{parts.netloc}", server)
    check_metadata(metadata, server)
    requested_scope = utils.extract_scope_from_www_auth(probe_answer)
    scope = utils.get_client_metadata_scopes(
        requested_scope, resource_metadata, metadata, ["authorization_code", "refresh_token"]
    )
    return AuthorizationServer(
        metadata, str(resource_metadata.resource) if resource_metadata else resource_url_from_server_url(server), scope
    )


def _make_probe_request(server: str) -> httpx2.Request:
    """Make a `ping` request without a token, to which a server answers where to sign in."""
    import httpx2  # noqa: PLC0415 - comes with the SDK

    accepts = {"Accept": "application/json, text/event-stream"}
    return httpx2.Request("POST", server, json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=accepts)


async def _fetch_resource_metadata(urls: list[str], server: str) -> ProtectedResourceMetadata | None:
    """Fetch an MCP server's metadata on itself; None if it has none, like older servers. Raises SignInFailed."""
    from mcp.client.auth import utils  # noqa: PLC0415 - heavy
    from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url  # noqa: PLC0415 - heavy

    for url in urls:
        metadata = await utils.handle_protected_resource_response(
            await send_request(utils.create_oauth_metadata_request(url), server)
        )
        if metadata is None:
            continue
        if not check_resource_allowed(resource_url_from_server_url(server), str(metadata.resource)):
            raise SignInFailed(f"The server says that it is another one ({_shorten_text(str(metadata.resource))}).")
        return metadata
    return None


async def _fetch_server_metadata(urls: list[str], issuer: str, server: str) -> OAuthMetadata:
    from mcp.client.auth import utils  # noqa: PLC0415 - heavy

    for url in urls:
        may_continue, metadata = await utils.handle_auth_metadata_response(
            await send_request(utils.create_oauth_metadata_request(url), server)
        )
        if metadata is not None:
            if not utils.issuers_match(str(metadata.issuer), issuer):
                raise SignInFailed(
                    f"The authorization server says that it is another one ({_shorten_text(str(metadata.issuer))})."
                )
            return metadata
        if not may_continue:
            break
    raise SignInFailed(f"{urlsplit(urls[0]).hostname} does not say how to sign in there (no OAuth metadata).")


def check_metadata(metadata: OAuthMetadata, server: str) -> None:
    """Raise SignInFailed if metadata names an address that may not be used, or does not offer PKCE."""
    for url in (metadata.authorization_endpoint, metadata.token_endpoint, metadata.registration_endpoint):
        if url is not None and (fault := find_url_fault(str(url), server)):
            raise SignInFailed(f"The server names an address that cannot be used: {_shorten_text(str(url))} {fault}.")
    if _PKCE_METHOD not in (metadata.code_challenge_methods_supported or ()):
        raise SignInFailed(
            "The authorization server does not offer PKCE (S256), so signing in there would not be safe."
        )


def _shorten_text(text: str) -> str:
    return remove_invisible(text)[:120]
