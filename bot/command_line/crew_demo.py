"""`leadhand try --crew NAME --demo`: prepares a crew's demo, on a copy of its files, and lists all demos."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.app import find_crew_folder, load_crew_of_settings
from bot.command_line.console import say
from bot.models.chosen_model import ChosenModel
from bot.models.rehearsal.demo_script import DemoScript
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.operation.leftovers import TRIAL_PREFIX
from bot.settings import Settings, SettingsError
from bot.slack.views.answer_message import SCRIPTED_LABEL
from bot.workspace.app_parts import MessageDraft
from specialists.crew import Crew
from specialists.files.frontmatter import CrewFault, suggest_name
from specialists.loading import demo_file
from specialists.loading.demo_file import FOLDER_PLACEHOLDER, Demo, DemoTurn
from specialists.registry import CREWS_FOLDER, list_crew_names
from specialists.sandbox.scratch_folder import get_scratch_folder
from specialists.tools.code.named_repositories import REPOSITORIES_SETTING as REPOSITORIES
from specialists.tools.knowledge.knowledge_toolkit import KNOWLEDGE_SETTING as KNOWLEDGE
from specialists.tools.web import recorded_web
from specialists.turns.finish_tools import ESCALATE, HAND_OVER, RETURN_RESULT

OFFERED_DEMOS = {"review": "Watch a review", "support": "Watch a support case"}
"""The demos that the first page offers, with the labels of their buttons."""
DEMO_SETTING_NAMES = frozenset({REPOSITORIES, KNOWLEDGE})
"""Names of the settings that the offered demos set."""
MAX_DEMO_BYTES = 100 * 1024 * 1024
"""Maximum total bytes of a demo's files."""
_GIT_TIMEOUT_SECONDS = 60
_REAL_MODEL_HINT = "        For a model's own words set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama."
_SCRIPTED_NOTICE = (f"Model:  none; {SCRIPTED_LABEL}.", _REAL_MODEL_HINT)
_RULES_NOTICE = (
    "Model:  none. This demo has no replies, so it goes by rules, which know tables and little else.",
    _REAL_MODEL_HINT,
)


@dataclass(frozen=True, slots=True)
class StagedDemo:
    """A prepared demo: what its file says, the settings that the bot needs for it, and copies of its files."""

    demo: Demo
    settings: Settings
    files: tuple[Path, ...]

    def prepare_model(self, model: ChosenModel) -> ChosenModel:
        """Return the model for the demo; a rehearsal gets the demo's scripted replies."""
        if isinstance(model, RehearsalModel) and self.demo.replies is not None:
            return model.with_scripts(DemoScript(self.demo.ask, self.demo.replies))
        return model

    def print_introduction(self, crew: str, model: ChosenModel) -> None:
        """Print the demo's description, its model, and whether it uses recorded pages."""
        say(f"Demo:   {crew}. {self.demo.says}")
        if isinstance(model, RehearsalModel):
            for line in _SCRIPTED_NOTICE if self.demo.replies else _RULES_NOTICE:
                say(line)
        else:
            say(f"Model:  {model.label}")
        if self.demo.pages is not None:
            say("Web:    recorded pages alone; no network is used")


@contextlib.asynccontextmanager
async def stage_demo(settings: Settings) -> AsyncIterator[StagedDemo]:
    """Prepare the demo of the settings' crew, and delete its files at the end of the block.

    The files are copied, so that the installation is not changed. Raises SettingsError if the crew has no demo, or if
    something is wrong with it, by file and line.
    """
    demo = _read_demo(settings)
    with tempfile.TemporaryDirectory(prefix=TRIAL_PREFIX, dir=get_scratch_folder()) as scratch_path:
        folder = Path(scratch_path) / demo_file.FOLDER_NAME
        await asyncio.to_thread(_copy_demo, demo.files_folder, folder)
        for name, bundle in demo.prepare.items():
            await _clone_bundle(folder / bundle.relative_to(demo.files_folder), folder / name, settings)
        env = {name: value.replace(FOLDER_PLACEHOLDER, str(folder)) for name, value in demo.settings.items()}
        if demo.pages is not None:
            env[recorded_web.RECORDED_PAGES_SETTING] = str(folder / demo.pages.relative_to(demo.files_folder))
        settings = dataclasses.replace(settings, env={**settings.env, **env})
        if faults := find_step_faults(demo, load_crew_of_settings(settings)):
            raise SettingsError("\n".join(str(fault) for fault in faults))
        files = tuple(folder / file.relative_to(demo.files_folder) for file in demo.files)
        yield StagedDemo(demo, settings, files)


