"""Reads chat completions, whole and streamed, and accepts the deviations of compatible servers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from copy import deepcopy
from typing import Any

from bot.models.event_stream import END_OF_STREAM, StreamEvent, StreamEventKind
from bot.models.model_faults import extract_code_and_message
from bot.models.reply_cleaning import RepetitionDetector, ThinkTagStripper, strip_thinking
from bot.models.wire import (
    BadReplyError,
    Emitter,
    WireError,
    WireReply,
    check_call_count,
    fill_call_ids,
    find_unknown_fields,
    is_json_value,
    make_cut_reply_error,
    parse_tool_calls,
    read_openai_usage,
    read_stop_reason,
)
from handoff.contracts import StopReason, ToolCall

_STOP_REASONS: dict[str, StopReason] = {
    "stop": "end",
    "eos_token": "end",
    "stop_sequence": "end",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "model_length": "max_tokens",
    "content_filter": "refused",
}


def read_completion(completion: dict[str, Any]) -> WireReply:
    """Read a completion. Raises WireError for an error that it reports, BadReplyError for any other unusable reply."""
    if (error := completion.get("error")) and not completion.get("choices"):
        raise WireError(*extract_code_and_message(error))
    tokens = read_openai_usage(completion.get("usage"), "prompt_tokens", "completion_tokens")
    choices = completion.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message") or {}
    word = choice.get("finish_reason")
    stop = read_stop_reason(word, _STOP_REASONS)
    if stop is None:
        raise make_cut_reply_error(word, f"it was cut short (finish reason {word!r})", tokens)
    text = strip_thinking(_extract_text(message.get("content")))
    if message.get("refusal"):
        return WireReply(_extract_text(message["refusal"]), (), "refused", tokens)
    raw_calls = fill_call_ids(call for call in message.get("tool_calls") or () if isinstance(call, dict))
    check_call_count(len(raw_calls))
    calls_by_id = {call["id"]: call for call in raw_calls}
    arguments = ((name, *_read_name_and_arguments(call)) for name, call in calls_by_id.items())
    calls = parse_tool_calls(arguments, stop, tokens)
    if calls:  # for any stop reason: some servers end a complete tool call with `stop`
        return WireReply(text, calls, "tool_use", tokens, _collect_opaque_fields(message, calls_by_id, calls))
    if stop == "tool_use":
        raise BadReplyError("it announced a tool call and made none", tokens)
    if str(word).strip().lower() not in _STOP_REASONS and stop == "end" and not text.strip():
        raise BadReplyError(f"it said nothing (finish reason {word!r})", tokens)
    return WireReply(text, (), stop, tokens)


_MESSAGE_FIELDS = frozenset({"role", "content", "refusal", "tool_calls", "function_call", "annotations", "audio"})
_CALL_FIELDS, _FUNCTION_FIELDS = frozenset({"id", "type", "index", "function"}), frozenset({"name", "arguments"})


def _collect_opaque_fields(
    message: dict[str, Any], raw_calls: dict[str, dict[str, Any]], calls: tuple[ToolCall, ...]
) -> tuple[dict[str, Any], ...]:
    """Return the unknown fields of the message and its calls, to send back to the provider with the next turn."""
    fields_by_call = {}
    for call in calls:
        more = find_unknown_fields(raw_calls[call.id], _CALL_FIELDS)
        function_fields = find_unknown_fields(raw_calls[call.id].get("function") or {}, _FUNCTION_FIELDS)
        if more or function_fields:
            fields_by_call[call.id] = {"call": more, "function": function_fields}
    fields = find_unknown_fields(message, _MESSAGE_FIELDS)
    return ({"type": "reply", "fields": fields, "calls": fields_by_call},) if fields or fields_by_call else ()


def _extract_text(content: Any) -> str:
    """Return the text of a message's content. Some servers send a list of parts, of which only text parts count."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def _join_delta_text(delta: dict[str, Any]) -> str:
    """Return all text that a delta adds: reply text, reasoning (under both common field names) and arguments."""
    functions = (part.get("function") or {} for part in delta.get("tool_calls") or ())
    texts = (_extract_text(delta.get("content")), delta.get("reasoning_content"), delta.get("reasoning"))
    return "".join(piece for piece in (*texts, *(one.get("arguments") for one in functions)) if isinstance(piece, str))


