"""The command line of `leadhand`: parses the arguments, then imports and runs one command.

Nothing heavy is imported before the command is known, so that `--help` answers at once.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.workspace import command as workspace_command

if TYPE_CHECKING:
    from bot.settings import Settings

    CommandFunction = Callable[[argparse.Namespace, Settings], Coroutine[Any, Any, int]]

TRY_EXIT_CODES = (
    "Exit code with --ask and --demo: 0 answered, 3 answered in part, 1 not. `leadhand run --help` lists the settings."
)
EVAL_EXIT_CODES = (
    "Exit code: 0 all cases were played, 3 calls failed in some. docs/evaluation.md says how to read the table."
)
ROUTE_EXIT_CODES = (
    "Exit code: 0 all of it is given to somebody, answered or asked about, 3 a part of it, 1 none of it or no model."
)
DESCRIPTION = "A self-hosted Slack bot: a thread becomes a job that a supervisor plans and specialists do side by side."


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Returns the exit code: 0 done, 3 done in part, 1 failed, 2 wrong usage, 130 interrupted."""
    options = _make_parser().parse_args(arguments)
    if options.command is None:
        _make_parser().print_help()
        return 2
    if options.command == "slack":  # it serves any app, so Leadhand's settings are not read
        return workspace_command.run(options)
    return _run_stoppable(options)


def _run_stoppable(options: argparse.Namespace) -> int:
    """Run a command. SIGTERM and a closed terminal end it as Ctrl-C does, even while it is being imported."""
    import signal  # noqa: PLC0415 - not needed for --help

    # `run` always ends by being stopped, so that is a success, even at its start.
    stop_exit_code = 0 if options.command == "run" else 130
    for name in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(name) is not signal.SIG_IGN:
            # Holds until the event loop handles the signal. No KeyboardInterrupt: one that passes through exec() makes
            # Python end by a signal.
            signal.signal(name, lambda *_: sys.exit(stop_exit_code))
    try:
        return _configure_and_run(options)
    except KeyboardInterrupt:
        return stop_exit_code


def _configure_and_run(options: argparse.Namespace) -> int:
    import asyncio  # noqa: PLC0415 - not needed for --help
    import logging  # noqa: PLC0415 - the same

    from bot import logs  # noqa: PLC0415 - the same
    from bot.command_line.console import OutputLost  # noqa: PLC0415 - the same
    from bot.settings import SettingsError, find_secret_values, read_settings  # noqa: PLC0415 - the same
    from bot.settings_file import load_settings_files  # noqa: PLC0415 - the same
    from bot.store.values import StoreError  # noqa: PLC0415 - the same
    from specialists.sandbox.child_process import require_sandbox_layers  # noqa: PLC0415 - the same

    level = logging.INFO if options.command == "run" else logging.WARNING
    try:
        if options.command == "setup":
            load_settings_files(file_to_write=options.settings or "")
        else:
            load_settings_files()
        settings = read_settings()
        require_sandbox_layers(is_required=settings.walls_required)
        logs.configure(settings.log, verbose=options.verbose, level=level, secrets=settings.secrets)
        return asyncio.run(_run_until_signal(_import_command(options, settings)(options, settings)))
    except (SettingsError, StoreError, OutputLost) as error:
        print(f"leadhand: {logs.hide_secrets(str(error), find_secret_values())}", file=sys.stderr)
        return 1
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _run_until_signal(work: Coroutine[Any, Any, int]) -> int:
    """Run the work to its end. SIGTERM and a closed terminal cancel it as Ctrl-C does, so that it can clean up."""
    import asyncio  # noqa: PLC0415 - not needed for --help

    from bot.jobs.shutdown import call_on_stop_signal  # noqa: PLC0415 - the same

    task = asyncio.ensure_future(work)
    # Cancel once: kernel and shell both signal a closed terminal, and a second cancel would cut off the cleaning up.
    call_on_stop_signal(lambda: task.cancelling() or task.cancel(), ctrl_c=False)
    return await task


_COMMAND_FUNCTIONS: Mapping[str, str] = {
    "try": "try_out.try_out",
    "setup": "setup.run_setup",
    "manifest": "app_manifest.print_manifest",
    "run": "serve.serve",
    "check": "check.run_check",
    "eval": "evaluate.evaluate",
    "audit": "audit.print_audit",
    "jobs": "job_list.print_jobs",
    "trace": "trace_job.print_or_write_trace",
    "mcp": "mcp_servers.manage_mcp_servers",
    "route": "route.print_route",
    "new": "new_files.create_files",
}
"""The `module.function` in `bot.command_line` of each command. Modules are slow to import, so only one is imported."""


