"""Reads a Markdown file with front matter, so that each fault can name its line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

FENCE = "---"


@dataclass(frozen=True, slots=True, order=True)
class CrewFault:
    """A fault in a file. `line` counts from 1; `text` says what is wrong and what to do."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


@dataclass(slots=True)
class MarkdownPage:
    """A file's front matter with the line of each key, its body, and its faults.

    Attributes:
        values: The values of the front matter, by key.
        key_lines: The line of each key.
        body: The text below the front matter, which begins at `body_line`.
        faults: The faults for which the file cannot be used.
        warnings: The faults with which it can still be used.
        front_matter: The text of the front matter.
        is_invalid_yaml: True if the front matter is not valid YAML.
        translation_note: The tier and tools to which an agent of Claude Code was translated; "" for other files.
    """

    path: Path
    values: dict[str, Any] = field(default_factory=dict)
    key_lines: dict[str, int] = field(default_factory=dict)
    body: str = ""
    body_line: int = 1
    faults: list[CrewFault] = field(default_factory=list)
    key_paths: dict[str, Path] = field(default_factory=dict)
    """The file of each key that stands in another file than `path`."""
    warnings: list[CrewFault] = field(default_factory=list)
    front_matter: str = ""
    is_invalid_yaml: bool = False
    translation_note: str = ""

    @property
    def name(self) -> str:
        """The name in the front matter; if there is none, the file's name without its ending."""
        return str(self.values.get("name", self.path.stem))

    def add_fault(self, text: str, *, line: int = 0, key: str = "") -> None:
        """Record a fault at `line`, or at the line of `key`; at line 1 if neither is known."""
        path = self.path if line else self.key_paths.get(key, self.path)
        self.faults.append(CrewFault(path, line or self.key_lines.get(key, 1), text))

    def add_warning(self, text: str, *, key: str = "") -> None:
        """Record a warning at the line of `key`; at line 1 if the key is missing."""
        self.warnings.append(CrewFault(self.path, self.key_lines.get(key, 1), text))


_VALUE_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "empty"),
    (bool, "true or false"),
    ((int, float), "a number"),
    (str, "a text"),
    (list, "a list"),
    (dict, "a mapping of `key: value` lines"),
)


def describe_value(value: Any) -> str:
    """Return a few words for the kind of a YAML value, which follow "this is"."""
    form = next((words for kind, words in _VALUE_KINDS if isinstance(value, kind)), "a date")
    if isinstance(value, list | dict | str) and not value:
        return f"{form}, and empty"
    other_item = next((one for one in value if not isinstance(one, str)), None) if isinstance(value, list) else None
    return form if other_item is None else f"{form}, and an item of it is {describe_value(other_item)}"


def suggest_name(word: str, known_names: Iterable[str]) -> str:
    """Return a hint with the known name nearest to a wrong one; "" if none is near."""
    near = difflib.get_close_matches(word, list(known_names), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def read_page(path: Path) -> MarkdownPage:
    """Read a file. Its faults are in `faults`; `values` and `body` hold what could be read."""
    page = MarkdownPage(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        page.add_fault("the file is not UTF-8; save it as UTF-8", line=line)
        return page
    except OSError as error:
        page.add_fault(f"the file cannot be read: {error.strerror}; check its permissions")
        return page
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != FENCE:
        page.add_fault(f"there is no front matter; start the file with a line {FENCE}, its keys, and a line {FENCE}")
        return page
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), None)
    if end is None:
        page.add_fault(f"the front matter does not end; close it with a line {FENCE}")
        return page
    page.body, page.body_line = "\n".join(lines[end + 1 :]).strip(), end + 2
    page.front_matter = "\n".join(lines[1:end])
    _read_keys(page, page.front_matter)
    return page


def _read_keys(page: MarkdownPage, text: str) -> None:
    try:
        loader = yaml.SafeLoader(text)
    except yaml.YAMLError as error:
        _note_invalid_yaml(page, error)
        return
    line = 2
    try:
        node = loader.get_single_node()
        if node is None:
            return
        if not isinstance(node, yaml.MappingNode):
            page.add_fault("the front matter is not a list of `key: value` lines", line=2)
            return
        for key_node, value_node in node.value:
            key, line = str(key_node.value), key_node.start_mark.line + 2
            if key in page.values:
                page.add_fault(f"the key {key} is there twice; keep one", line=line)
                continue
            page.values[key] = loader.construct_object(value_node, deep=True)
            page.key_lines[key] = line
    except yaml.YAMLError as error:
        _note_invalid_yaml(page, error)
    except ValueError as error:  # looks like a date, but is none
        page.add_fault(f"the value cannot be read ({str(error)[:60]}); put it in quotes", line=line)
    except RecursionError:
        page.add_fault("the front matter is nested too deep", line=line)
    finally:
        loader.dispose()


def _note_invalid_yaml(page: MarkdownPage, error: yaml.YAMLError) -> None:
    page.is_invalid_yaml = True
    mark = getattr(error, "problem_mark", None)
    line = mark.line + 2 if mark else 2
    page.add_fault(f"the front matter is not valid YAML: {describe_yaml_fault(error)}", line=line)


def describe_yaml_fault(error: yaml.YAMLError, remedy: str = "put texts with a colon in quotes") -> str:
    """Return the fault of a YAML text and what to do: `remedy`, except for invalid characters and tabs."""
    if isinstance(error, yaml.reader.ReaderError):
        return f"the character U+{error.character:04X} may not stand in it; take it out"
    problem = getattr(error, "problem", None) or "it cannot be read"
    return f"{problem}; {'write spaces in its place' if repr(chr(9)) in problem else remedy}"


_KEY_LINE = re.compile(r"([A-Za-z][\w-]*):[ \t]*(.*)")
_EXAMPLES = re.compile(r"(?:\\n|\s)*(?:<example>|\bexamples?:).*", re.IGNORECASE | re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def read_invalid_keys(page: MarkdownPage, keys: Collection[str]) -> dict[str, object]:
    """Read the known keys of front matter that is not valid YAML, each a text or a list of texts.

    A line that begins with no known key continues the value of the last key.
    """
    lines_by_key: dict[str, list[str]] = {}
    last = ""
    for line in page.front_matter.splitlines():
        match = _KEY_LINE.fullmatch(line.rstrip())
        if match is not None and match[1] in keys:
            last = match[1]
            lines_by_key[last] = [match[2]]
        elif last:
            lines_by_key[last].append(line.strip())
    return {key: _parse_value(lines) for key, lines in lines_by_key.items()}


def _parse_value(lines: list[str]) -> object:
    items = [line[1:].strip() for line in lines[1:] if line.startswith("-")]
    if not lines[0] and items:
        return [_strip_quotes(item) for item in items]
    return _strip_quotes(" ".join(filter(None, lines)).removeprefix("|").removeprefix(">").strip())


def _strip_quotes(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def shorten_description(text: str, max_length: int) -> str:
    """Return the first sentences of a description, without its examples, in at most `max_length` characters.

    If these sentences are shorter than half of `max_length`, the text is cut at `max_length` instead.
    """
    line = " ".join(_EXAMPLES.sub("", text).replace("\\n", " ").split()) or " ".join(text.split())
    if len(line) <= max_length:
        return line
    short = ""
    for sentence in _SENTENCE.split(line):
        if len(short) + len(sentence) + 1 > max_length:
            break
        short = f"{short} {sentence}".strip()
    return short if 2 * len(short) >= max_length else f"{line[: max_length - 1].rstrip()}…"