def _read_name_and_arguments(call: dict[str, Any]) -> tuple[str, Any]:
    function = call.get("function") or {}
    return str(function.get("name")), function.get("arguments")


def classify_chunk(chunk: StreamEvent) -> StreamEventKind:
    """Return "words" if a chunk has a part of the reply, otherwise "opening"."""
    choices = chunk.get("choices")
    delta = choices[0].get("delta") if choices else None
    return "words" if delta and any(value for key, value in delta.items() if key != "role") else "opening"


async def collect_completion(chunks: AsyncIterator[StreamEvent], emitter: Emitter) -> dict[str, Any]:
    """Collect a stream into one completion, in the form of a non-streamed reply. A whole completion is returned as is.

    A reply that only repeats itself is cut off with the finish reason `length`, since a slow machine would go on for
    minutes. If the server has reported no usage by then, each event counts as one output token.
    """
    text: list[str] = []
    refusal: list[str] = []
    stripper = ThinkTagStripper()
    calls = _StreamedCalls()
    opaque_fields = _StreamedFields()
    repetition_watch, events = RepetitionDetector(), 0
    finish = None
    has_ended = False
    usage: dict[str, Any] = {}
    async for chunk in chunks:
        choices = chunk.get("choices")
        if chunk.get("error") or (choices and "message" in choices[0]):
            return chunk
        has_ended = has_ended or chunk is END_OF_STREAM
        usage = chunk.get("usage") or usage
        if not choices:
            continue
        raw_finish_reason = choices[0].get("finish_reason")
        finish = raw_finish_reason if raw_finish_reason or (raw_finish_reason is not None and not finish) else finish
        delta = choices[0].get("delta") or {}
        refusal.append(delta.get("refusal") or "")
        events += 1
        for part in delta.get("tool_calls") or ():
            calls.add(part)
        if piece := _extract_text(delta.get("content")):
            text.append(piece)
            await emitter.emit(stripper.feed(piece))
        opaque_fields.add(find_unknown_fields(delta, _MESSAGE_FIELDS))
        if repetition_watch.feed(_join_delta_text(delta)):
            finish, usage = "length", usage or {"completion_tokens": events}
            calls = _StreamedCalls()
            break
    await emitter.emit(stripper.flush())
    if finish == "" and not has_ended:
        finish = None  # some servers send "" in every chunk, which does not prove that the stream is complete
    message = opaque_fields.assemble() | {
        "content": "".join(text),
        "refusal": "".join(refusal),
        "tool_calls": calls.assemble(),
    }
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


MAX_OPAQUE_CHARACTERS = 256 * 1024
"""Maximum characters of a message's unknown fields. Longer fields are dropped, as by `retrying.MAX_THOUGHT_BYTES`.
"""


