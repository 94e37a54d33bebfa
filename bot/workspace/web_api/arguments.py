"""Reads the arguments of a call from query, form or JSON, and converts each to the kind that the method takes."""

from typing import Any

from aiohttp import web

from bot.workspace.refusal import Refusal
from bot.workspace.request_body import parse_json, read_form, read_json
from bot.workspace.web_api.api_call import ApiMethod, ArgumentKind

COMMON_ARGUMENTS = frozenset({"token", "team_id"})
TRUE_TEXTS = frozenset({"1", "true", "True"})
FALSE_TEXTS = frozenset({"0", "false", "False", ""})
INVALID_JSON_ERRORS = {"blocks": "invalid_blocks_format", "metadata": "invalid_metadata_format"}
"""Slack's error codes for arguments that are not valid JSON. Any other argument gives `invalid_arguments`."""


ARGUMENTS_KEY: web.RequestKey[Any] = web.RequestKey("arguments", dict)
"""The key under which `read_arguments` caches a request's arguments, since a body can be read only once."""


async def read_arguments(request: web.Request) -> dict[str, Any]:
    """Return the arguments in the query and the body of a request.

    Raises:
        Refusal: `invalid_json`, `json_not_object`, `invalid_form_data`, `invalid_post_type`.
    """
    if ARGUMENTS_KEY not in request:
        request[ARGUMENTS_KEY] = await _read_request(request)
    return dict(request[ARGUMENTS_KEY])


async def _read_request(request: web.Request) -> dict[str, Any]:
    args: dict[str, Any] = dict(request.query)
    if request.method == "GET" or not request.can_read_body:
        return args
    kind = request.content_type
    if kind == "application/json":
        try:
            body = await read_json(request)
        except ValueError as error:
            raise Refusal("invalid_json") from error
        if not isinstance(body, dict):
            raise Refusal("json_not_object")
        body.pop("token", None)  # Slack reads a token from the header or a form, never from JSON
        return {**args, **body}
    if kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
        try:
            form = await read_form(request)
        except ValueError as error:
            raise Refusal("invalid_form_data") from error
        if any(not isinstance(value, str) for value in form.values()):
            raise Refusal("invalid_form_data")
        return {**args, **form}
    raise Refusal("invalid_post_type")


def convert_arguments(method: ApiMethod, raw_arguments: dict[str, Any]) -> dict[str, Any]:
    """Convert raw arguments to the kinds that the method takes.

    Unlike on Slack, which ignores most unknown arguments, they are refused here,
    because they are mistakes.

    Raises:
        Refusal: `invalid_arguments`, which names them, or one of `INVALID_JSON_ERRORS`.
    """
    complaints: list[str] = []
    args: dict[str, Any] = {}
    for name, value in raw_arguments.items():
        if value is None or name in COMMON_ARGUMENTS:
            continue
        kind = method.arguments.get(name)
        if kind is None:
            complaints.append(f"[ERROR] unknown argument: {name}")
            continue
        try:
            args[name] = _convert_value(kind, value)
        except ValueError as error:
            if name in INVALID_JSON_ERRORS:
                raise Refusal(INVALID_JSON_ERRORS[name]) from error
            complaints.append(f"[ERROR] {error} [json-pointer:/{name}]")
    complaints += [f"[ERROR] missing required field: {name}" for name in method.required_arguments if name not in args]
    if complaints:
        raise Refusal("invalid_arguments", *complaints)
    return args


def _convert_value(kind: ArgumentKind, value: Any) -> Any:
    if kind == "json":
        return _parse_json(value)
    if kind == "ids":
        return _parse_ids(value)
    if kind == "bool":
        return _parse_bool(value)
    if kind == "int":
        try:
            return int(value)
        except (TypeError, ValueError):
            raise ValueError("must be an integer") from None
    if isinstance(value, (dict, list)):
        raise ValueError("must be a string")  # noqa: TRY004  # told to the caller as a complaint
    return value if isinstance(value, str) else str(value)


def _parse_json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except ValueError:
        raise ValueError("must be valid JSON") from None


def _parse_ids(value: Any) -> list[str]:
    if isinstance(value, str) and not value.lstrip().startswith("["):
        return [each.strip() for each in value.split(",") if each.strip()]
    ids = _parse_json(value)
    if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
        raise ValueError("must be an array of strings")
    return ids


def _parse_bool(value: Any) -> bool:
    text = str(value)
    if text in TRUE_TEXTS:
        return True
    if text in FALSE_TEXTS:
        return False
    raise ValueError("must be a boolean")