def _import_command(options: argparse.Namespace, settings: Settings) -> CommandFunction:
    """Import a command and return its function. Raises SettingsError if a setting that it needs is missing."""
    if options.command == "run":
        from bot.settings import require_slack  # noqa: PLC0415 - not needed for --help

        require_slack(settings)
    module, _, name = _COMMAND_FUNCTIONS[options.command].partition(".")
    function: CommandFunction = getattr(importlib.import_module(f"bot.command_line.{module}"), name)
    return function


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="leadhand", description=DESCRIPTION)
    parser.add_argument("--version", action=_VersionAction, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_CommandParser)
    text = "start a Slack on your own machine with the bot in it, without account or key"
    _add_try_arguments(commands.add_parser("try", help=text, description=text, epilog=TRY_EXIT_CODES))
    text = "create the app on real Slack, prove the tokens, write a settings file, and check everything"
    _add_setup_arguments(commands.add_parser("setup", help=text, description=text))
    text = "print the Slack app's manifest for this installation"
    _add_manifest_arguments(commands.add_parser("manifest", help=text, description=text))
    text = "say who would get a request, and why, without working on it"
    _add_route_arguments(commands.add_parser("route", help=text, description=text, epilog=ROUTE_EXIT_CODES))
    text = "write a crew to begin from (specialist, tool, evaluation cases, demo), or one more specialist"
    _add_new_arguments(commands.add_parser("new", help=text, description=text))
    for name, text in (
        ("run", "run the bot on real Slack, with settings from the environment or a file"),
        ("check", "prove crews, settings, Slack, Redis and models before anything runs"),
    ):
        command = commands.add_parser(name, help=text, description=text, formatter_class=_RawHelpFormatter)
        if name == "check":
            command.add_argument(
                "--crew", metavar="NAME", help="check one crew and nothing else: its name, or a folder"
            )
        command.add_argument("-v", "--verbose", action="store_true", help="log more of what happens")
    text = "list who asked, answered, stopped, wrote, sent out or was refused what, with cost, without contents"
    _add_audit_arguments(commands.add_parser("audit", help=text, description=text))
    text = "list the jobs under way, or show one job in detail"
    _add_jobs_arguments(commands.add_parser("jobs", help=text, description=text))
    text = "show what happened in a job, step by step: as a timeline, or as files: picture, page, JSON"
    _add_trace_arguments(commands.add_parser("trace", help=text, description=text))
    text = "list the crew's MCP servers, or accept their tools"
    _add_mcp_arguments(commands.add_parser("mcp", help=text, description=text))
    text = "measure how well your models do on labelled cases, beside a plain prompt for each role"
    _add_eval_arguments(commands.add_parser("eval", help=text, description=text, epilog=EVAL_EXIT_CODES))
    text = workspace_command.DESCRIPTION
    workspace_command.add_arguments(
        commands.add_parser("slack", help=text, description=text, epilog=workspace_command.EPILOG)
    )
    return parser


class _VersionAction(argparse.Action):
    """Prints the version of the installed package, and exits."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Look the version up and print it: only here, as the look-up takes longer than all of `--help`."""
        from importlib.metadata import version  # noqa: PLC0415 - not needed for --help

        print(f"leadhand {version('leadhand')}")
        parser.exit()


class _CommandParser(argparse.ArgumentParser):
    """The parser of one command. It imports the settings only for a help text that lists them."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments, and refuse unknown ones with the usage of this command, not of all commands."""
        options, unknown_arguments = super().parse_known_args(args, namespace)
        if unknown_arguments:
            self.error(f"unrecognized arguments: {' '.join(unknown_arguments)}")
        return options, unknown_arguments

    def format_help(self) -> str:
        """Return the help text, followed by the list of settings for a command with `_RawHelpFormatter`."""
        if self.formatter_class is _RawHelpFormatter:
            self.epilog = _render_settings_help()
        return super().format_help()


