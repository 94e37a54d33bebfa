"""Reads tool calls that a model wrote as plain text or gave to the wrong tool.

Some models, above all small ones, write calls as text, in the forms that they were trained on. Such a text is read as a
call if its tool only reads or ends the work. A call that writes is never read from text: a text may quote what a page
or a file says.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from handoff.contracts import ToolCall, Turn
from handoff.text.reply_text import is_nested_within, replace_surrogates
from specialists.tools.tool import SQL_ARGUMENT, Tool, ToolSpec
from specialists.turns.finish_tools import RETURN_RESULT, UNLISTED_ARGUMENTS

MAX_SURROUNDING_CHARS = 600
"""Most characters of a text beyond twice its call's arguments. The call in a longer text counts as a quotation."""

_TOOL_NAME = re.compile(r'"(?:name|tool|tool_name|function|function_name|action)"\s*:\s*"([^"\s]{1,64})"')
_CALL_TAG = re.compile(r"<\W{0,2}(?:tool|function)(?:_?calls?)?\b[^\n>]{0,80}>|\[TOOL_CALLS?\]", re.IGNORECASE)
_NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name", "action")
_ARGUMENT_KEYS = ("arguments", "parameters", "input", "args", "action_input")
_NESTED_CALL_KEYS = ("function", "function_call", "tool_call", "tool_calls", "step")
"""Keys that hold the name of a call, its arguments, or a call nested in it."""
_FUNCTION_TAG = re.compile(r"<function=([\w.-]+)>\s*\Z")
_MAX_TRIED_BRACES = 50
"""Most braces of a text that are tried as the beginning of an object."""
_MAX_NESTING = 40
_MAX_OUTSIDE_CHARS = 500
"""Most characters around calls: an announcement, tags and fences."""
_DECODER = json.JSONDecoder(strict=False)  # small models put line breaks into their strings as they are


def parse_turn_call(turn: Turn, specs: Sequence[ToolSpec], write_tools: Collection[str], turn_number: int) -> Turn:
    """Return the turn with the call that is written in its text; unchanged if there is none.

    Args:
        turn: The model's turn.
        specs: The tools that it was offered.
        write_tools: The names of those tools that write.
        turn_number: The turn's number, which makes its call's id differ from that of the same text in another turn.
    """
    if turn.calls or turn.stop != "end" or not turn.text.strip():
        return turn
    call = _find_fitting_call(turn.text, specs, write_tools)
    if call is None:
        return turn
    call = call.model_copy(update={"id": f"{call.id}_{turn_number}"})
    return turn.model_copy(update={"text": "", "calls": (call,), "stop": "tool_use"})


def is_written_call(text: str, specs: Sequence[ToolSpec]) -> bool:
    """Return True if a text is a call of one of the tools, with at most a few words around it."""
    call = _find_fitting_call(text, specs)
    return call is not None and call.name in {spec.name for spec in specs}


def holds_unread_call(text: str, names: Collection[str]) -> bool:
    """Return True if a text seems to hold a tool call that was not run: it cannot be parsed, or its tool writes."""
    if _CALL_TAG.search(text):
        return True
    names_pattern = "|".join(re.escape(name) for name in names)
    return bool(
        re.search(rf'"(?:{names_pattern})"\s*:\s*\{{|:\s*"(?:{names_pattern})"|(?<![\w.])(?:{names_pattern})\(', text)
    )


def _find_fitting_call(text: str, specs: Sequence[ToolSpec], excluded_tools: Collection[str] = ()) -> ToolCall | None:
    """Find a written call that fits its schema; otherwise one that does not, so that the model learns what is wrong."""
    specs_by_name = {spec.name: spec for spec in specs}
    call = find_written_call(text, [spec for spec in specs if spec.name not in excluded_tools])
    if call is None and (tool_names := set(_TOOL_NAME.findall(text)).difference(excluded_tools)):
        call = find_written_call(text, [_relax_spec(specs_by_name.get(name), name) for name in sorted(tool_names)])
    if call is None or len(text) > 2 * len(json.dumps(call.arguments, ensure_ascii=False)) + MAX_SURROUNDING_CHARS:
        return None
    return call


def _relax_spec(spec: ToolSpec | None, name: str) -> ToolSpec:
    """Return a spec that requires nothing.

    The spec of `return_result` is returned as it is, since its arguments are also read without its name.
    """
    if spec is not None and name == RETURN_RESULT:
        return spec
    return ToolSpec(name, "", {"type": "object", "properties": {}})


def find_written_call(text: str, tools: Sequence[ToolSpec]) -> ToolCall | None:
    """Find the first call of one of the tools that a text holds as JSON; None if there is none.

    - Tags, fences and words around it are ignored.
    - A call has a name and an object of arguments, under any of the keys that models use. The arguments of
      `return_result` are also read without its name.
    - A call without arguments that its tool requires is not read. An object that was cut off is never completed.
    - A text that says much more than the call is a report, which only quotes it.
    - The same text gives the same id.
    """
    by_name = {tool.name: tool for tool in tools}
    objects = tuple(_iterate_objects(text)) if by_name else ()
    if len(text) - sum(length for _, _, length in objects) > _MAX_OUTSIDE_CHARS:
        return None
    for before, value, _ in objects:
        named_arguments = (
            _read_tagged_call(_FUNCTION_TAG.search(before), value, by_name)
            or _parse_call(value, by_name)
            or _parse_bare_arguments(value, by_name)
        )
        if named_arguments is not None:
            name, arguments = named_arguments
            digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
            return ToolCall(id=f"written_{digest}", name=name, arguments=replace_surrogates(arguments))
    return None


