"""Renders the arguments of a call for people to read and to edit, as plain text and never as markup."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from bot.slack.text.cleaning import read_channel_id
from bot.slack.views.outgoing import Block
from bot.slack.views.waiting import make_member_element
from handoff.text.visible_text import spell_out, unspell, visible

SHORT, BRIEF, WHOLE = (600, 12), (240, 4), (2_900, 60)
"""Most (characters, lines) that a card shows: of one argument, of any text after the decision, of a text shown whole.

The egress guard asks only about texts that fit in whole (`specialists.turns.egress.MOST_SHOWN`).
"""
MOST_SHOWN = 12
"""Most arguments on a card."""
CHUNK = 2_900
MOST_CHUNKS = 90
EDITABLE = 3_000
"""Most characters that a field of a window takes."""
FIELD = "argument:"
"""The start of a field's block_id; the name of the argument follows."""
_INLINE = 60


_PLAIN_NAME = re.compile(r"[^\W\d][\w.$@/-]*")


def format_value(value: Any) -> str:
    """Format a value for people so that it is unambiguous: `parse_value` reads it back.

    A text stands as it is, or in quotes if it looks like another value (`"5"`, `"true"`, `""`). Other values are JSON.
    """
    if isinstance(value, str):
        return spell_out(json.dumps(value, ensure_ascii=False) if _reads_as_json(value) else value)
    short = json.dumps(value, ensure_ascii=False)
    return spell_out(short if len(short) <= _INLINE else json.dumps(value, ensure_ascii=False, indent=1))


def parse_value(text: str) -> Any:
    """Return the value that `format_value` formatted."""
    text = unspell(text)
    return json.loads(text, strict=False) if _reads_as_json(text) else text


def _reads_as_json(text: str) -> bool:
    """Return True if a text could be read as another kind of value, so that it needs quotes."""
    if not text:
        return True
    try:
        json.loads(text, strict=False)
    except ValueError:
        return False
    except RecursionError:
        return True
    return True


def is_spelt_out(arguments: Mapping[str, Any]) -> bool:
    """Return True if the arguments have characters that are not shown as they are sent, but spelt out or counted."""
    return any(
        unspell(text) != text for name, value in arguments.items() for text in (label(name), format_value(value))
    )


def label(name: str) -> str:
    """Format the name of an argument, in quotes if it is more than a word."""
    return (
        name
        if _PLAIN_NAME.fullmatch(name) and visible(name) == name
        else spell_out(json.dumps(name, ensure_ascii=False))
    )


def argument_blocks(arguments: Mapping[str, Any], *, brief: bool = False, target: str = "") -> tuple[list[Block], bool]:
    """Render arguments for a card. Returns a pair of (blocks, True if something was cut).

    If all of them fit on a card, they are shown whole. An argument that equals `target`, the channel that the call goes
    to, is shown as a channel.
    """
    elements: list[Block] = []
    texts = {name: format_value(value) for name, value in arguments.items()}
    fits = (
        sum(map(len, texts.values())) <= WHOLE[0] and sum(text.count("\n") + 1 for text in texts.values()) <= WHOLE[1]
    )
    cut = len(texts) > MOST_SHOWN
    for name, text in list(texts.items())[:MOST_SHOWN]:
        shown = _shorten_text(text, BRIEF if brief else WHOLE if fits else SHORT)
        cut = cut or shown != text
        channel = read_channel_id(text) if text == target else ""
        elements += _channel_blocks(name, channel) if channel else _argument_blocks(name, shown)
    if len(texts) > MOST_SHOWN:
        more = _shorten_text(", ".join(map(label, list(texts)[MOST_SHOWN:])), SHORT)
        elements.append(
            _section_element(
                [_text_element(f"… and {len(texts) - MOST_SHOWN} more arguments: ", bold=True), _text_element(more)]
            )
        )
    elements = elements or [_section_element([_text_element("It takes no arguments.")])]
    return [{"type": "rich_text", "elements": elements}], cut