class _StreamedFields:
    """The unknown fields of a streamed message, assembled from their parts."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._others: dict[str, Any] = {}
        self._size = 0

    def add(self, part: dict[str, Any]) -> None:
        """Add the unknown fields of one delta."""
        self._size += sum(len(value) if isinstance(value, str) else len(str(value)) for value in part.values())
        if self._size > MAX_OPAQUE_CHARACTERS:
            return
        for key, value in part.items():
            if isinstance(value, str) and key not in _UNCONTINUED_FIELDS:
                self._texts.setdefault(key, []).append(value)
            else:
                merge_fields(self._others, {key: value})

    def assemble(self) -> dict[str, Any]:
        """Return the fields; {} if they are longer than `MAX_OPAQUE_CHARACTERS` together."""
        if self._size > MAX_OPAQUE_CHARACTERS:
            return {}
        return self._others | {key: "".join(pieces) for key, pieces in self._texts.items()}


_UNCONTINUED_FIELDS = frozenset({"type", "id", "index", "format", "role", "object", "name"})
"""Fields that each part of a stream repeats. Any other text field is continued by the next part."""


def merge_fields(target: dict[str, Any], part: dict[str, Any]) -> None:
    """Merge the next part of a streamed object into `target`: texts are appended, list items matched by `index`."""
    for key, value in part.items():
        before = target.get(key)
        if value is None:
            continue
        if isinstance(before, str) and isinstance(value, str):
            target[key] = (value or before) if key in _UNCONTINUED_FIELDS else before + value
        elif isinstance(before, dict) and isinstance(value, dict):
            merge_fields(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            _merge_list(before, value)
        elif isinstance(value, dict):
            target[key] = {}
            merge_fields(target[key], value)
        elif isinstance(value, list):
            target[key] = []
            _merge_list(target[key], value)
        else:
            target[key] = value


def _merge_list(target: list[Any], parts: list[Any]) -> None:
    for part in parts:
        before = next((one for one in target if _continues_item(one, part)), None) if isinstance(part, dict) else None
        if before is None:
            target.append(deepcopy(part))
        else:
            merge_fields(before, part)


def _continues_item(item: Any, part: dict[str, Any]) -> bool:
    """Return True if a part has the index of a list item, and the same type and id if both have them."""
    if not isinstance(item, dict) or part.get("index") is None or item.get("index") != part["index"]:
        return False
    return all(not part.get(key) or item.get(key) in {None, "", part[key]} for key in ("type", "id"))


class _StreamedCalls:
    """The tool calls of a stream, assembled from their parts."""

    def __init__(self) -> None:
        self._calls: list[dict[str, Any]] = []
        self._last: dict[int | None, dict[str, Any]] = {}
        """The last call of each index; None is the index if the server sends none."""

    def add(self, part: dict[str, Any]) -> None:
        """Add a part to the call that it continues, or as a new call. Raises BadReplyError for too many calls."""
        function = part.get("function") or {}
        call_id = part.get("id") or ""
        place = str(part.get("index"))  # some servers send the number as text
        index = int(place) if place.isdecimal() else None
        call = self._last.get(index)
        earlier = next((one for one in reversed(self._calls) if call_id and one["id"] == call_id), None)
        if earlier is not None and not function.get("name"):
            call = earlier  # the parts of two calls alternate, each with its call's id
        elif call is None or _begins_new_call(call, call_id, index, function):
            call = {"id": "", "name": "", "arguments": [], "more": {}, "inside": {}}
            self._calls.append(call)
            check_call_count(len(self._calls))
        self._last[index] = call
        call["id"] = call_id or call["id"]
        name = function.get("name") or ""
        if name != call["name"]:  # some servers repeat the name in every part
            call["name"] += name
        call["arguments"].append(_render_arguments(function))
        merge_fields(call["more"], find_unknown_fields(part, _CALL_FIELDS))
        merge_fields(call["inside"], find_unknown_fields(function, _FUNCTION_FIELDS))

    def assemble(self) -> list[dict[str, Any]]:
        """Return the calls in the form of a non-streamed reply."""
        return [
            call["more"]
            | {
                "id": call["id"],
                "function": call["inside"] | {"name": call["name"], "arguments": "".join(call["arguments"])},
            }
            for call in self._calls
        ]


def _render_arguments(function: dict[str, Any]) -> str:
    arguments = function.get("arguments")
    return json.dumps(arguments) if isinstance(arguments, dict) else str(arguments or "")


def _begins_new_call(call: dict[str, Any], call_id: str, index: int | None, function: dict[str, Any]) -> bool:
    """Return True if a part of a stream begins another call under the same index.

    Some servers send each call whole with the index 0 or without an index, and some send no ids. A part begins a new
    call if its id differs, or if it has a name and the arguments before it are complete.
    """
    if call_id and call["id"] and call_id != call["id"]:
        return True
    name = function.get("name") or ""
    if not name or not call["name"]:
        return False
    if index is None:
        return True
    if name == call["name"] and not _render_arguments(function).lstrip().startswith("{"):
        return False  # a repeated name: this part continues the arguments or adds nothing
    text = "".join(call["arguments"]).rstrip()
    return text.endswith("}") and is_json_value(text)