@dataclass(frozen=True, slots=True)
class StagedDemos:
    """The prepared demos of several crews by crew name, with settings and scripted replies for all of them."""

    settings: Settings
    demos: Mapping[str, StagedDemo]
    scripts: tuple[DemoScript, ...]

    @property
    def drafts(self) -> tuple[MessageDraft, ...]:
        """The demos' requests as drafts that the page offers. Each text begins with its crew's name."""
        return tuple(
            MessageDraft(f"{name}: {one.demo.ask}", one.files, OFFERED_DEMOS.get(name, f"Watch {name}"))
            for name, one in self.demos.items()
        )


@contextlib.asynccontextmanager
async def stage_demos(names: Iterable[str], settings: Settings) -> AsyncIterator[StagedDemos]:
    """Prepare the demos of several crews, and delete their files at the end of the block. Raises SettingsError."""
    demos: dict[str, StagedDemo] = {}
    async with contextlib.AsyncExitStack() as stack:
        repositories: list[str] = []  # one setting lists the repositories of all demos
        for name in dict.fromkeys(names):
            crew_settings = dataclasses.replace(settings, crew=name, more_crews=())
            demos[name] = one = await stack.enter_async_context(stage_demo(crew_settings))
            repositories += [one.settings.env[REPOSITORIES]] if REPOSITORIES in one.demo.settings else []
            settings = dataclasses.replace(settings, env={**settings.env, **one.settings.env})
        if repositories:
            settings = dataclasses.replace(settings, env={**settings.env, REPOSITORIES: ", ".join(repositories)})
        replies = {one.demo.ask: one.demo.replies for one in demos.values()}
        scripts = tuple(
            DemoScript(ask, demo_replies) for ask, demo_replies in replies.items() if demo_replies is not None
        )
        yield StagedDemos(settings, demos, scripts)


def stage_offered_demos(settings: Settings) -> contextlib.AbstractAsyncContextManager[StagedDemos]:
    """Prepare the demos that the first page offers.

    There are none if one of their crews is not in the settings, or if a setting in `DEMO_SETTING_NAMES` is already set.
    """
    possible = set(OFFERED_DEMOS) <= set(settings.more_crews) and settings.env.keys().isdisjoint(DEMO_SETTING_NAMES)
    return stage_demos(OFFERED_DEMOS if possible else (), settings)


def print_demos() -> int:
    """Print a line for each crew that has a demo. Returns the exit code."""
    named_demos = [
        (name, demo) for name in list_crew_names() if (demo := demo_file.read_demo(CREWS_FOLDER / name)) is not None
    ]
    width = max((len(name) for name, _ in named_demos), default=0)
    for name, demo in named_demos:
        say(f"{name:<{width}}  {demo.says}")
    say("See one with: leadhand try --crew NAME --demo (in the terminal), or with --page (in the browser)")
    return 0


def require_valid_options(options: argparse.Namespace) -> None:
    """Raise SettingsError for options that do not go together."""
    if options.page and not options.demo:
        raise SettingsError("--page goes with --demo; without it, `leadhand try` opens its page anyway.")
    if (options.dry and options.ask is None) or (options.plan and not options.dry):
        raise SettingsError("--dry goes with --ask, and --plan with --dry.")
    if options.tool is not None and (options.ask is not None or options.demo or options.demo_day):
        raise SettingsError("--tool calls one tool by hand; leave --ask and --demo out.")
    if options.arguments is not None and options.tool is None:
        raise SettingsError(
            f"{options.arguments!r} goes with --tool NAME. A request goes with --ask, and a demo is named by its crew, "
            "such as: leadhand try --crew ops --demo"
        )
    if options.demo and (options.ask is not None or options.file):
        raise SettingsError("--demo brings its own request and files; leave --ask and --file out.")


