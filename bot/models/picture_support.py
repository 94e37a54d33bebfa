"""Chooses the pictures that a model is sent: none if it reads text only, otherwise those within the API's limits.

A line with its name and the reason replaces each picture that is not sent. People get the same line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from specialists.formats.picture_facts import read_pixel_size
from specialists.model import ModelCall, ModelMessage, Picture

TEXT_ONLY_REASON = "which reads text only"
REFUSED_REASON = "as its server refused the picture"

_OPENAI_VISION_MODELS = re.compile(
    r"(?:gpt-(?:4o|4\.1|4\.5|4-turbo|[5-9])|chatgpt-4o|o[134](?!-mini-20|-preview|-mini$))"
)
_CLAUDE_TEXT_MODELS = re.compile(r"claude-(?:instant|v?[12]\b)")
_PICTURE_WORDS = re.compile(r"\bimages?\b|image_url|input_image|pictures?|vision|multi-?modal|mmproj", re.IGNORECASE)
_NO_VISION_WORDS = re.compile(
    r"not support|n't support|unsupported|support image|not accept|text.only|no vision|mmproj|not multi-?modal",
    re.IGNORECASE,
)
_BAD_PICTURE_WORDS = re.compile(
    r"unsupported image|image (?:format|type|data)|media.?type|invalid image|too large", re.IGNORECASE
)
_REFUSAL_STATUSES = frozenset({400, 404, 413, 415, 422, 500, 501})
"""HTTP statuses with which servers refuse a picture; llama.cpp uses 500."""


@dataclass(frozen=True, slots=True)
class PictureLimits:
    """Limits on the pictures in one request. Bytes are those of the files; base64 makes them a third larger.

    Attributes:
        max_pictures: Maximum number of pictures.
        max_picture_bytes: Maximum bytes of one picture.
        max_total_bytes: Maximum bytes of all pictures together.
        max_side_pixels: Maximum pixels of a picture's longer side.
        crowd_threshold: The number of pictures above which `max_crowd_side_pixels` holds in place of `max_side_pixels`.
        max_crowd_side_pixels: Maximum pixels of the longer side if there are more than `crowd_threshold` pictures.
    """

    max_pictures: int
    max_picture_bytes: int
    max_total_bytes: int
    max_side_pixels: int
    crowd_threshold: int
    max_crowd_side_pixels: int


ANTHROPIC_LIMITS = PictureLimits(100, 3_750_000, 22_000_000, 8_000, 20, 2_000)
"""Anthropic allows 5 MB per picture and 32 MB per request, both in base64."""
OPENAI_LIMITS = PictureLimits(500, 15_000_000, 36_000_000, 16_000, 500, 16_000)
"""OpenAI allows 50 MB per request in base64. The limits of compatible servers are unknown."""


def openai_sees_pictures(model: str) -> bool:
    """Return True if OpenAI's model of that name sees pictures. Its API does not report it."""
    return _OPENAI_VISION_MODELS.match(model) is not None


def claude_sees_pictures(model: str) -> bool:
    """Return True if Anthropic's model of that name sees pictures: all from the third generation on do."""
    return model.startswith("claude-") and _CLAUDE_TEXT_MODELS.match(model) is None


def has_pictures(call: ModelCall) -> bool:
    """Return True if any message of a call carries a picture."""
    return any(message.pictures for message in call.messages)


def replace_all_pictures(call: ModelCall, reason: str = TEXT_ONLY_REASON) -> tuple[ModelCall, tuple[str, ...]]:
    """Return the call with a line in place of each picture, and these lines."""
    return _replace_pictures(call, {id(picture): reason for message in call.messages for picture in message.pictures})


def replace_excess_pictures(call: ModelCall, limits: PictureLimits) -> tuple[ModelCall, tuple[str, ...]]:
    """Return the call with a line in place of each picture beyond the limits, and these lines."""
    return _replace_pictures(call, dict(_find_excess_pictures(call, limits)))


def is_picture_refusal(error: Any) -> bool:
    """Return True if an `APIStatusError` of an SDK refuses a call because of its pictures."""
    error_text = f"{error} {error.response.text}"
    return error.status_code in _REFUSAL_STATUSES and (
        _PICTURE_WORDS.search(error_text) is not None or error.status_code == 413
    )


def is_vision_refusal(error: Any) -> bool:
    """Return True if an `APIStatusError` says that the model takes no pictures at all, not only this one."""
    error_text = f"{error} {error.response.text}"
    return _NO_VISION_WORDS.search(error_text) is not None and _BAD_PICTURE_WORDS.search(error_text) is None


def _find_excess_pictures(call: ModelCall, limits: PictureLimits) -> Iterator[tuple[int, str]]:
    """Yield the `id()` of each picture that is beyond a limit, and why it is not sent."""
    pictures = [picture for message in call.messages for picture in message.pictures]
    side = limits.max_side_pixels if len(pictures) <= limits.crowd_threshold else limits.max_crowd_side_pixels
    count = total = 0
    for picture in pictures:
        size = len(picture.data)
        if why := _describe_picture_fault(picture, limits, side):
            yield id(picture), why
        elif count == limits.max_pictures:
            yield id(picture), f"which takes at most {limits.max_pictures} pictures at once"
        elif total + size > limits.max_total_bytes:
            yield id(picture), f"which takes at most {limits.max_total_bytes / 1e6:g} MB of pictures at once"
        else:
            count += 1
            total += size


def _describe_picture_fault(picture: Picture, limits: PictureLimits, side: int) -> str:
    size = read_pixel_size(picture.data)
    if size is None:
        return "as the file is broken"
    if len(picture.data) > limits.max_picture_bytes:
        return f"as it has {len(picture.data) / 1e6:.1f} MB, and {limits.max_picture_bytes / 1e6:g} MB are allowed"
    return f"as it has {size[0]:,} x {size[1]:,} pixels, and {side:,} a side are allowed" if max(size) > side else ""


def _replace_pictures(call: ModelCall, reasons: dict[int, str]) -> tuple[ModelCall, tuple[str, ...]]:
    """Return the call with a line in place of each picture in `reasons` (`id()` to reason), and these lines."""
    if not reasons:
        return call, ()
    lines: list[str] = []
    messages = []
    for message in call.messages:
        placeholders = [
            _render_placeholder(picture, reasons[id(picture)]) for picture in message.pictures if id(picture) in reasons
        ]
        lines += placeholders
        messages.append(_add_placeholders(message, placeholders, reasons) if placeholders else message)
    return replace(call, messages=tuple(messages)), tuple(dict.fromkeys(lines))


def _add_placeholders(message: ModelMessage, placeholders: list[str], reasons: dict[int, str]) -> ModelMessage:
    kept_pictures = tuple(picture for picture in message.pictures if id(picture) not in reasons)
    text = "\n\n".join(filter(None, ("\n".join(placeholders), message.text)))
    return message.model_copy(update={"text": text, "pictures": kept_pictures})


def _render_placeholder(picture: Picture, reason: str) -> str:
    return f"{picture.name}: not shown to this model, {reason}"
