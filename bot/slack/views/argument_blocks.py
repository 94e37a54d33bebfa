"""Renders the arguments of a call for people to read and to edit, as plain text and never as markup."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from bot.slack.text.cleaning import read_channel_id
from bot.slack.views.answerers import make_member_element
from bot.slack.views.outgoing import Block
from handoff.text.invisible_characters import remove_invisible, spell_out, undo_spell_out

SHORT_LIMITS, BRIEF_LIMITS, WHOLE_LIMITS = (600, 12), (240, 4), (2_900, 60)
"""Maximum (characters, lines) that a card shows of a text: SHORT if not all arguments fit, BRIEF once it is closed,
WHOLE otherwise.

The egress guard asks only about texts that fit in whole (`specialists.turns.egress.MAX_SHOWN_CHARACTERS`).
"""
MAX_ARGUMENTS = 12
"""Maximum number of arguments on a card."""
CHUNK_LENGTH = 2_900
MAX_CHUNKS = 90
MAX_FIELD_CHARACTERS = 3_000
"""Maximum number of characters that a field of a window takes."""
FIELD_PREFIX = "argument:"
"""The start of a field's block_id; the name of the argument follows."""
_INLINE_LENGTH = 60


_PLAIN_NAME = re.compile(r"[^\W\d][\w.$@/-]*")


def format_value(value: Any) -> str:
    """Format a value for people without ambiguity, so that `parse_value` can read it back.

    A string is shown as it is, or in quotes if it looks like JSON (`"5"`, `"true"`, `""`). Other values become JSON.
    """
    if isinstance(value, str):
        return spell_out(json.dumps(value, ensure_ascii=False) if _is_ambiguous_text(value) else value)
    short = json.dumps(value, ensure_ascii=False)
    return spell_out(short if len(short) <= _INLINE_LENGTH else json.dumps(value, ensure_ascii=False, indent=1))


def parse_value(text: str) -> Any:
    """Return the value that `format_value` formatted."""
    text = undo_spell_out(text)
    return json.loads(text, strict=False) if _is_ambiguous_text(text) else text


def _is_ambiguous_text(text: str) -> bool:
    """Return True if a string is empty or valid JSON, so that it needs quotes."""
    if not text:
        return True
    try:
        json.loads(text, strict=False)
    except ValueError:
        return False
    except RecursionError:
        return True
    return True


def has_spelt_out_text(arguments: Mapping[str, Any]) -> bool:
    """Return True if an argument has invisible characters or long runs of spaces, which are shown spelt out."""
    return any(
        undo_spell_out(text) != text
        for name, value in arguments.items()
        for text in (format_argument_name(name), format_value(value))
    )


def format_argument_name(name: str) -> str:
    """Format the name of an argument, in quotes if it is not a plain word."""
    return (
        name
        if _PLAIN_NAME.fullmatch(name) and remove_invisible(name) == name
        else spell_out(json.dumps(name, ensure_ascii=False))
    )


def render_arguments(
    arguments: Mapping[str, Any], *, brief: bool = False, target: str = ""
) -> tuple[list[Block], bool]:
    """Render arguments for a card. Returns a pair of (blocks, True if something was cut).

    If all fit on a card, they are shown whole. An argument that equals `target`, the channel that the call goes to, is
    shown as a channel mention.
    """
    elements: list[Block] = []
    texts = {name: format_value(value) for name, value in arguments.items()}
    fits = (
        sum(map(len, texts.values())) <= WHOLE_LIMITS[0]
        and sum(text.count("\n") + 1 for text in texts.values()) <= WHOLE_LIMITS[1]
    )
    is_cut = len(texts) > MAX_ARGUMENTS
    for name, text in list(texts.items())[:MAX_ARGUMENTS]:
        shown_text = _shorten_text(text, BRIEF_LIMITS if brief else WHOLE_LIMITS if fits else SHORT_LIMITS)
        is_cut = is_cut or shown_text != text
        channel = read_channel_id(text) if text == target else ""
        elements += _render_channel_argument(name, channel) if channel else _render_argument(name, shown_text)
    if len(texts) > MAX_ARGUMENTS:
        more = _shorten_text(", ".join(map(format_argument_name, list(texts)[MAX_ARGUMENTS:])), SHORT_LIMITS)
        elements.append(
            _make_section_element(
                [
                    _make_text_element(f"… and {len(texts) - MAX_ARGUMENTS} more arguments: ", bold=True),
                    _make_text_element(more),
                ]
            )
        )
    elements = elements or [_make_section_element([_make_text_element("It takes no arguments.")])]
    return [{"type": "rich_text", "elements": elements}], is_cut


