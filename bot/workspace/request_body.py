"""Reads JSON and forms from requests. All values can be stored and sent again; anything else raises ValueError."""

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web


def parse_json(text: str) -> Any:
    r"""Return the value of a JSON text.

    Raises:
        ValueError: It is not JSON, nested too deep, or has half a character (`"\ud800"`) or a number without bounds
            (`NaN`, `1e400`), which Python reads but no other reader takes back.
    """
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return value


async def read_json(request: web.Request) -> Any:
    """Return the JSON in a request's body. Raises ValueError, also if the body is not in the charset that it names."""
    try:
        return parse_json(await request.text())
    except LookupError as error:  # there is no such charset
        raise ValueError(str(error)) from error


async def read_form(request: web.Request) -> Mapping[str, Any]:
    """Return the fields of the form in a request's body: texts, and files. Raises ValueError if it is malformed."""
    try:
        return await request.post()
    except LookupError as error:  # there is no such charset
        raise ValueError(str(error)) from error
