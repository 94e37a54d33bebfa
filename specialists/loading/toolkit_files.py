"""Reads `toolkits/*.py` of a crew: Python files of the operator's own, whose functions are tools.

They run in the process of the bot. A tool with faults is left out, and so is a file that cannot be imported.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.machinery import SourceFileLoader
from pathlib import Path
from threading import Thread
from types import CodeType, ModuleType
from typing import Any, TypeVar

from specialists.files.frontmatter import CrewFault
from specialists.tools.plain_functions import UnusableFunction, find_source_function, tool_of
from specialists.tools.tool import Tool
from specialists.tools.toolkit import Toolkit, ToolSettings

FOLDER = "toolkits"
IMPORT_SECONDS = 20.0
TOOLS_FUNCTION = "tools"
"""The name of the function with which a module may return its tools: `tools()` or `tools(settings)`."""
_PACKAGE = "leadhand_toolkits_"
_LONGEST_ERROR = 200

_T = TypeVar("_T")


class UnusableModule(Exception):
    """A module has no usable tools. `line` counts from 1; 0 if it is unknown."""

    def __init__(self, text: str, line: int = 0) -> None:
        super().__init__(text)
        self.line = line


def read_toolkit_files(folder: Path, settings: ToolSettings, faults: list[CrewFault]) -> tuple[Toolkit, ...]:
    """Read the Python files in the folder `toolkits` of a crew's folder, a toolkit each.

    Files whose names begin with `_` are no toolkits: the others may import them.
    """
    place = folder / FOLDER
    if not place.is_dir():
        return ()
    package = _register_package(place)
    return tuple(
        toolkit
        for path in sorted(place.glob("*.py"))
        if not path.name.startswith(("_", ".")) and (toolkit := _read_file(path, package, settings, faults)) is not None
    )


def _read_file(path: Path, package: str, settings: ToolSettings, faults: list[CrewFault]) -> Toolkit | None:
    def add_fault(text: str, line: int = 0) -> None:
        faults.append(CrewFault(path, line or 1, text))

    origin = f"{FOLDER}/{path.name}"
    try:
        module = _import_file(path, f"{package}.{path.stem}")
        return replace(collect_module_tools(module, origin, settings, add_fault), path=path)
    except UnusableModule as error:
        add_fault(str(error), error.line)
        return None


def collect_module_tools(
    module: ModuleType, origin: str, settings: ToolSettings, report_fault: Callable[[str, int], None]
) -> Toolkit:
    """Return the tools of a module: those that its `tools` returns, else its `Tool` values and public functions.

    Faults are reported to `report_fault(text, line)`, and the tool is left out. With an empty `origin`, a returned
    `Toolkit` keeps its own. Raises UnusableModule.
    """
    if callable(make_tools := getattr(module, TOOLS_FUNCTION, None)):
        return collect_tools(make_tools, origin, settings, report_fault)
    values = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    tools = [value for value in values.values() if isinstance(value, Tool)]
    used_functions = {
        each
        for one in tools
        for each in (find_source_function(one), one.run, one.look_up, one.what, one.target, one.sends)
    }
    plain = [value for value in values.values() if _is_own_function(value, module) and value not in used_functions]
    return _convert_tools([*tools, *plain], Toolkit(origin), report_fault)


def _is_own_function(value: Any, module: ModuleType) -> bool:
    """Return True if a value is a function written in the module, decorated or not."""
    own = getattr(value, "__module__", "") == module.__name__
    return own and callable(value) and hasattr(value, "__name__") and not isinstance(value, type)


def collect_tools(
    make_tools: Any, origin: str, settings: ToolSettings, report_fault: Callable[[str, int], None]
) -> Toolkit:
    """Return the tools that a callable returns: a `Toolkit`, or `Tool` values and functions. Raises UnusableModule."""

    def make_toolkit() -> Toolkit:
        made_tools = make_tools(settings) if inspect.signature(make_tools).parameters else make_tools()
        return (
            replace(made_tools, origin=origin or made_tools.origin)
            if isinstance(made_tools, Toolkit)
            else Toolkit(origin, tuple(made_tools))
        )

    try:
        toolkit = import_with_timeout(make_toolkit, verb_phrase="gives its tools")
    except UnusableModule as error:
        raise UnusableModule(str(error), _find_definition_line(make_tools)) from None
    return _convert_tools(toolkit.tools, toolkit, report_fault)


def _find_definition_line(function: Any) -> int:
    return getattr(getattr(inspect.unwrap(function), "__code__", None), "co_firstlineno", 0)


def _convert_tools(values: Iterable[Any], toolkit: Toolkit, report_fault: Callable[[str, int], None]) -> Toolkit:
    tools: list[Tool] = []
    lines: dict[str, int] = {}
    values = list(values)
    if not values:
        report_fault(
            "it has no function that could be a tool; write one with types and a docstring, or remove the file", 0
        )
    for value in values:
        if not callable(value) and not isinstance(value, Tool):
            report_fault(f"it gives a {type(value).__name__}, which is neither a tool nor a function", 0)
            continue
        line = _find_definition_line(value.run if isinstance(value, Tool) else value)
        try:
            tool = value if isinstance(value, Tool) else tool_of(value)
        except UnusableFunction as error:
            report_fault(f"the function {value.__name__} {error}", line)
            continue
        tool_faults = tool.faults
        for text in tool_faults:
            report_fault(f"the tool {tool.name} {text}", line)
        if not tool_faults:
            tools.append(tool)
            lines[tool.name] = line or 1
    return replace(toolkit, tools=tuple(tools), lines={**lines, **toolkit.lines})


def _register_package(folder: Path) -> str:
    """Register the folder as a new package, so that its files can import each other (`from ._words import X`)."""
    name = _PACKAGE + hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]
    for module_name in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
        del sys.modules[module_name]
    package = ModuleType(name)
    package.__path__ = [str(folder)]
    sys.modules[name] = package
    return name


class _SourceLoader(SourceFileLoader):
    """Loads a file from its source: it neither reads nor writes bytecode, which may be of an earlier version."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the source."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _import_file(path: Path, name: str) -> ModuleType:
    """Import a file as the module `name`, for at most `IMPORT_SECONDS`. Raises UnusableModule."""
    spec = importlib.util.spec_from_file_location(name, path, loader=_SourceLoader(name, str(path.absolute())))
    if spec is None or spec.loader is None:
        raise UnusableModule("the file cannot be imported; give it a name of letters, digits and _")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    import_with_timeout(lambda: spec.loader.exec_module(module), str(path.absolute()))  # type: ignore[union-attr]  # looked at above
    return module


def import_with_timeout(run_import: Callable[[], _T], file: str = "", verb_phrase: str = "is imported") -> _T:
    """Run an import in a thread, for at most `IMPORT_SECONDS`, and return what it returns.

    `verb_phrase` follows "it" in messages. Raises UnusableModule if the import fails or takes too long, with the line
    of `file` at which the error came up, or 0.
    """
    results: list[_T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(run_import())
        except BaseException as error:  # noqa: BLE001 - nothing is hidden: it is named below
            errors.append(error)

    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(IMPORT_SECONDS)
    if errors:
        text = f"it raises {_describe_error(errors[0])} when it {verb_phrase}; fix it, or remove it"
        raise UnusableModule(text, _find_error_line(errors[0], file))
    if not results:
        raise UnusableModule(
            f"it {verb_phrase} in more than {IMPORT_SECONDS:g} s; do such work when a function is called"
        )
    return results[0]


def _find_error_line(error: BaseException, file: str) -> int:
    """Find the line of a file at which an error came up; 0 if it is not in the file."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno or 0
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return (lines[-1] if lines else 0) or 0


def _describe_error(error: BaseException) -> str:
    text = " ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split())[:_LONGEST_ERROR]
    return f"{type(error).__name__} ({text})" if text else type(error).__name__
