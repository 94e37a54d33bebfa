"""HTTP mode: payloads are posted to the app's request URL, signed with the signing secret."""

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Container
from typing import Any
from urllib.parse import urlencode, urljoin

import aiohttp

from bot.workspace.transport import Ack, PayloadKind, Retry

HTTP_OK = 200
EVENT_ACK_STATUSES = range(200, 300)
RETRY_REASONS = {"timeout": "http_timeout", "connection_failed": "connection_failed"}


class HttpMode:
    """Posts payloads as Slack does. Before the first event, the app must answer `url_verification`.

    `paths` are the manifest's `request_paths`: a payload listed there goes to that path of the host of `url`.
    """

    def __init__(self, url: str, signing_secret: str, token: str, ack_seconds: float, paths: dict[str, str]) -> None:
        self._url, self._paths = url, paths
        self._secret = signing_secret.encode()
        self._token = token
        self._timeout = aiohttp.ClientTimeout(total=ack_seconds)
        self._session: aiohttp.ClientSession | None = None
        self._is_verified = False

    async def send(self, kind: PayloadKind, payload: dict[str, Any], retry: Retry | None = None) -> Ack:
        """Post a payload. It is acknowledged by an answer in time with 200 or, for an event, any 2xx."""
        if kind == "events_api" and not self._is_verified:
            answer = await self.verify_request_url()
            if not answer.ok:
                return answer
            self._is_verified = True
        headers = {}
        if retry:
            reason = RETRY_REASONS.get(retry.reason, retry.reason)
            headers = {"X-Slack-Retry-Num": str(retry.attempt), "X-Slack-Retry-Reason": reason}
        if kind == "events_api":
            body, content_type = json.dumps(payload), "application/json"
        else:
            form = {"payload": json.dumps(payload)} if kind == "interactive" else payload
            body, content_type = urlencode(form), "application/x-www-form-urlencoded"
        path = self._paths.get(str(payload["command"]) if kind == "slash_commands" else kind, "")
        good = EVENT_ACK_STATUSES if kind == "events_api" else (HTTP_OK,)
        return await self._post(body, {**headers, "Content-Type": content_type}, urljoin(self._url, path), good)

    async def verify_request_url(self) -> Ack:
        """Send the challenge that Slack sends when a request URL is saved. `ok` is False unless the app returns it."""
        challenge = secrets.token_hex(24)
        body = {"token": self._token, "challenge": challenge, "type": "url_verification"}
        ack = await self._post(json.dumps(body), {"Content-Type": "application/json"}, self._url)
        answer = ack.body or {}
        if ack.ok and challenge in (answer.get("challenge"), answer.get("text")):
            return ack
        return Ack(ok=False, failure="url_verification_failed", detail=ack.detail)

    async def close(self) -> None:
        """Close the connections."""
        if self._session:
            await self._session.close()

    async def _post(
        self, body: str, headers: dict[str, str], url: str, accepted_statuses: Container[int] = (HTTP_OK,)
    ) -> Ack:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=self._timeout)
        stamp = str(int(time.time()))  # the app compares it with the real time, not with the workspace's
        signature = hmac.new(self._secret, f"v0:{stamp}:{body}".encode(), hashlib.sha256).hexdigest()
        signing = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={signature}"}
        try:
            post_context = self._session.post(url, data=body.encode(), headers={**headers, **signing})
            async with post_context as response:
                text = await response.text()
        except TimeoutError:
            return Ack(ok=False, failure="timeout")
        except aiohttp.ClientError:
            return Ack(ok=False, failure="connection_failed", detail=f"nothing answers at {url}")
        if response.status not in accepted_statuses:
            is_final = response.headers.get("X-Slack-No-Retry") == "1"
            return Ack(ok=False, failure="http_error", is_final=is_final, detail=f"the app answered {response.status}")
        return Ack(ok=True, body=_parse_ack_body(text, response.content_type))


def _parse_ack_body(text: str, content_type: str) -> dict[str, Any] | None:
    if not text:
        return None
    if content_type == "application/json":
        try:
            body = json.loads(text)
        except ValueError:
            return None
        return body if isinstance(body, dict) else None
    return {"text": text}
