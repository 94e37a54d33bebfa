"""Makes tools of plain functions: the signature becomes the arguments, the docstring the description for models."""

from __future__ import annotations

import inspect
import logging
import threading
import typing
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, PydanticUserError, create_model
from pydantic_core import PydanticSerializationError, to_json

from specialists.tools.blocking import run_in_thread
from specialists.tools.tool import FileNotKept, OutgoingData, Tool, ToolOutcome, Workbench, WorkbenchLost
from specialists.tools.toolkit import read_declarations

MAX_PARALLEL_CALLS = 32
"""Most calls of one function that run in threads at the same time; a thread that hangs stays counted."""
MAX_DOCSTRING_CHARS = 2_000
"""Most characters of a docstring, since every model call of a specialist with this tool contains it."""
MAX_ERROR_CHARS = 300
MAX_REPLY_CHARS = 100_000
"""Most characters of a reply that are kept; `turns.one_call` shows a model fewer."""
_FUNCTION_ATTRIBUTE = "__leadhand_function__"
_THREAD_SECONDS = 3_600.0
"""Seconds that the wait for a thread may take; the caller's own limit ends it long before."""

_log = logging.getLogger(__name__)


class UnusableFunction(Exception):
    """A function cannot be a tool. The message says why and what to do, in words that follow the function's name."""


def tool_of(function: Callable[..., Any], **more: Any) -> Tool:
    """Make a tool of a function, sync or async.

    The function's parameters, with their types, become the tool's arguments; a parameter of type `Workbench` gets the
    workbench. The function returns a text, a `ToolOutcome`, or a value that JSON can hold. If a function that reads
    raises an error, the model is told. If a function that writes raises one, it is unknown whether it wrote, and people
    are asked. A sync function runs in a thread.

    Args:
        function: The function, with its decorators, such as `toolkit.writes`.
        more: Further fields of `Tool`, such as `target`; they replace those that decorators set.

    Raises:
        UnusableFunction: The function cannot be a tool, for example without a docstring or a parameter's type.
    """
    declarations = read_declarations(function)
    tool_function = _ToolFunction(
        function, function.__name__, declarations.get("access", "read") == "write", *_read_parameters(function)
    )
    fields: dict[str, Any] = {"access": declarations.get("access", "read"), "public": declarations.get("public", False)}
    if "sends_to" in declarations:
        fields["sends"] = _make_send_describer(str(declarations["sends_to"]))
    return Tool(
        name=tool_function.name,
        arguments=tool_function.arguments,
        run=_make_tool_run(tool_function, function),
        **{**fields, **more},
    )


def _make_tool_run(
    tool_function: _ToolFunction, function: Callable[..., Any]
) -> Callable[..., Coroutine[Any, Any, ToolOutcome]]:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UnusableFunction("yields, and might never end; return a list instead")
    prompt = inspect.cleandoc(function.__doc__ or "")
    if not prompt:
        raise UnusableFunction("has no docstring, which is what models read of it; write one, or begin its name with _")
    if len(prompt) > MAX_DOCSTRING_CHARS:
        raise UnusableFunction(
            f"has a docstring of {len(prompt):,} characters, and every call carries it; keep to {MAX_DOCSTRING_CHARS:,}"
        )

    async def run(arguments: BaseModel, workbench: Workbench) -> ToolOutcome:
        return await tool_function.run(arguments, workbench)

    run.__doc__ = prompt
    setattr(run, _FUNCTION_ATTRIBUTE, function)
    return run


def find_source_function(tool: Tool) -> Callable[..., Any] | None:
    """Return the function that `tool_of` made a tool of; None for other tools."""
    return getattr(tool.run, _FUNCTION_ATTRIBUTE, None)


