"""Chooses the pictures that a model is sent: none if it reads text only, otherwise those within the wire's limits.

A picture that is not sent is replaced by a line that names it and the reason. People get the same line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from specialists.formats.picture_facts import pixels
from specialists.model import ModelCall, ModelMessage, Picture

BLIND = "which reads text only"
REFUSED = "as its server refused the picture"

_OPENAI_SEES = re.compile(r"(?:gpt-(?:4o|4\.1|4\.5|4-turbo|[5-9])|chatgpt-4o|o[134](?!-mini-20|-preview|-mini$))")
_CLAUDE_BLIND = re.compile(r"claude-(?:instant|v?[12]\b)")
_OF_PICTURES = re.compile(r"\bimages?\b|image_url|input_image|pictures?|vision|multi-?modal|mmproj", re.IGNORECASE)
_NEVER = re.compile(
    r"not support|n't support|unsupported|support image|not accept|text.only|no vision|mmproj|not multi-?modal",
    re.IGNORECASE,
)
_THIS_ONE = re.compile(
    r"unsupported image|image (?:format|type|data)|media.?type|invalid image|too large", re.IGNORECASE
)
_REFUSING = frozenset({400, 404, 413, 415, 422, 500, 501})
"""HTTP statuses with which servers refuse a picture; llama.cpp uses 500."""


@dataclass(frozen=True, slots=True)
class PictureLimits:
    """Limits on the pictures in one request. Bytes are those of the files; base64 makes them a third larger.

    Attributes:
        count: Most pictures.
        size: Most bytes of one picture.
        total: Most bytes of all pictures.
        side: Most pixels of a side.
        crowd: The number of pictures above which `crowd_side` holds in place of `side`.
        crowd_side: Most pixels of a side if there are many pictures.
    """

    count: int
    size: int
    total: int
    side: int
    crowd: int
    crowd_side: int


ANTHROPIC_LIMITS = PictureLimits(100, 3_750_000, 22_000_000, 8_000, 20, 2_000)
"""Anthropic allows 5 MB per picture and 32 MB per request, both in base64."""
OPENAI_LIMITS = PictureLimits(500, 15_000_000, 36_000_000, 16_000, 500, 16_000)
"""OpenAI allows 50 MB per request in base64. The limits of compatible servers are unknown."""


def openai_sees_pictures(model: str) -> bool:
    """Return True if OpenAI's own model of that name sees pictures, which its API does not report."""
    return _OPENAI_SEES.match(model) is not None


def claude_sees_pictures(model: str) -> bool:
    """Return True if Anthropic's own model of that name sees pictures: all do from the third generation on."""
    return model.startswith("claude-") and _CLAUDE_BLIND.match(model) is None


def has_pictures(call: ModelCall) -> bool:
    """Return True if any message of a call carries a picture."""
    return any(message.pictures for message in call.messages)


def replace_pictures(call: ModelCall, why: str = BLIND) -> tuple[ModelCall, tuple[str, ...]]:
    """Return the call with a line in place of each picture, and these lines."""
    return _replace_pictures(call, {id(picture): why for message in call.messages for picture in message.pictures})


def replace_excess_pictures(call: ModelCall, limits: PictureLimits) -> tuple[ModelCall, tuple[str, ...]]:
    """Return the call with a line in place of each picture beyond the limits, and these lines."""
    return _replace_pictures(call, dict(_find_excess_pictures(call, limits)))


def refuses_pictures(error: Any) -> bool:
    """Return True if an `APIStatusError` of an SDK refuses a call because of its pictures."""
    said = f"{error} {error.response.text}"
    return error.status_code in _REFUSING and (_OF_PICTURES.search(said) is not None or error.status_code == 413)


def refuses_all_pictures(error: Any) -> bool:
    """Return True if an `APIStatusError` says that the model takes no pictures at all, not only this one."""
    said = f"{error} {error.response.text}"
    return _NEVER.search(said) is not None and _THIS_ONE.search(said) is None


def _find_excess_pictures(call: ModelCall, limits: PictureLimits) -> Iterator[tuple[int, str]]:
    """Yield the `id()` of each picture that is beyond a limit, and why it is not sent."""
    pictures = [picture for message in call.messages for picture in message.pictures]
    side = limits.side if len(pictures) <= limits.crowd else limits.crowd_side
    count = total = 0
    for picture in pictures:
        size = len(picture.data)
        if why := _find_picture_fault(picture, limits, side):
            yield id(picture), why
        elif count == limits.count:
            yield id(picture), f"which takes at most {limits.count} pictures at once"
        elif total + size > limits.total:
            yield id(picture), f"which takes at most {limits.total / 1e6:g} MB of pictures at once"
        else:
            count += 1
            total += size


def _find_picture_fault(picture: Picture, limits: PictureLimits, side: int) -> str:
    size = pixels(picture.data)
    if size is None:
        return "as the file is broken"
    if len(picture.data) > limits.size:
        return f"as it has {len(picture.data) / 1e6:.1f} MB, and {limits.size / 1e6:g} MB are allowed"
    return f"as it has {size[0]:,} x {size[1]:,} pixels, and {side:,} a side are allowed" if max(size) > side else ""


def _replace_pictures(call: ModelCall, left_out: dict[int, str]) -> tuple[ModelCall, tuple[str, ...]]:
    """Return the call with a line in place of each picture in `left_out` (`id()` to reason), and these lines."""
    if not left_out:
        return call, ()
    lines: list[str] = []
    messages = []
    for message in call.messages:
        told = [
            _render_left_out(picture, left_out[id(picture)]) for picture in message.pictures if id(picture) in left_out
        ]
        lines += told
        messages.append(_add_left_out_lines(message, told, left_out) if told else message)
    return replace(call, messages=tuple(messages)), tuple(dict.fromkeys(lines))


def _add_left_out_lines(message: ModelMessage, told: list[str], left_out: dict[int, str]) -> ModelMessage:
    kept = tuple(picture for picture in message.pictures if id(picture) not in left_out)
    text = "\n\n".join(filter(None, ("\n".join(told), message.text)))
    return message.model_copy(update={"text": text, "pictures": kept})


def _render_left_out(picture: Picture, why: str) -> str:
    return f"{picture.name}: not shown to this model, {why}"
