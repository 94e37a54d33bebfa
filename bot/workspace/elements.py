"""Checks for the shapes of Block Kit's elements and composition objects."""

from collections.abc import Mapping
from typing import Any

from bot.workspace.schema import (
    Check,
    Complaints,
    accept_anything,
    add_complaint,
    by_type,
    check_boolean,
    check_number,
    fields,
    items,
    string,
    typed_fields,
)

URL_SCHEMES = frozenset({"http", "https", "mailto", "slack", "tel"})
ACTION_ID = string(255, min_length=1)
MAX_OPTIONS = 100


def _check_url(value: Any, pointer: str, complaints: Complaints) -> None:
    string(3000, min_length=1)(value, pointer, complaints)
    if isinstance(value, str) and value and value.partition(":")[0].lower() not in URL_SCHEMES:
        add_complaint(complaints, "must be a valid URL", pointer)


URL: Check = _check_url


def plain_text(most: int) -> Check:
    """Return a check for a plain_text object of at most `most` characters."""
    table = {"plain_text": typed_fields({"text": string(most, min_length=1)}, {"emoji": check_boolean})}
    return by_type(lambda: table)


def text_object(most: int) -> Check:
    """Return a check for a plain_text or mrkdwn object of at most `most` characters."""
    table = {
        "plain_text": typed_fields({"text": string(most, min_length=1)}, {"emoji": check_boolean}),
        "mrkdwn": typed_fields({"text": string(most, min_length=1)}, {"verbatim": check_boolean}),
    }
    return by_type(lambda: table)


OPTION_VALUE = string(150, min_length=1)
# Only checkboxes and radio buttons take markup, and only an overflow menu takes links.
OPTION = fields({"text": plain_text(75), "value": OPTION_VALUE}, {"description": plain_text(75)})
MARKUP_OPTION = fields({"text": text_object(75), "value": OPTION_VALUE}, {"description": text_object(75)})
LINKING_OPTION = fields({"text": plain_text(75), "value": OPTION_VALUE}, {"description": plain_text(75), "url": URL})
OPTIONS = items(OPTION, MAX_OPTIONS)
SUGGESTED_OPTIONS = items(OPTION, MAX_OPTIONS, min_items=0)
OPTION_GROUPS = items(fields({"label": plain_text(75), "options": OPTIONS}), MAX_OPTIONS)
CONFIRM = fields(
    {"title": plain_text(100), "text": text_object(300), "confirm": plain_text(30), "deny": plain_text(30)},
    {"style": string(choices=("primary", "danger"))},
)
DISPATCH_CONFIG = fields({"trigger_actions_on": items(string(choices=("on_enter_pressed", "on_character_entered")), 2)})
FEEDBACK_BUTTON = fields({"text": plain_text(75), "value": string(2000)}, {"accessibility_label": string(75)})
CONVERSATION_FILTER = fields(
    {},
    {
        "include": items(string(), 4),
        "exclude_external_shared_channels": check_boolean,
        "exclude_bot_users": check_boolean,
    },
)
STYLE = string(choices=("primary", "danger"))
SLACK_FILE = fields({}, {"id": string(), "url": string()})
INPUT_FIELDS: Mapping[str, Check] = {"action_id": ACTION_ID, "focus_on_load": check_boolean, "confirm": CONFIRM}
PLACEHOLDER_FIELDS: Mapping[str, Check] = {**INPUT_FIELDS, "placeholder": plain_text(150)}
TEXT_INPUT_FIELDS: Mapping[str, Check] = {
    **PLACEHOLDER_FIELDS,
    "dispatch_action_config": DISPATCH_CONFIG,
    "initial_value": string(),
}
MULTI_SELECT_FIELDS: Mapping[str, Check] = {**PLACEHOLDER_FIELDS, "max_selected_items": check_number}


def _check_options(value: Any, pointer: str, complaints: Complaints) -> None:
    if isinstance(value, dict) and ("options" in value) == ("option_groups" in value):
        add_complaint(complaints, "exactly one of options and option_groups is required", pointer)


def _combine_checks(first: Check, second: Check) -> Check:
    def check(value: Any, pointer: str, complaints: Complaints) -> None:
        first(value, pointer, complaints)
        second(value, pointer, complaints)

    return check