def whole_blocks(arguments: Mapping[str, Any]) -> list[Block]:
    """Render all arguments for a window, in pieces of a size that Slack takes. Pieces beyond 90 are only counted."""
    blocks: list[Block] = []
    for name, value in arguments.items():
        text = format_value(value)
        pieces = [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]
        head_text = f"{label(name)} ({len(text):,} characters):" if len(pieces) > 1 else f"{label(name)}:"
        for place, piece in enumerate(pieces):
            head = [_section_element([_text_element(head_text, bold=True)])] if place == 0 else []
            blocks.append({"type": "rich_text", "elements": [*head, _preformat_text(piece)]})
    if len(blocks) > MOST_CHUNKS:
        left = f"… and {len(blocks) - MOST_CHUNKS} more pieces of {CHUNK:,} characters, which no window of Slack holds."
        return [*blocks[:MOST_CHUNKS], {"type": "rich_text", "elements": [_section_element([_text_element(left)])]}]
    return blocks


def quote_text(text: str, *, brief: bool = False) -> tuple[Block, bool]:
    """Render a text as it is, set off from our own words. Returns a pair of (block, True if it was cut)."""
    whole = spell_out(text)
    shown = _shorten_text(whole, BRIEF if brief else WHOLE)
    return {"type": "rich_text", "elements": [_preformat_text(shown)]}, shown != whole


def people_line(before: str, whom: Sequence[str], after: str = "") -> Block:
    """Render a line that names people and groups by their ids, or `admins`, between two texts of ours."""
    parts: list[Block] = [_text_element(before)]
    for place, one in enumerate(whom):
        if place:
            parts.append(_text_element(" or " if place == len(whom) - 1 else ", "))
        parts.append(make_member_element(one))
    return {"type": "rich_text", "elements": [_section_element([*parts, *([_text_element(after)] if after else [])])]}


def _channel_blocks(name: str, channel: str) -> list[Block]:
    return [
        _section_element([_text_element(f"{label(name)}: ", bold=True), {"type": "channel", "channel_id": channel}])
    ]


def _argument_blocks(name: str, text: str) -> list[Block]:
    if len(text) <= _INLINE and "\n" not in text:
        return [_section_element([_text_element(f"{label(name)}: ", bold=True), _text_element(text)])]
    return [_section_element([_text_element(f"{label(name)}:", bold=True)]), _preformat_text(text)]


def _shorten_text(text: str, room: tuple[int, int]) -> str:
    most, lines = room
    kept = "\n".join(text.split("\n")[:lines])[:most]
    if kept == text:
        return text
    whole_words = kept if text[len(kept)].isspace() else kept.rpartition(" ")[0]
    return f"{whole_words or kept}… ({len(text):,} characters in all)"


def _preformat_text(text: str) -> Block:
    return {"type": "rich_text_preformatted", "elements": [_text_element(text or "(empty)")]}


def _section_element(parts: list[Block]) -> Block:
    return {"type": "rich_text_section", "elements": parts}


def _text_element(text: str, *, bold: bool = False) -> Block:
    return {"type": "text", "text": text, **({"style": {"bold": True}} if bold else {})}


# ---------------------------------------------------------------- to edit them


def fields(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Block]:
    """Make an input field for each argument, by the tool's JSON schema. An argument too long for a field gets none.

    As on the card, invisible characters are spelt out in a field; `read_fields` turns them back.
    """
    known = schema.get("properties") or {}
    required = set(schema.get("required") or ())
    names = [*arguments, *(name for name in known if name not in arguments)]
    return [
        _field_block(
            name, arguments.get(name), known.get(name) or {}, given=name in arguments, required=name in required
        )
        for name in names
        if is_editable(arguments.get(name))
    ]


def is_editable(value: Any) -> bool:
    """Return True if a value fits into a field."""
    return len(_initial_text(value)) <= EDITABLE