def render_whole_arguments(arguments: Mapping[str, Any]) -> list[Block]:
    """Render all arguments for a window, in pieces of `CHUNK_LENGTH`. Pieces beyond `MAX_CHUNKS` are only counted."""
    blocks: list[Block] = []
    for name, value in arguments.items():
        text = format_value(value)
        pieces = [text[at : at + CHUNK_LENGTH] for at in range(0, len(text), CHUNK_LENGTH)]
        head_text = (
            f"{format_argument_name(name)} ({len(text):,} characters):"
            if len(pieces) > 1
            else f"{format_argument_name(name)}:"
        )
        for place, piece in enumerate(pieces):
            head = [_make_section_element([_make_text_element(head_text, bold=True)])] if place == 0 else []
            blocks.append({"type": "rich_text", "elements": [*head, _make_preformatted_element(piece)]})
    if len(blocks) > MAX_CHUNKS:
        rest_note = (
            f"… and {len(blocks) - MAX_CHUNKS} more pieces of {CHUNK_LENGTH:,} characters, which no window of Slack "
            "holds."
        )
        return [
            *blocks[:MAX_CHUNKS],
            {"type": "rich_text", "elements": [_make_section_element([_make_text_element(rest_note)])]},
        ]
    return blocks


def render_preformatted_text(text: str, *, brief: bool = False) -> tuple[Block, bool]:
    """Render a text as a preformatted block. Returns a pair of (block, True if the text was cut)."""
    whole = spell_out(text)
    shown_text = _shorten_text(whole, BRIEF_LIMITS if brief else WHOLE_LIMITS)
    return {"type": "rich_text", "elements": [_make_preformatted_element(shown_text)]}, shown_text != whole


def render_people_line(prefix: str, members: Sequence[str], suffix: str = "") -> Block:
    """Render a line with the mentions of `members` (ids of people and groups, or `admins`) between two texts."""
    parts: list[Block] = [_make_text_element(prefix)]
    for place, one in enumerate(members):
        if place:
            parts.append(_make_text_element(" or " if place == len(members) - 1 else ", "))
        parts.append(make_member_element(one))
    return {
        "type": "rich_text",
        "elements": [_make_section_element([*parts, *([_make_text_element(suffix)] if suffix else [])])],
    }


def _render_channel_argument(name: str, channel: str) -> list[Block]:
    return [
        _make_section_element(
            [
                _make_text_element(f"{format_argument_name(name)}: ", bold=True),
                {"type": "channel", "channel_id": channel},
            ]
        )
    ]


def _render_argument(name: str, text: str) -> list[Block]:
    if len(text) <= _INLINE_LENGTH and "\n" not in text:
        return [
            _make_section_element(
                [_make_text_element(f"{format_argument_name(name)}: ", bold=True), _make_text_element(text)]
            )
        ]
    return [
        _make_section_element([_make_text_element(f"{format_argument_name(name)}:", bold=True)]),
        _make_preformatted_element(text),
    ]


def _shorten_text(text: str, limits: tuple[int, int]) -> str:
    most, lines = limits
    kept_text = "\n".join(text.split("\n")[:lines])[:most]
    if kept_text == text:
        return text
    whole_words = kept_text if text[len(kept_text)].isspace() else kept_text.rpartition(" ")[0]
    return f"{whole_words or kept_text}… ({len(text):,} characters in all)"


def _make_preformatted_element(text: str) -> Block:
    return {"type": "rich_text_preformatted", "elements": [_make_text_element(text or "(empty)")]}


def _make_section_element(parts: list[Block]) -> Block:
    return {"type": "rich_text_section", "elements": parts}


def _make_text_element(text: str, *, bold: bool = False) -> Block:
    return {"type": "text", "text": text, **({"style": {"bold": True}} if bold else {})}


# ---------------------------------------------------------------- to edit them


def make_fields(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Block]:
    """Make an input field for each argument by the tool's JSON schema, except for arguments too long for a field.

    As on the card, invisible characters are spelt out in a field; `read_fields` restores them.
    """
    properties = schema.get("properties") or {}
    required_names = set(schema.get("required") or ())
    names = [*arguments, *(name for name in properties if name not in arguments)]
    return [
        _make_field(
            name,
            arguments.get(name),
            properties.get(name) or {},
            is_present=name in arguments,
            is_required=name in required_names,
        )
        for name in names
        if is_editable(arguments.get(name))
    ]


