"""Answers a request to /api/METHOD: checks token, limits, scopes and arguments, and applies faults."""

import asyncio
import base64
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from bot.workspace.app_parts import AppParts, RecordedCall
from bot.workspace.fault_injection import InjectedFault
from bot.workspace.refusal import Refusal
from bot.workspace.web_api.api_call import Answer, ApiMethod, Call
from bot.workspace.web_api.arguments import convert_arguments, read_arguments
from bot.workspace.web_api.method_table import METHODS

SERVER_ERROR = 500
SINGLE_TEAM_METHODS = frozenset(
    {"conversations.list", "team.info", "usergroups.list", "users.conversations", "users.list"}
)
"""Methods for which a call with an organisation's token must name a team."""
TOO_MANY_REQUESTS = 429
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ApiDispatcher:
    """Answers Web API calls."""

    def __init__(self, world: AppParts) -> None:
        self._world = world
        self._scopes = ",".join(sorted(world.state.app.scopes))

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer one request as Slack would, and record the call. The token decides which app and workspace answer."""
        began, name = time.perf_counter(), request.match_info["method"]
        if (other_handler := await self._find_other_handler(request)) is not None:
            return await other_handler(request)
        method = METHODS.get(name)
        fault = self._world.faults.pop_call_fault(name)
        if fault and fault.kind == "server_error_before":
            return self._answer_server_error(name, began, "internal_error")
        if fault and fault.kind == "rate_limited":
            return self._answer_rate_limited(name, {}, began, fault.retry_after, fault.kind)
        raw: dict[str, Any] = {}
        try:
            raw = await read_arguments(request)
            if method is None:
                raise Refusal("unknown_method", req_method=name)  # noqa: TRY301  # all refusals are answered below
            self._check_token(request, raw, method)
            wait = self._world.rate_limits.reserve_call(
                name, method.rate, str(raw.get(method.rate.bucket_argument, ""))
            )
            if wait:
                return self._answer_rate_limited(name, raw, began, wait)
            body = await self._call_method(request, name, method, raw, fault)
        except Refusal as refusal:
            body = refusal.make_body()
        return await self._reply(request, name, raw, began, body, fault)

    async def _find_other_handler(self, request: web.Request) -> Handler | None:
        """Return the handler of the app or workspace that the token belongs to; None if it is this one, or unknown."""
        oauth, here = self._world.oauth, self._world.state.identity.team_id
        if len(oauth.states) == len(self._world.apps) == 1:
            return None
        try:
            raw = await read_arguments(request) | _read_credentials(request)
        except Refusal:
            return None
        token = _read_token(request, raw)
        owners = (world for world in self._world.apps if world.oauth.belongs_to_app(token, str(raw.get("client_id"))))
        owner = next(owners, self._world)
        if owner is not self._world:
            return owner.oauth.api_handlers[here]
        team = oauth.find_team(token, raw)
        return oauth.api_handlers[team] if team not in ("", here) else None

    async def _call_method(
        self, request: web.Request, name: str, method: ApiMethod, raw: dict[str, Any], fault: InjectedFault | None
    ) -> Answer:
        if request.method == "GET" and not method.allows_get:
            raise Refusal("method_not_allowed_by_get")
        if fault and fault.kind == "error":
            raise Refusal(fault.error)
        oauth, token = self._world.oauth, _read_token(request, raw)
        call = Call(
            self._world,
            name,
            {},
            has_organisation_token=oauth.is_organisation_token(token),
            step_run_id=oauth.find_step_run(token),
        )
        if call.has_organisation_token and name in SINGLE_TEAM_METHODS and not raw.get("team_id"):
            raise Refusal("missing_argument", "[ERROR] missing required field: team_id")
        if method.scopes:
            call.require_scope(*method.scopes)
        call.args = convert_arguments(method, raw)
        if fault and fault.kind == "lagging_history":
            call.lag_seconds = fault.seconds
        answer = {"ok": True, **await method.handler(call)}
        if call.warnings:
            answer["warning"] = ",".join(call.warnings)
            answer.setdefault("response_metadata", {})["warnings"] = call.warnings
        return answer

    def _check_token(self, request: web.Request, raw: dict[str, Any], method: ApiMethod) -> None:
        if method.auth_kind == "none":
            raw |= _read_credentials(request)
            return
        token = _read_token(request, raw)
        if not token:
            raise Refusal("not_authed")
        kind = self._world.oauth.validate_token(token, self._world.state)
        if kind != method.auth_kind:
            raise Refusal("not_allowed_token_type")
        if self._world.token_error and kind == "bot":
            raise Refusal(self._world.token_error)

    async def _reply(
        self,
        request: web.Request,
        name: str,
        raw: dict[str, Any],
        start_time: float,
        body: Answer,
        fault: InjectedFault | None,
    ) -> web.StreamResponse:
        # The answer is serialised at once: messages in it may change while a slow reply waits.
        text = json.dumps(body)
        kind = fault.kind if fault else ""
        self._record_call(name, raw, start_time, body, text, kind)
        if fault and kind == "slow_reply":
            await asyncio.sleep(fault.seconds)
        if kind == "lost_reply" and request.transport:
            request.transport.abort()
        if kind == "server_error_after":
            return web.json_response({"ok": False, "error": "internal_error"}, status=SERVER_ERROR)
        headers = {"x-oauth-scopes": self._scopes, "x-slack-req-id": str(len(self._world.calls))}
        return web.Response(text=text, content_type="application/json", headers=headers)

    def _answer_rate_limited(
        self, name: str, raw: dict[str, Any], start_time: float, seconds: int, fault: str = ""
    ) -> web.Response:
        body = {"ok": False, "error": "ratelimited"}
        self._record_call(name, raw, start_time, body, json.dumps(body), fault)
        return web.json_response(body, status=TOO_MANY_REQUESTS, headers={"Retry-After": str(seconds)})

    def _answer_server_error(self, name: str, start_time: float, error: str) -> web.Response:
        body = {"ok": False, "error": error}
        self._record_call(name, {}, start_time, body, json.dumps(body), "server_error_before")
        return web.json_response(body, status=SERVER_ERROR)

    def _record_call(
        self, name: str, raw: dict[str, Any], start_time: float, body: Answer, text: str, fault: str
    ) -> None:
        args = {key: value for key, value in raw.items() if key != "token"}
        error = str(body.get("error", ""))
        self._world.calls.append(RecordedCall(name, args, self._world.state.clock.now(), not error, error))
        self._world.call_counts[name] += 1
        hints = [body.get("needed"), *(body.get("response_metadata") or {}).get("messages", ())] if error else []
        error_text = ": ".join([error, *(str(hint) for hint in hints[:2] if hint)])
        self._world.traffic.add_call(name, args, text, error_text, time.perf_counter() - start_time, fault)
        self._world.state.changes.wake_waiters()


def _read_token(request: web.Request, raw: dict[str, Any]) -> str:
    header = request.headers.get("Authorization", "")
    return header.removeprefix("Bearer ") if header.startswith("Bearer ") else str(raw.get("token", ""))


def _read_credentials(request: web.Request) -> dict[str, str]:
    """Return `client_id` and `client_secret` from a Basic Authorization header; empty if there is none."""
    header = request.headers.get("Authorization", "")
    if not header.startswith("Basic "):
        return {}
    try:
        login, _, password = base64.b64decode(header.removeprefix("Basic "), validate=True).decode().partition(":")
    except ValueError as error:
        raise Refusal("invalid_client_id") from error
    return {"client_id": login, "client_secret": password}