def read_fields(values: Mapping[str, Any], arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as a person edited them in the fields, for the tool to check.

    `values` are the texts of the fields, by argument. An argument without a field, or whose field was not changed,
    stays as it was. One that was emptied and is not required is left out, unless it is a text. Raises ValueError with
    the argument's name and what is wrong.
    """
    known = schema.get("properties") or {}
    required = set(schema.get("required") or ())
    read: dict[str, Any] = dict(arguments)
    for name, given in values.items():
        about, value = known.get(name) or {}, arguments.get(name)
        kind = _input_kind(about, value)
        if given == _field_text(value, kind):
            continue
        if given == "" and name not in required and kind != "string":
            read.pop(name, None)
        else:
            read[name] = _parse_field(name, str(given), kind)
    return read


def _field_text(value: Any, kind: str) -> str:
    """Format a value as the initial text of its field."""
    if kind == "lines":
        return "\n".join(map(spell_out, value or ()))
    return "" if value is None else _initial_text(value)


def _parse_field(name: str, text: str, kind: str) -> Any:
    try:
        if kind == "integer":
            return int(text.strip().replace(",", ""))
        if kind == "number":
            return float(text.strip().replace(",", ""))
        if kind == "lines":
            return [unspell(line.strip()) for line in text.splitlines() if line.strip()]
        return text == "true" if kind == "boolean" else unspell(text) if kind == "string" else json.loads(unspell(text))
    except ValueError:
        wanted = {"integer": "a whole number", "number": "a number"}.get(kind, "JSON")
        raise ValueError(name, f"This takes {wanted}.") from None


def _field_block(name: str, value: Any, about: Mapping[str, Any], *, given: bool, required: bool) -> Block:
    kind = _input_kind(about, value)
    element: Block = {"action_id": name[:255]}
    if kind == "boolean":
        options = [{"text": {"type": "plain_text", "text": word}, "value": word} for word in ("true", "false")]
        element |= {"type": "radio_buttons", "options": options}
        if isinstance(value, bool):
            element["initial_option"] = options[0 if value else 1]
    else:
        text = _field_text(value, kind)
        element |= {"type": "plain_text_input", "max_length": EDITABLE}
        element |= {"multiline": True} if kind in {"string", "lines", "json"} else {}
        element |= {"initial_value": text} if text else {}
    block: Block = {"type": "input", "block_id": f"{FIELD}{name}"[:255], "element": element}
    block["label"] = {"type": "plain_text", "text": label(name)[:200]}
    hints = [_HINTS[kind]] if kind in _HINTS else []
    hints += [f"As it stands: {json.dumps(value)}"] if given and value in (None, "", []) else []
    if hints:
        block["hint"] = {"type": "plain_text", "text": ". ".join(hints)}
    return block if required and value != "" else {**block, "optional": True}


_HINTS = {"json": "JSON", "lines": "One a line"}


def _initial_text(value: Any) -> str:
    return (
        "" if value is None else spell_out(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    )


def _input_kind(about: Mapping[str, Any], value: Any) -> str:
    """Return how a value is typed in: as a string, integer, number, boolean, lines (of a list), or json."""
    if _takes_lines(about) and (value is None or _is_lines(value)):
        return "lines"
    kinds = [about.get("type"), *(one.get("type") for one in about.get("anyOf") or () if isinstance(one, dict))]
    named = [one for one in kinds if one and one != "null"]
    if not named:
        named = ["boolean" if isinstance(value, bool) else "string" if isinstance(value, str) else "json"]
    return str(named[0]) if len(named) == 1 and named[0] in {"string", "integer", "number", "boolean"} else "json"


def _is_lines(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) and len(one.splitlines()) < 2 for one in value)


def _takes_lines(about: Mapping[str, Any]) -> bool:
    items = about.get("items")
    return about.get("type") == "array" and isinstance(items, dict) and items.get("type") == "string"
