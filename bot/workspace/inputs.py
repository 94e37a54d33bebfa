"""Values of inputs and presses on elements, in the shape in which Slack reports them."""

from collections.abc import Iterator
from typing import Any

from bot.workspace.workspace_state import Json

VALUE_KEYS = {
    "plain_text_input": "value",
    "email_text_input": "value",
    "url_text_input": "value",
    "number_input": "value",
    "rich_text_input": "rich_text_value",
    "datepicker": "selected_date",
    "timepicker": "selected_time",
    "datetimepicker": "selected_date_time",
    "users_select": "selected_user",
    "multi_users_select": "selected_users",
    "conversations_select": "selected_conversation",
    "multi_conversations_select": "selected_conversations",
    "channels_select": "selected_channel",
    "multi_channels_select": "selected_channels",
    "file_input": "files",
}
SINGLE_OPTION_TYPES = frozenset({"static_select", "external_select", "radio_buttons", "overflow"})
MULTI_OPTION_TYPES = frozenset({"multi_static_select", "multi_external_select", "checkboxes"})


def make_input_value(element: Json, value: Any) -> Json:
    """Return the value of an input as it stands in `view.state.values`.

    Args:
        element: The element as the app sent it.
        value: The value entered: text, a date, an option's value, a list of
            these, or None; or a value in Slack's own shape, with `type`. For
            an external menu whole options, as only the app knows them.

    Raises:
        ValueError: The element has no such option.
    """
    kind = element["type"]
    if isinstance(value, dict) and value.get("type") == kind:
        return value
    if "external" in kind:
        options = value if isinstance(value, list) else [value]
        element = {**element, "options": [each for each in options if isinstance(each, dict)]}
    if kind in SINGLE_OPTION_TYPES:
        return {"type": kind, "selected_option": None if value is None else find_option(element, value)}
    if kind in MULTI_OPTION_TYPES:
        return {"type": kind, "selected_options": [find_option(element, each) for each in value or ()]}
    return {"type": kind, VALUE_KEYS.get(kind, "value"): value}


def make_initial_value(element: Json) -> Json:
    """Return the value of an input that nobody has touched."""
    kind = element["type"]
    if kind in SINGLE_OPTION_TYPES:
        return {"type": kind, "selected_option": element.get("initial_option")}
    if kind in MULTI_OPTION_TYPES:
        return {"type": kind, "selected_options": element.get("initial_options") or []}
    key = VALUE_KEYS.get(kind, "value")
    initial = "initial_value" if key in ("value", "rich_text_value") else key.replace("selected", "initial")
    return {"type": kind, key: element.get(initial)}


def is_input(element: Json) -> bool:
    """Return True for an element that holds a value, unlike a button."""
    return element["type"] in VALUE_KEYS or element["type"] in SINGLE_OPTION_TYPES | MULTI_OPTION_TYPES


def is_empty_value(value: Json) -> bool:
    """Return True if the value of an input has no content: every field but `type` is None, "" or []."""
    return all(each in (None, "", []) for key, each in value.items() if key != "type")


def find_option(element: Json, value: Any) -> Json:
    """Return the element's option with the given value. `value` may also be the option itself.

    Raises:
        ValueError: There is none.
    """
    option_value = value.get("value") if isinstance(value, dict) else value
    groups = element.get("option_groups") or [{"options": element.get("options") or []}]
    for group in groups:
        for each in group["options"]:
            if each.get("value") == option_value:
                option: Json = each
                return option
    raise ValueError(f"{element.get('action_id')} has no option {option_value!r}")


def iterate_inputs(view: Json) -> Iterator[tuple[Json, Json]]:
    """Yield the input blocks of a view, each with its element."""
    for block in view["blocks"]:
        if block["type"] == "input":
            yield block, block["element"]


def build_action_entry(element: Json, block_id: str, value: Any, action_ts: str) -> Json:
    """Return the entry in `actions` for a press on an element. `action_ts` is the ts of the press.

    Raises:
        ValueError: The element has no such option or button.
    """
    kind = element["type"]
    action: Json = {
        "action_id": element.get("action_id", ""),
        "block_id": block_id,
        "type": kind,
        "action_ts": action_ts,
    }
    if kind == "feedback_buttons":
        buttons = [element["positive_button"], element["negative_button"]]
        pressed_button = next((each for each in buttons if value is None or each["value"] == value), None)
        if pressed_button is None:
            raise ValueError(f"{element.get('action_id')} has no button {value!r}")
        return {**action, "text": pressed_button["text"], "value": pressed_button["value"]}
    if kind in ("button", "workflow_button", "icon_button"):
        button_fields: Json = {key: element[key] for key in ("text", "value", "style", "url") if key in element}
        return {**action, **button_fields}
    return {**action, **make_input_value(element, value)}