def _read_parameters(function: Callable[..., Any]) -> tuple[type[BaseModel], str]:
    """Return a pydantic model of a function's arguments, and the name of its `Workbench` parameter or "".

    Raises UnusableFunction if models could not fill in the parameters.
    """
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise UnusableFunction(f"has a type that cannot be found ({error}); import it at the top of the file") from None
    fields: dict[str, Any] = {}
    workbench_parameter = ""
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY}:
            raise UnusableFunction(f"takes {parameter}, which models cannot fill in; name each argument")
        if name not in hints:
            raise UnusableFunction(f"has no type at the argument {name}; write one, such as {name}: str")
        if hints[name] is Workbench:
            workbench_parameter = name
            continue
        if name.startswith("_") or hasattr(BaseModel, name):
            raise UnusableFunction(f"has an argument {name}, a name that pydantic reserves; call it something else")
        fields[name] = (hints[name], ... if parameter.default is parameter.empty else parameter.default)
    try:
        model = create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)
        model.model_json_schema()
    except (PydanticUserError, TypeError, ValueError) as error:
        text = str(error).splitlines()[0][:MAX_ERROR_CHARS]
        raise UnusableFunction(
            f"has an argument of a type that JSON does not know ({text}); use str, int, list and the like"
        ) from None
    return model, workbench_parameter


def _make_send_describer(service: str) -> Callable[[BaseModel], OutgoingData]:
    return lambda arguments: OutgoingData(service, arguments.model_dump_json())


@dataclass(frozen=True, slots=True)
class _ToolFunction:
    """A function, with all that its tool needs to call it."""

    function: Callable[..., Any]
    name: str
    writes: bool
    arguments: type[BaseModel]
    workbench_parameter: str
    free_threads: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(MAX_PARALLEL_CALLS)
    )

    async def run(self, arguments: BaseModel, workbench: Workbench) -> ToolOutcome:
        """Call the function, and make the tool's outcome of what it returns or raises."""
        keyword_arguments = {name: getattr(arguments, name) for name in type(arguments).model_fields}
        if self.workbench_parameter:
            keyword_arguments[self.workbench_parameter] = workbench
        try:
            return await self._call_function(keyword_arguments)
        except (WorkbenchLost, FileNotKept):
            raise
        except (Exception, SystemExit) as error:
            _log.warning("the tool %s raised", self.name, exc_info=True)
            if self.writes:  # it may have been carried out: `turns.write_calls` asks people
                raise RuntimeError(_describe_error(error)) from error
            return ToolOutcome(f"{self.name} failed: {_describe_error(error)}", failed=True)

    async def _call_function(self, arguments: dict[str, Any]) -> ToolOutcome:
        if inspect.iscoroutinefunction(self.function):
            return self._make_outcome(await self.function(**arguments))
        if not self.free_threads.acquire(blocking=False):
            return ToolOutcome(
                f"{self.name} is busy with {MAX_PARALLEL_CALLS} other calls. Go on without it.", failed=True
            )

        def work() -> ToolOutcome | Awaitable[Any]:
            try:
                value = self.function(**arguments)
                return value if inspect.isawaitable(value) else self._make_outcome(value)
            except StopIteration as error:  # a future cannot pass on StopIteration
                raise RuntimeError(_describe_error(error)) from error
            finally:
                self.free_threads.release()

        outcome = await run_in_thread(work, _THREAD_SECONDS)
        return outcome if isinstance(outcome, ToolOutcome) else self._make_outcome(await outcome)

    def _make_outcome(self, value: Any) -> ToolOutcome:
        if isinstance(value, ToolOutcome):
            return value
        if value is None:
            return ToolOutcome("Done." if self.writes else "Nothing.")
        if isinstance(value, str):
            return ToolOutcome(value[:MAX_REPLY_CHARS])
        try:
            return ToolOutcome(to_json(value).decode()[:MAX_REPLY_CHARS])
        except (PydanticSerializationError, ValueError):
            text = f"{self.name} gave a {type(value).__name__}, which is neither a text nor JSON."
            return ToolOutcome(f"Done. {text}") if self.writes else ToolOutcome(text, failed=True)


def _describe_error(error: BaseException) -> str:
    message = " ".join(str(error).split())
    words = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return words if len(words) <= MAX_ERROR_CHARS else f"{words[: MAX_ERROR_CHARS - 1]}…"