class _RawHelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Formats help texts and keeps the line breaks in the list of settings."""


def _add_try_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--ask", metavar="TEXT", help="do one job in the terminal: print its thread, and exit")
    command.add_argument(
        "--file", metavar="FILE", type=Path, action="append", default=[], help="attach a file to --ask; may be repeated"
    )
    command.add_argument(
        "--tool", metavar="NAME", help="call one tool of the crew by hand with JSON, and exit; it may read each --file"
    )
    command.add_argument(
        "arguments",
        metavar="JSON",
        nargs="?",
        help="the arguments for --tool; without them, the arguments that it takes are printed",
    )
    command.add_argument(
        "--crew", metavar="NAME", help="use this crew in place of LEADHAND_CREW's: its name, or a folder"
    )
    command.add_argument(
        "--demo", action="store_true", help="play the demo of --crew in the terminal; without --crew, list the demos"
    )
    command.add_argument(
        "--demo-day", action="store_true", help="play a working day in the local workspace, then open its page"
    )
    command.add_argument(
        "--page", action="store_true", help="with --demo: play it on the page, which has its request ready to send"
    )
    command.add_argument(
        "--dry",
        action="store_true",
        help="with --ask: say who would get it, and print the prompt and brief of each; no model or tool is at work",
    )
    command.add_argument(
        "--plan",
        metavar="NAMES",
        help="with --dry: the plan to follow, such as 'market, pricing > copy' (`,` side by side, `>` afterwards)",
    )
    command.add_argument(
        "--json", action="store_true", help="with --ask or --demo: print the trace instead of the thread"
    )
    command.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=Path(),
        help="with --ask or --demo: the folder for files that are made; default: this one",
    )
    command.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=_parse_seconds,
        default=900,
        help="with --ask or --demo: give up after this time; default: 900",
    )
    command.add_argument(
        "--port",
        type=workspace_command.parse_port,
        help="the page's port, or 0 for any; default: 3900, or any if that is taken",
    )
    command.add_argument("--no-browser", action="store_true", help="do not open the page")
    command.add_argument("-v", "--verbose", action="store_true", help="log more of what happens")


def _add_setup_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--bot-token", metavar="XOXB", help="the bot token; asked for if missing")
    command.add_argument("--app-token", metavar="XAPP", help="the app-level token; asked for if missing")
    command.add_argument("--http", metavar="URL", help="take events by HTTP at this address, not by Socket Mode")
    command.add_argument(
        "--signing-secret", metavar="SECRET", help="with --http: the signing secret; asked for if missing"
    )
    command.add_argument("--model-key", metavar="KEY", help="a key of Anthropic or OpenAI; asked for if missing")
    command.add_argument(
        "--redis", metavar="URL", help='the address of a Redis; "" for the store that comes with Leadhand'
    )
    command.add_argument("--admins", metavar="IDS", help="Slack ids of the bot's admins, separated by commas")
    command.add_argument(
        "--settings", metavar="FILE", type=Path, help="the file to write; default: the one that is read"
    )
    command.add_argument("--no-browser", action="store_true", help="do not open the page that creates the app")
    command.add_argument("-v", "--verbose", action="store_true", help="log more of what happens")


def _add_manifest_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--http", metavar="URL", help="make it for events by HTTP at this address, not for Socket Mode"
    )
    command.add_argument("--json", action="store_true", help="print it as JSON")
    command.add_argument("--link", action="store_true", help="print the address at which Slack creates the app from it")
    command.add_argument("-v", "--verbose", action="store_true", help="log more of what happens")


def _add_new_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("what", choices=("crew", "specialist"), help="what to write")
    command.add_argument("name", metavar="NAME", help="its name: small letters, digits, - and _")
    command.add_argument(
        "--crew",
        metavar="DIR",
        type=Path,
        help="where to write: the folder for the new crew, or the crew of the new specialist; default: this folder",
    )
    command.add_argument("-v", "--verbose", action="store_true", help="log more of what happens")


def _add_eval_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--sets",
        metavar="NAMES",
        type=_split_names,
        default=[],
        help="play these sets, separated by commas; default: all",
    )
    command.add_argument(
        "--tags",
        metavar="TAGS",
        type=_split_names,
        default=[],
        help="play only cases with one of these tags, separated by commas",
    )
    command.add_argument("--limit", metavar="N", type=_parse_count, help="play N cases of each set, drawn by chance")
    command.add_argument(
        "--seed", metavar="N", type=int, help="with --limit: another number draws other cases; default: 0"
    )
    command.add_argument("--crew", metavar="DIR", type=Path, help="use this crew in place of LEADHAND_CREW's")
    command.add_argument(
        "--parallel", metavar="N", type=_parse_count, default=4, help="play N cases at once; default: 4"
    )
    command.add_argument("--no-naive", action="store_true", help="do not play the plain prompts")
    command.add_argument("--json", metavar="FILE", type=Path, help="write the run to a file")
    command.add_argument("--resume", metavar="FILE", type=Path, help="go on with the run in a file, and write it there")
    command.add_argument(
        "--compare",
        metavar=("A", "B"),
        type=Path,
        nargs=2,
        help="say what changed beyond chance between the runs in two files",
    )
    command.add_argument(
        "--from-feedback",
        metavar="DIR",
        type=Path,
        help="write cases to be labelled into a folder, from the answers that got a thumb",
    )
    command.add_argument(
        "--private", action="store_true", help="with --from-feedback: also from private channels and direct messages"
    )
    command.add_argument("-v", "--verbose", action="store_true", help="log more of what happens")


def _split_names(text: str) -> list[str]:
    return [name for part in text.split(",") if (name := part.strip())]


def _parse_count(text: str) -> int:
    if text.isascii() and text.isdigit() and 0 < int(text) < 1_000_000:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")


def _add_route_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("text", metavar="TEXT", help="the request, as somebody would write it")
    command.add_argument(
        "--file",
        metavar="NAME",
        action="append",
        default=[],
        help="the name of an attached file, which need not exist; may be repeated",
    )
    command.add_argument(
        "--crew", metavar="NAME", default="", help="the crew that gets it, one of LEADHAND_CREW; default: the first"
    )
    command.add_argument("--json", action="store_true", help="print the decision as JSON")
    command.add_argument("-v", "--verbose", action="store_true", help="log more of what happens")


def _add_audit_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--since", metavar="TIME", default="", help="show deeds since this day (2026-11-01) or time, in UTC"
    )
    command.add_argument("--until", metavar="TIME", default="", help="show deeds before this day or time, in UTC")
    command.add_argument("--user", metavar="ID", default="", help="show only what this person did (a Slack id)")
    command.add_argument("--job", metavar="JOB", default="", help="show only what was done in this job")
    command.add_argument(
        "--team", metavar="ID", default="", help="look only in this workspace (a Slack id), if several use the bot"
    )
    command.add_argument(
        "--deed", metavar="DEED", default="", help="show only deeds of this kind, such as asked or wrote"
    )
    command.add_argument("--ids", action="store_true", help="show Slack's ids instead of names")
    command.add_argument("--json", action="store_true", help="print one JSON object a line")
    command.add_argument("-v", "--verbose", action="store_true", help="log more of what happens")


def _add_jobs_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "job", metavar="JOB", nargs="?", default="", help="show this job: its id, or a link to its thread"
    )
    command.add_argument(
        "--user", metavar="ID", default="", help="list all jobs of this person (a Slack id), the newest first"
    )
    command.add_argument(
        "--team", metavar="ID", default="", help="look only in this workspace (a Slack id), if several use the bot"
    )
    command.add_argument(
        "--watch", action="store_true", help="go on: redraw the list at a terminal, else print it again when it changes"
    )
    command.add_argument(
        "--every", metavar="SECONDS", type=_parse_seconds, default=2.0, help="with --watch: look this often; default: 2"
    )
    command.add_argument("--ids", action="store_true", help="show Slack's ids instead of names")
    command.add_argument("--json", action="store_true", help="print one JSON object a line")
    command.add_argument("-v", "--verbose", action="store_true", help="log more of what happens")


def _add_trace_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("job", metavar="JOB", help="its id, or a link to a message of its thread")
    command.add_argument(
        "--team", metavar="ID", default="", help="look only in this workspace (a Slack id), if several use the bot"
    )
    command.add_argument("--html", action="store_true", help="write a page for a browser, with each step to open")
    command.add_argument("--png", action="store_true", help="write a picture of who did what when")
    command.add_argument("--ids", action="store_true", help="show Slack's ids instead of names")
    command.add_argument("--json", action="store_true", help="print it as JSON; with --out, write it to a file")
    command.add_argument("--out", metavar="DIR", type=Path, help="the folder for files; default: this one")
    command.add_argument("-v", "--verbose", action="store_true", help="log more of what happens")


def _add_mcp_arguments(command: argparse.ArgumentParser) -> None:
    subcommands = command.add_subparsers(
        dest="deed", metavar="list | accept", required=True, parser_class=_CommandParser
    )
    for name, text in (
        ("list", "list the servers of .mcp.json and the accepted tools"),
        ("accept", "show what a server offers or what changed, and let specialists use it"),
    ):
        subcommand = subcommands.add_parser(name, help=text, description=text)
        if name == "accept":
            subcommand.add_argument(
                "servers", metavar="SERVER", nargs="*", help="the names of servers in .mcp.json; default: all"
            )
            subcommand.add_argument("--yes", action="store_true", help="accept without asking")
        subcommand.add_argument("-v", "--verbose", action="store_true", help="log more of what happens")


def _parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if 0 < seconds < float("inf"):
        return seconds
    raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")


def _render_settings_help() -> str:
    from bot.settings import VARIABLES  # noqa: PLC0415 - only for the help of a command

    width = max(len(name) for name in VARIABLES)
    return "environment:\n" + "\n".join(f"  {name:<{width}}  {text}" for name, text in VARIABLES.items())


if __name__ == "__main__":
    sys.exit(main())
