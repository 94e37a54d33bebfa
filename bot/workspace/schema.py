"""Composable checks of the shape of JSON values, with complaints in Slack's wording.

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


def string(max_length: int | None = None, *, min_length: int = 0, choices: tuple[str, ...] = ()) -> Check:
    """Return a check for a string of `min_length` to `max_length` characters (None: no limit), or one of `choices`."""

    def check(value: Any, pointer: str, complaints: Complaints) -> None:
        if not isinstance(value, str):
            add_complaint(complaints, "must be a string", pointer)
        elif choices and value not in choices:
            add_complaint(complaints, f"must be a valid enum value: {', '.join(choices)}", pointer)
        elif max_length is not None and len(value) > max_length:
            add_complaint(complaints, f"must be less than {max_length + 1} characters", pointer)
        elif len(value) < min_length:
            add_complaint(complaints, f"must be more than {min_length - 1} characters", pointer)

    return check


def check_boolean(value: Any, pointer: str, complaints: Complaints) -> None:
    """Check that the value is true or false."""
    if not isinstance(value, bool):
        add_complaint(complaints, "must be a boolean", pointer)


def check_number(value: Any, pointer: str, complaints: Complaints) -> None:
    """Check that the value is a number, or a string with one: Slack accepts both in some fields."""
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        add_complaint(complaints, "must be a number", pointer)


def accept_anything(value: Any, pointer: str, complaints: Complaints) -> None:
    """Accept any value. It stands for shapes that the workspace does not check."""


def items(check_item: Check, max_items: int, *, min_items: int = 1) -> Check:
    """Return a check for a list of `min_items` to `max_items` items that each pass `check_item`."""

    def check(value: Any, pointer: str, complaints: Complaints) -> None:
        if not isinstance(value, list):
            add_complaint(complaints, "must be an array", pointer)
            return
        if len(value) > max_items:
            add_complaint(complaints, f"no more than {max_items} items allowed", pointer)
        if len(value) < min_items:
            add_complaint(complaints, f"must provide at least {min_items} items", pointer)
        for index, item in enumerate(value[:max_items]):
            check_item(item, f"{pointer}/{index}", complaints)

    return check


def fields(required_fields: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """Return a check for an object with all `required_fields` keys, any of the `optional` keys, and no others."""
    all_checks = {**required_fields, **(optional or {})}

    def check(value: Any, pointer: str, complaints: Complaints) -> None:
        if not isinstance(value, dict):
            add_complaint(complaints, "must be an object", pointer)
            return
        for key in required_fields:
            if key not in value:
                add_complaint(complaints, f"missing required field: {key}", pointer)
        for key, part in value.items():
            if key in all_checks:
                all_checks[key](part, f"{pointer}/{key}", complaints)
            else:
                add_complaint(complaints, f"invalid additional property: {key}", pointer)

    return check


def by_type(get_checks: Callable[[], Mapping[str, Check]]) -> Check:
    """Return a check for an object whose `type` names its check in `get_checks()`; a call, so that shapes may nest."""

    def check(value: Any, pointer: str, complaints: Complaints) -> None:
        if not isinstance(value, dict):
            add_complaint(complaints, "must be an object", pointer)
            return
        check_kind = get_checks().get(str(value.get("type")))
        if check_kind is None:
            add_complaint(complaints, f"unsupported type: {value.get('type')}", f"{pointer}/type")
        else:
            check_kind(value, pointer, complaints)

    return check


def typed_fields(required_fields: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """Return a check like that of `fields`, for an object that also has a `type`, which `by_type` has checked."""
    return fields({"type": accept_anything, **required_fields}, optional)