BUTTON = typed_fields(
    {"text": plain_text(75)},
    {
        "action_id": ACTION_ID,
        "url": URL,
        "value": string(2000),
        "style": STYLE,
        "confirm": CONFIRM,
        "accessibility_label": string(75),
        "agent_prompt": string(4000),
        "agent_prompt_display": accept_anything,
        "visible_to_user_ids": items(string(), 100),
    },
)
IMAGE = typed_fields({"alt_text": string(2000)}, {"image_url": URL, "slack_file": SLACK_FILE})
OVERFLOW = typed_fields({"options": items(LINKING_OPTION, 5)}, {"action_id": ACTION_ID, "confirm": CONFIRM})
STATIC_SELECT_FIELDS = {"options": OPTIONS, "option_groups": OPTION_GROUPS}

INTERACTIVE_ELEMENTS: dict[str, Check] = {
    "button": BUTTON,
    "overflow": OVERFLOW,
    "checkboxes": typed_fields(
        {"options": items(MARKUP_OPTION, 10)}, {**INPUT_FIELDS, "initial_options": items(MARKUP_OPTION, 10)}
    ),
    "radio_buttons": typed_fields(
        {"options": items(MARKUP_OPTION, 10)}, {**INPUT_FIELDS, "initial_option": MARKUP_OPTION}
    ),
    "datepicker": typed_fields({}, {**PLACEHOLDER_FIELDS, "initial_date": string()}),
    "timepicker": typed_fields({}, {**PLACEHOLDER_FIELDS, "initial_time": string(), "timezone": string()}),
    "datetimepicker": typed_fields({}, {**INPUT_FIELDS, "initial_date_time": check_number}),
    "static_select": _combine_checks(
        typed_fields({}, {**PLACEHOLDER_FIELDS, **STATIC_SELECT_FIELDS, "initial_option": OPTION}), _check_options
    ),
    "multi_static_select": _combine_checks(
        typed_fields(
            {}, {**MULTI_SELECT_FIELDS, **STATIC_SELECT_FIELDS, "initial_options": items(OPTION, MAX_OPTIONS)}
        ),
        _check_options,
    ),
    "external_select": typed_fields(
        {}, {**PLACEHOLDER_FIELDS, "initial_option": OPTION, "min_query_length": check_number}
    ),
    "multi_external_select": typed_fields(
        {}, {**MULTI_SELECT_FIELDS, "initial_options": items(OPTION, MAX_OPTIONS), "min_query_length": check_number}
    ),
    "users_select": typed_fields({}, {**PLACEHOLDER_FIELDS, "initial_user": string()}),
    "multi_users_select": typed_fields({}, {**MULTI_SELECT_FIELDS, "initial_users": items(string(), MAX_OPTIONS)}),
    "conversations_select": typed_fields(
        {},
        {
            **PLACEHOLDER_FIELDS,
            "initial_conversation": string(),
            "default_to_current_conversation": check_boolean,
            "response_url_enabled": check_boolean,
            "filter": CONVERSATION_FILTER,
        },
    ),
    "multi_conversations_select": typed_fields(
        {},
        {
            **MULTI_SELECT_FIELDS,
            "initial_conversations": items(string(), MAX_OPTIONS),
            "default_to_current_conversation": check_boolean,
            "filter": CONVERSATION_FILTER,
        },
    ),
    "channels_select": typed_fields(
        {}, {**PLACEHOLDER_FIELDS, "initial_channel": string(), "response_url_enabled": check_boolean}
    ),
    "multi_channels_select": typed_fields(
        {}, {**MULTI_SELECT_FIELDS, "initial_channels": items(string(), MAX_OPTIONS)}
    ),
    "workflow_button": typed_fields(
        {"text": plain_text(75), "workflow": accept_anything},
        {"action_id": ACTION_ID, "style": STYLE, "accessibility_label": string(75)},
    ),
}
INPUT_ELEMENTS: dict[str, Check] = {
    "plain_text_input": typed_fields(
        {}, {**TEXT_INPUT_FIELDS, "multiline": check_boolean, "min_length": check_number, "max_length": check_number}
    ),
    "email_text_input": typed_fields({}, TEXT_INPUT_FIELDS),
    "url_text_input": typed_fields({}, TEXT_INPUT_FIELDS),
    "number_input": typed_fields(
        {"is_decimal_allowed": check_boolean},
        {**TEXT_INPUT_FIELDS, "min_value": check_number, "max_value": check_number},
    ),
    "rich_text_input": typed_fields(
        {},
        {**TEXT_INPUT_FIELDS, "initial_value": accept_anything, "min_lines": check_number, "max_lines": check_number},
    ),
    "file_input": typed_fields({}, {**INPUT_FIELDS, "filetypes": items(string(), 100), "max_files": check_number}),
}

