"""Checks for the shape of JSON, which can be combined, and which complain in Slack's words.

A check takes a value, its JSON pointer and a list, to which it adds complaints such as
`[ERROR] must be less than 3001 characters [json-pointer:/blocks/0/text/text]`.
"""

from collections.abc import Callable, Mapping
from typing import Any

Complaints = list[str]
Check = Callable[[Any, str, Complaints], None]


def add_complaint(complaints: Complaints, text: str, pointer: str) -> None:
    """Add one complaint in Slack's form."""
    complaints.append(f"[ERROR] {text} [json-pointer:{pointer}]")


def string(most: int | None = None, *, least: int = 0, choices: tuple[str, ...] = ()) -> Check:
    """Return a check for a string of `least` to `most` characters, or one of `choices`."""

    def check(value: Any, pointer: str, complaints: Complaints) -> None:
        if not isinstance(value, str):
            add_complaint(complaints, "must be a string", pointer)
        elif choices and value not in choices:
            add_complaint(complaints, f"must be a valid enum value: {', '.join(choices)}", pointer)
        elif most is not None and len(value) > most:
            add_complaint(complaints, f"must be less than {most + 1} characters", pointer)
        elif len(value) < least:
            add_complaint(complaints, f"must be more than {least - 1} characters", pointer)

    return check


def boolean(value: Any, pointer: str, complaints: Complaints) -> None:
    """Check that the value is true or false."""
    if not isinstance(value, bool):
        add_complaint(complaints, "must be a boolean", pointer)


def number(value: Any, pointer: str, complaints: Complaints) -> None:
    """Check that the value is a number; Slack takes some of them as strings too."""
    try:
        float(value)
    except (TypeError, ValueError):
        add_complaint(complaints, "must be a number", pointer)


def accept_anything(value: Any, pointer: str, complaints: Complaints) -> None:
    """Accept any value: for shapes that the workspace does not check."""


def items(check_item: Check, most: int, *, least: int = 1) -> Check:
    """Return a check for a list of `least` to `most` items."""

    def check(value: Any, pointer: str, complaints: Complaints) -> None:
        if not isinstance(value, list):
            add_complaint(complaints, "must be an array", pointer)
            return
        if len(value) > most:
            add_complaint(complaints, f"no more than {most} items allowed", pointer)
        if len(value) < least:
            add_complaint(complaints, f"must provide at least {least} items", pointer)
        for index, item in enumerate(value[:most]):
            check_item(item, f"{pointer}/{index}", complaints)

    return check


def fields(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """Return a check for an object with these keys and no others."""
    known = {**required, **(optional or {})}

    def check(value: Any, pointer: str, complaints: Complaints) -> None:
        if not isinstance(value, dict):
            add_complaint(complaints, "must be an object", pointer)
            return
        for key in required:
            if key not in value:
                add_complaint(complaints, f"missing required field: {key}", pointer)
        for key, part in value.items():
            if key in known:
                known[key](part, f"{pointer}/{key}", complaints)
            else:
                add_complaint(complaints, f"invalid additional property: {key}", pointer)

    return check


def by_type(table: Callable[[], Mapping[str, Check]]) -> Check:
    """Return a check for an object whose `type` names its shape. `table` is called late, so that shapes may nest."""

    def check(value: Any, pointer: str, complaints: Complaints) -> None:
        if not isinstance(value, dict):
            add_complaint(complaints, "must be an object", pointer)
            return
        check_kind = table().get(str(value.get("type")))
        if check_kind is None:
            add_complaint(complaints, f"unsupported type: {value.get('type')}", f"{pointer}/type")
        else:
            check_kind(value, pointer, complaints)

    return check


def typed_fields(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """Return a check like that of `fields`, for an object that also has a `type`, which `by_type` has checked."""
    return fields({"type": accept_anything, **required}, optional)