def _read_demo(settings: Settings) -> Demo:
    folder = find_crew_folder(settings)
    demo = demo_file.read_demo(folder)
    if demo is None:
        there = (
            ", ".join(name for name in list_crew_names() if demo_file.read_demo(CREWS_FOLDER / name) is not None)
            or "none"
        )
        demo_path = folder / demo_file.FOLDER_NAME / demo_file.FILE_NAME
        raise SettingsError(
            f"The crew {settings.crew} has no demo ({demo_path} is not there). Crews that have one: {there}."
        )
    faults = [*demo.faults, *(recorded_web.read_index(demo.pages).faults if demo.pages is not None else ())]
    if faults:
        raise SettingsError("\n".join(str(fault) for fault in faults))
    return demo


def _copy_demo(demo: Path, folder: Path) -> None:
    """Copy a demo's files, without symbolic links, which could lead anywhere. Raises SettingsError."""
    paths = [path for path in demo.rglob("*") if not path.is_symlink()]
    if sum(path.stat().st_size for path in paths if path.is_file()) > MAX_DEMO_BYTES:
        raise SettingsError(f"{demo} has more than {MAX_DEMO_BYTES // 1024 // 1024} MB, too much for a demo.")
    try:
        folder.mkdir()
        for path in paths:
            copy = folder / path.relative_to(demo)
            copy.mkdir(parents=True, exist_ok=True) if path.is_dir() else shutil.copyfile(path, copy)
    except OSError as error:
        raise SettingsError(f"The demo cannot be made ready: {error}.") from None


async def _clone_bundle(bundle: Path, folder: Path, settings: Settings) -> None:
    """Clone a git bundle into `folder`. Git's system and user configuration is not read. Raises SettingsError."""
    env = {"PATH": settings.env.get("PATH", os.defpath), "HOME": str(bundle.parent), "GIT_TERMINAL_PROMPT": "0"}
    env |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ALLOW_PROTOCOL": "file"}
    command = ("git", "-c", "core.hooksPath=/dev/null", "clone", "-q", "--", str(bundle), str(folder))
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(_GIT_TIMEOUT_SECONDS):
            _, error_output = await process.communicate()
    except FileNotFoundError:
        raise SettingsError("This demo unpacks a repository, and git is not installed. Install git.") from None
    except TimeoutError:
        process.kill()
        raise SettingsError(f"{bundle.name} was not unpacked within {_GIT_TIMEOUT_SECONDS} s.") from None
    if process.returncode:
        line = (error_output.decode(errors="replace").strip().splitlines() or ["git failed"])[-1]
        raise SettingsError(f"{bundle.name} cannot be unpacked: {line}")


BUILT_IN_TOOLS = frozenset({"read_material", "search_material", RETURN_RESULT, ESCALATE, HAND_OVER})
"""Tools that no specialist's file lists: those that read material, and those that end an attempt."""


def find_step_faults(demo: Demo, crew: Crew) -> list[CrewFault]:
    """Return faults for specialists and tools in a demo's steps that the crew lacks, and for unfinished attempts.

    An attempt is unfinished if a specialist's last step neither returns a result nor hands over.
    """
    faults: list[CrewFault] = []
    everyone = crew.all_specialists
    for name, steps in demo.replies.turns.items() if demo.replies else ():
        one = everyone.get(name)
        if one is None:
            text = f"there is no specialist {name}{suggest_name(name, everyone)}; there are {', '.join(everyone)}"
            faults += [CrewFault(demo.path, step.line, text) for step in steps[:1]]
            continue
        known_tools = {*one.toolbox, *BUILT_IN_TOOLS}
        faults += [
            CrewFault(demo.path, step.line, f"{name} has no tool {tool}{suggest_name(tool, known_tools)}")
            for step in steps
            for tool, _ in step.calls
            if tool not in known_tools
        ]
        if not _ends_attempt(steps):
            text = f"the last step of {name} has to be {RETURN_RESULT}: {{content: ..., confidence: 90}}"
            faults += [CrewFault(demo.path, step.line, text) for step in steps[-1:]]
    return faults


def _ends_attempt(steps: Sequence[DemoTurn]) -> bool:
    return any(tool in {RETURN_RESULT, HAND_OVER} for step in steps[-1:] for tool, _ in step.calls)