RADIO_BUTTONS = {"radio_buttons": INTERACTIVE_ELEMENTS["radio_buttons"]}
SECTION_ELEMENT = by_type(lambda: {**INTERACTIVE_ELEMENTS, "image": IMAGE})
ACTIONS_ELEMENT = by_type(lambda: {**INTERACTIVE_ELEMENTS, "rich_text_input": INPUT_ELEMENTS["rich_text_input"]})
INPUT_ELEMENT = by_type(
    lambda: {
        **{name: check for name, check in INTERACTIVE_ELEMENTS.items() if "button" not in name},
        **INPUT_ELEMENTS,
        **RADIO_BUTTONS,
    }
)
CONTEXT_ELEMENT = by_type(
    lambda: {
        "image": IMAGE,
        "mrkdwn": typed_fields({"text": string(3000, min_length=1)}, {"verbatim": check_boolean}),
        "plain_text": typed_fields({"text": string(3000, min_length=1)}, {"emoji": check_boolean}),
    }
)
CONTEXT_ACTIONS_ELEMENT = by_type(
    lambda: {
        "feedback_buttons": typed_fields(
            {"positive_button": FEEDBACK_BUTTON, "negative_button": FEEDBACK_BUTTON}, {"action_id": ACTION_ID}
        ),
        "icon_button": typed_fields(
            {"icon": string(), "text": plain_text(75)},
            {
                "action_id": ACTION_ID,
                "value": string(2000),
                "confirm": CONFIRM,
                "accessibility_label": string(75),
                "visible_to_user_ids": items(string(), 100),
            },
        ),
    }
)

RICH_STYLE = fields(
    {},
    {
        "bold": check_boolean,
        "italic": check_boolean,
        "strike": check_boolean,
        "code": check_boolean,
        "underline": check_boolean,
        "highlight": check_boolean,
    },
)
RICH_PART = by_type(
    lambda: {
        "text": typed_fields({"text": string(min_length=1)}, {"style": RICH_STYLE}),
        "link": typed_fields(
            {"url": string(min_length=1)}, {"text": string(), "unsafe": check_boolean, "style": RICH_STYLE}
        ),
        "user": typed_fields({"user_id": string()}, {"style": RICH_STYLE}),
        "channel": typed_fields({"channel_id": string()}, {"style": RICH_STYLE}),
        "usergroup": typed_fields({"usergroup_id": string()}, {"style": RICH_STYLE}),
        "emoji": typed_fields(
            {"name": string()}, {"unicode": string(), "url": string(), "skin_tone": check_number, "style": RICH_STYLE}
        ),
        "broadcast": typed_fields({"range": string(choices=("here", "channel", "everyone"))}, {"style": RICH_STYLE}),
        "color": typed_fields({"value": string()}, {"style": RICH_STYLE}),
        "date": typed_fields(
            {"timestamp": check_number, "format": string()},
            {"url": string(), "fallback": string(), "style": RICH_STYLE},
        ),
    }
)
RICH_PARTS = items(RICH_PART, 10_000, min_items=0)
RICH_SECTION = typed_fields({"elements": RICH_PARTS})
RICH_LIST = typed_fields(
    {
        "elements": items(by_type(lambda: {"rich_text_section": RICH_SECTION}), 1_000),
        "style": string(choices=("bullet", "ordered")),
    },
    {"indent": check_number, "offset": check_number, "border": check_number},
)
RICH_TEXT = typed_fields(
    {
        "elements": items(
            by_type(
                lambda: {
                    "rich_text_section": RICH_SECTION,
                    "rich_text_list": RICH_LIST,
                    "rich_text_quote": typed_fields({"elements": RICH_PARTS}, {"border": check_number}),
                    "rich_text_preformatted": typed_fields(
                        {"elements": RICH_PARTS}, {"border": check_number, "language": string()}
                    ),
                }
            ),
            1_000,
        )
    },
    {"block_id": string(255)},
)
