"""`leadhand new`: writes the files of a new crew that passes `leadhand check`, or of one more specialist."""

from __future__ import annotations

import argparse
from pathlib import Path

from bot.command_line.console import say
from bot.settings import Settings, SettingsError
from handoff.planning.adhoc import NAME_PATTERN
from specialists.loading.crew_file import FILE_NAME as CREW_FILE

TEMPLATES_FOLDER = Path(__file__).with_name("templates")


async def create_files(options: argparse.Namespace, settings: Settings) -> int:
    """Write the files. Returns 0. Raises SettingsError if the name is invalid, or files exist or cannot be written."""
    del settings
    if not NAME_PATTERN.fullmatch(options.name):
        raise SettingsError(f"{options.name!r} is no name: it takes small letters, digits, - and _, a letter first.")
    if options.what == "crew":
        return _create_crew(options.crew or Path(), options.name)
    return _create_specialist(options.crew or Path(), options.name)


def _create_crew(parent: Path, name: str) -> int:
    folder = parent / name
    if folder.exists():
        raise SettingsError(f"{folder} is there already; choose another name, or --crew for another place.")
    for source in sorted(path for path in (TEMPLATES_FOLDER / "crew").rglob("*") if path.is_file()):
        # The name of a code template ends in .txt, so that it is not taken for a module of Leadhand.
        target = folder / str(source.relative_to(TEMPLATES_FOLDER / "crew")).removesuffix(".txt")
        _write_file(target, source.read_text(encoding="utf-8"))
    say(
        f"Now look, and try:\n"
        f"  leadhand check --crew {folder}                  who is in it, each tool, and what is wrong\n"
        f"  leadhand try --crew {folder} --demo             its demo, without a model\n"
        f"  leadhand try --crew {folder} --dry --ask 'Look up: gateway'    what the clerk would be sent\n"
        f"  leadhand try --crew {folder}                    in the browser, with a model of yours\n"
        f"  leadhand eval --crew {folder} --sets routing    how well your models choose who gets a request\n"
        f"Then change {folder / 'clerk.md'} and {folder / 'toolkits' / 'register.py'} into what you need."
    )
    return 0


def _create_specialist(crew: Path, name: str) -> int:
    if not (crew / CREW_FILE).is_file() and not any(crew.glob("*.md")):
        raise SettingsError(
            f"{crew} is no crew's folder: name one with --crew, or begin one with `leadhand new crew NAME`."
        )
    path = crew / f"{name}.md"
    if path.exists():
        raise SettingsError(f"{path} is there already.")
    _write_file(path, (TEMPLATES_FOLDER / "specialist.md").read_text(encoding="utf-8").replace("NAME", name))
    say(f"Now say in it what {name} can do, and which tools it has. `leadhand check --crew {crew}` lists them.")
    return 0


def _write_file(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}.") from None
    say(f"wrote {path}")