def is_editable(value: Any) -> bool:
    """Return True if a value fits into a field."""
    return len(_format_initial_text(value)) <= MAX_FIELD_CHARACTERS


def read_fields(values: Mapping[str, Any], arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as a person edited them in the fields, for the tool to check.

    `values` are the texts of the fields, by argument. An argument without a field, or with an unchanged field, stays as
    it was. An emptied argument is left out, unless it is required or a string. Raises ValueError(name, fault).
    """
    properties = schema.get("properties") or {}
    required_names = set(schema.get("required") or ())
    edited_arguments: dict[str, Any] = dict(arguments)
    for name, field_text in values.items():
        about, value = properties.get(name) or {}, arguments.get(name)
        kind = _choose_input_kind(about, value)
        if field_text == _format_field_text(value, kind):
            continue
        if field_text == "" and name not in required_names and kind != "string":
            edited_arguments.pop(name, None)
        else:
            edited_arguments[name] = _parse_field(name, str(field_text), kind)
    return edited_arguments


def _format_field_text(value: Any, kind: str) -> str:
    """Format a value as the initial text of its field."""
    if kind == "lines":
        return "\n".join(map(spell_out, value or ()))
    return "" if value is None else _format_initial_text(value)


def _parse_field(name: str, text: str, kind: str) -> Any:
    try:
        if kind == "integer":
            return int(text.strip().replace(",", ""))
        if kind == "number":
            return float(text.strip().replace(",", ""))
        if kind == "lines":
            return [undo_spell_out(line.strip()) for line in text.splitlines() if line.strip()]
        return (
            text == "true"
            if kind == "boolean"
            else undo_spell_out(text)
            if kind == "string"
            else json.loads(undo_spell_out(text))
        )
    except ValueError:
        kind_phrase = {"integer": "a whole number", "number": "a number"}.get(kind, "JSON")
        raise ValueError(name, f"This takes {kind_phrase}.") from None


def _make_field(name: str, value: Any, schema: Mapping[str, Any], *, is_present: bool, is_required: bool) -> Block:
    kind = _choose_input_kind(schema, value)
    element: Block = {"action_id": name[:255]}
    if kind == "boolean":
        options = [{"text": {"type": "plain_text", "text": word}, "value": word} for word in ("true", "false")]
        element |= {"type": "radio_buttons", "options": options}
        if isinstance(value, bool):
            element["initial_option"] = options[0 if value else 1]
    else:
        text = _format_field_text(value, kind)
        element |= {"type": "plain_text_input", "max_length": MAX_FIELD_CHARACTERS}
        element |= {"multiline": True} if kind in {"string", "lines", "json"} else {}
        element |= {"initial_value": text} if text else {}
    block: Block = {"type": "input", "block_id": f"{FIELD_PREFIX}{name}"[:255], "element": element}
    block["label"] = {"type": "plain_text", "text": format_argument_name(name)[:200]}
    hints = [_FIELD_HINTS[kind]] if kind in _FIELD_HINTS else []
    hints += [f"As it stands: {json.dumps(value)}"] if is_present and value in (None, "", []) else []
    if hints:
        block["hint"] = {"type": "plain_text", "text": ". ".join(hints)}
    return block if is_required and value != "" else {**block, "optional": True}


_FIELD_HINTS = {"json": "JSON", "lines": "One a line"}


def _format_initial_text(value: Any) -> str:
    return (
        "" if value is None else spell_out(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    )


def _choose_input_kind(schema: Mapping[str, Any], value: Any) -> str:
    """Return the kind of a value's field: string, integer, number, boolean, lines (a list of strings), or json."""
    if _takes_lines(schema) and (value is None or _is_line_list(value)):
        return "lines"
    kinds = [schema.get("type"), *(one.get("type") for one in schema.get("anyOf") or () if isinstance(one, dict))]
    concrete_kinds = [one for one in kinds if one and one != "null"]
    if not concrete_kinds:
        concrete_kinds = ["boolean" if isinstance(value, bool) else "string" if isinstance(value, str) else "json"]
    return (
        str(concrete_kinds[0])
        if len(concrete_kinds) == 1 and concrete_kinds[0] in {"string", "integer", "number", "boolean"}
        else "json"
    )


def _is_line_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) and len(one.splitlines()) < 2 for one in value)


def _takes_lines(schema: Mapping[str, Any]) -> bool:
    items = schema.get("items")
    return schema.get("type") == "array" and isinstance(items, dict) and items.get("type") == "string"
