"""Settings from files: lines `NAME=value` in one file, and a secret in a file of its own, named by `NAME_FILE`.

A variable that the environment sets wins over the file. The settings of files are put into the environment once,
before any setting is read.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path

from bot.settings import VARIABLES, SettingsError

FILE_VARIABLE = "LEADHAND_SETTINGS"
DEFAULT_SETTINGS_PATH = "~/.config/leadhand/settings.env"
"""The file that is read if `LEADHAND_SETTINGS` names none and this one exists."""
MAX_FILE_BYTES = 1_000_000
"""Maximum bytes of a file of settings, or of a file with one secret."""
_LINE_PATTERN = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=(?P<value>.*)", re.DOTALL)
_PLAIN_VALUE = re.compile(r"[\w./:@%+,=?&-]*")
"""A value that needs no quotation marks."""
_QUOTED_VALUE = re.compile(r"(?P<mark>[\"'])(?P<inside>.*)(?P=mark)\s*(?:#.*)?", re.DOTALL)


def load_settings_files(env: MutableMapping[str, str] = os.environ, *, file_to_write: str | Path | None = None) -> None:
    """Read the settings files that `env` names, and put their settings into `env`. Raises SettingsError.

    `file_to_write` is for a command that writes the settings file, which need not exist yet. It is the path of that
    file, or "" for the one that `env` names. None: a file that `env` names must exist.
    """
    if file_to_write:
        env[FILE_VARIABLE] = str(file_to_write)
    path_text = env.get(FILE_VARIABLE, "").strip()
    path = Path(path_text or DEFAULT_SETTINGS_PATH).expanduser()
    for name, value in _read_lines(path, is_required=bool(path_text) and file_to_write is None):
        env.setdefault(name, value)
    for name in VARIABLES:
        source = f"{name}_FILE"
        if source in VARIABLES or not env.get(source, "").strip():
            continue
        if env.get(name):
            raise SettingsError(f"Both {name} and {source} are set; keep one of them.")
        env[name] = _read_text(Path(env.pop(source).strip()).expanduser(), source).strip()


def _read_lines(path: Path, *, is_required: bool) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a settings file, in its order. Raises SettingsError."""
    if not is_required and not path.is_file():
        return
    lines = _read_text(path, FILE_VARIABLE).splitlines()
    line_numbers: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, value = _parse_line(line.strip(), f"{path}, line {number}")
        if name in line_numbers:
            raise SettingsError(
                f"{path}, line {number}: {name} stands in line {line_numbers[name]} already; keep one of them."
            )
        line_numbers[name] = number
        yield name, value


def _parse_line(line: str, place: str) -> tuple[str, str]:
    match = _LINE_PATTERN.fullmatch(line)
    if match is None:
        raise SettingsError(f"{place}: a line is NAME=value, or begins with # and is a comment.")
    name, value = match["name"], match["value"]
    if name not in VARIABLES and name.removesuffix("_FILE") not in VARIABLES:
        near = difflib.get_close_matches(name, VARIABLES, 1)
        hint = f" Did you mean {near[0]}?" if near else " `leadhand run --help` lists them."
        raise SettingsError(f"{place}: there is no setting {name}.{hint}")
    if name == FILE_VARIABLE:
        raise SettingsError(f"{place}: {FILE_VARIABLE} names this file; it cannot stand in it.")
    quote_match = _QUOTED_VALUE.fullmatch(value.strip())
    return name, quote_match["inside"] if quote_match else re.sub(r"\s+#.*", "", value).strip()


def _read_text(path: Path, name: str) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise SettingsError(f"{name}: {path} is larger than {MAX_FILE_BYTES:,} bytes.")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{name}: {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{name}: {path} is no text in UTF-8.") from None


def write_settings(path: Path, settings: Mapping[str, str]) -> None:
    """Write settings into a file, keep its other lines, and let only its owner read it. Raises SettingsError."""
    if not settings:
        return
    for name, value in settings.items():
        if "".join(value.splitlines()) != value:
            raise SettingsError(f"{name} has a line break, which a settings file cannot hold. Give it in one line.")
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        remaining = dict(settings)
        for number, line in enumerate(lines):
            match = _LINE_PATTERN.fullmatch(line.strip())
            if match and match["name"] in remaining:
                lines[number] = _render_line(match["name"], remaining.pop(match["name"]))
        lines += [_render_line(name, value) for name, value in remaining.items()]
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary_path = path.with_name(f".{path.name}.new")
        with os.fdopen(
            os.open(temporary_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
        ) as file:
            file.write("\n".join(lines) + "\n")
        temporary_path.chmod(0o600)
        temporary_path.replace(path)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be written: {error}.") from None


def _render_line(name: str, value: str) -> str:
    return f"{name}={value}" if _PLAIN_VALUE.fullmatch(value) else f'{name}="{value}"'


def find_exposure_warning(env: Mapping[str, str]) -> str:
    """Return a warning if other users of this machine can read the settings file; "" if not, or without a file."""
    path = Path(env.get(FILE_VARIABLE, "").strip() or DEFAULT_SETTINGS_PATH).expanduser()
    try:
        mode = path.stat().st_mode
    except OSError:
        return ""
    return f"{path} can be read by other users of this machine: chmod 600 {path}" if mode & 0o044 else ""