_NamedArguments = tuple[str, dict[str, Any]]


def _iterate_objects(text: str) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Yield each top-level JSON object of a text: (text before it, object, its length)."""
    start = text.find("{")
    for _ in range(_MAX_TRIED_BRACES):
        if start < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if is_nested_within(value, _MAX_NESTING):
                yield text[max(0, start - 100) : start], value, end - start
        start = text.find("{", end)


def _read_tagged_call(
    tag_match: re.Match[str] | None, value: dict[str, Any], tools: dict[str, ToolSpec]
) -> _NamedArguments | None:
    """Read arguments if a tag before them names their tool."""
    return _check_arguments(tag_match[1], value, tools) if tag_match else None


def _parse_call(value: Any, tools: dict[str, ToolSpec]) -> _NamedArguments | None:
    """Read a name with its arguments, or the first such call nested in the value."""
    if isinstance(value, list):
        return next(filter(None, (_parse_call(each, tools) for each in value)), None)
    if not isinstance(value, dict):
        return None
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str) and value[key] in tools), None)
    if name is not None:
        arguments = next((value[key] for key in _ARGUMENT_KEYS if key in value), None)
        return _check_arguments(name, arguments, tools)
    if len(value) == 1 and (only_key := next(iter(value))) in tools:
        return _check_arguments(only_key, value[only_key], tools)
    return next(filter(None, (_parse_call(value[key], tools) for key in _NESTED_CALL_KEYS if key in value)), None)


def _parse_bare_arguments(value: dict[str, Any], tools: dict[str, ToolSpec]) -> _NamedArguments | None:
    """Read arguments of `return_result` without its name: all required ones, and no unknown ones."""
    tool = tools.get(RETURN_RESULT)
    if tool is None or not set(value) <= {*tool.parameters.get("properties", ()), *UNLISTED_ARGUMENTS}:
        return None
    return _check_arguments(RETURN_RESULT, value, tools)


def _check_arguments(name: str, arguments: Any, tools: dict[str, ToolSpec]) -> _NamedArguments | None:
    """Return (name, arguments) if these are an object, or the JSON text of one, with all that the tool requires."""
    if isinstance(arguments, str):
        try:
            arguments = _DECODER.decode(arguments)
        except (ValueError, RecursionError):
            return None
    if name not in tools or not isinstance(arguments, dict) or not is_nested_within(arguments, _MAX_NESTING):
        return None
    return (name, arguments) if set(tools[name].parameters.get("required", ())) <= set(arguments) else None


_QUERY = re.compile(r"\s*(?:select|with)\b.*\bfrom\b", re.IGNORECASE | re.DOTALL)
_QUOTED_QUERY = re.compile(
    r"(?P<mark>\"{3}|'{3}|[\"'])(?P<sql>\s*(?:select|with)\b(?:(?!(?P=mark))[^\\])*)(?P=mark)", re.IGNORECASE
)


def redirect_queries(turn: Turn, toolbox: Mapping[str, Tool]) -> Turn:
    """Return the turn with its SQL queries turned into calls of the query tool, if there is exactly one such tool.

    A turn with thoughts about its calls stays unchanged: providers check that thoughts come back with the calls that
    followed them.
    """
    query_tools = [tool for tool in toolbox.values() if tool.is_query_only]
    if len(query_tools) != 1 or any(one.get("calls", "type" in one) for one in turn.thoughts) or not turn.calls:
        return turn
    calls = tuple(_redirect_query(call, toolbox, query_tools[0]) for call in turn.calls)
    return turn if calls == turn.calls else turn.model_copy(update={"calls": calls})


def _redirect_query(call: ToolCall, toolbox: Mapping[str, Tool], query_tool: Tool) -> ToolCall:
    """Return a call of the tool `query_tool` if the call's only argument holds one query.

    A call that writes is unchanged.
    """
    tool = toolbox.get(call.name)
    values = list(call.arguments.values())
    if tool is None or tool.access == "write" or tool.query or len(values) != 1 or not isinstance(values[0], str):
        return call
    sql = extract_query(values[0])
    return call.model_copy(update={"name": query_tool.name, "arguments": {SQL_ARGUMENT: sql}}) if sql else call


def extract_query(text: str) -> str:
    """Return the text if it is an SQL query, or the only query quoted in it; "" if there is none."""
    if _QUERY.match(text):
        return text.strip()
    queries = {one["sql"].strip() for one in _QUOTED_QUERY.finditer(text) if _QUERY.match(one["sql"])}
    return queries.pop() if len(queries) == 1 else ""
