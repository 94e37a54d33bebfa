"""The command `leadhand slack -- python app.py`; `python -m bot.workspace` is the same.

The server is imported only when the command starts it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from bot.workspace.web_api.api_call import ApiMethod
    from bot.workspace.workspace_server import Workspace

DESCRIPTION = "start a strict Slack on your own machine for any app, and with COMMAND the app"
EPILOG = (
    "Exit code: that of COMMAND; without COMMAND 0, after Ctrl-C. The app finds the workspace by SLACK_API_URL, "
    "SLACK_BOT_TOKEN, SLACK_APP_TOKEN and SLACK_SIGNING_SECRET. On Python (slack_sdk, Bolt) and "
    "Node.js (@slack/web-api, Bolt), an app that does not read SLACK_API_URL is sent there, too."
)
MANIFEST_NAMES = ("manifest.json", "manifest.yml", "manifest.yaml")
MAX_PORT = 65535
NO_SOCKET_MODE_NOTE = (
    "The manifest has Socket Mode off. If your app takes requests by HTTP, say where: "
    "--request-url http://127.0.0.1:3000/slack/events"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.usage = "%(prog)s [options] [-- COMMAND ...]"
    parser.add_argument(
        "--manifest",
        metavar="FILE",
        type=Path,
        help=f"the app's manifest; default: the first here of {_join_with_or(MANIFEST_NAMES)}",
    )
    parser.add_argument(
        "--with",
        dest="further",
        metavar=("FILE", "COMMAND"),
        nargs=2,
        action="append",
        default=[],
        help="a further app in the same workspace: its manifest, and its command in quotes; may be repeated",
    )
    parser.add_argument(
        "--workspace",
        dest="neighbours",
        metavar="NAME",
        action="append",
        default=[],
        help="a further workspace with a page of its own, into which the app gets by OAuth; may be repeated",
    )
    parser.add_argument(
        "--organisation",
        metavar="NAME",
        default="",
        help="the organisation that the workspaces are part of (Enterprise Grid)",
    )
    parser.add_argument(
        "--port",
        "--page",
        metavar="PORT",
        type=parse_port,
        default=0,
        help="the port of the page and the API; default: a free one",
    )
    parser.add_argument(
        "--request-url", metavar="URL", help="where the app takes signed requests by HTTP; default: Socket Mode"
    )
    parser.add_argument(
        "--data", metavar="DIR", type=Path, help="the folder that keeps everything; default: nothing is kept"
    )
    parser.add_argument(
        "--sample", metavar="FILE", type=Path, help="a file that the page offers to attach in an empty channel"
    )
    parser.add_argument("--no-rate-limits", action="store_true", help="apply no rate limits to the app's calls")
    parser.add_argument(
        "--methods", action="store_true", help="print the Web API methods and events that it supports, and exit"
    )
    parser.add_argument(
        "app",
        metavar="COMMAND",
        nargs="*",
        help="after --: the command that starts the app, such as `-- python app.py`",
    )


def main() -> int:
    """Run `python -m bot.workspace`."""
    parser = argparse.ArgumentParser(prog="python -m bot.workspace", description=DESCRIPTION, epilog=EPILOG)
    add_arguments(parser)
    return run(parser.parse_args())


def run(options: argparse.Namespace) -> int:
    """Run the workspace and the app until one of them stops, or print the tables. Returns the exit code."""
    import asyncio  # noqa: PLC0415 - not needed for --help

    if options.methods:
        sys.stdout.write(render_support_tables())
        return 0
    try:
        options.manifest = options.manifest or find_manifest(Path())
        return asyncio.run(_run_workspace(options))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"The workspace cannot start: {error}\n")
        return 1


async def _run_workspace(options: argparse.Namespace) -> int:
    import contextlib  # noqa: PLC0415 - not needed for --help
    import shlex  # noqa: PLC0415 - the same

    from bot.workspace.app_parts import MessageDraft  # noqa: PLC0415 - the same
    from bot.workspace.app_process import NOT_FOUND_EXIT_CODE, make_app_environment, run_app, run_further_app  # noqa: PLC0415 - the same
    from bot.workspace.workspace_server import Workspace  # noqa: PLC0415 - the same

    workspace = await Workspace.start(
        options.manifest,
        data=options.data,
        port=options.port,
        rate_limits=not options.no_rate_limits,
        request_url=options.request_url,
        organisation=options.organisation,
        drafts=[MessageDraft(files=(options.sample,), label=f"Attach {options.sample.name}")] if options.sample else (),
    )
    rate_limits = not options.no_rate_limits
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(workspace.stop)
        neighbours = [
            await workspace.start_further_workspace(name, rate_limits=rate_limits) for name in options.neighbours
        ]
        for neighbour in neighbours:
            stack.push_async_callback(neighbour.stop)
        further = [
            (workspace.add_app(Path(manifest), rate_limits=rate_limits), shlex.split(command))
            for manifest, command in options.further
        ]
        lines = [*_list_notes([workspace, *(app for app, _ in further)]), f"Page:  {workspace.page_url}"]
        lines += [f"Page of {each.identity.team_name}:  {each.page_url}" for each in neighbours]
        for app, command in further:
            await stack.enter_async_context(run_further_app(command, make_app_environment(app)))
        if not options.app:
            _print_lines(sys.stdout, [*lines, *_list_exports(workspace), "Ctrl-C stops it."])
            await _wait_for_signal()
            return 0
        _print_lines(sys.stderr, [*lines, "Ctrl-C stops it and the app."])
        code = await run_app(options.app, make_app_environment(workspace))
        if code == NOT_FOUND_EXIT_CODE:
            _print_lines(sys.stderr, [f"The app ended at once: is there a command {options.app[0]!r}?"])
        return code


def _list_notes(apps: list[Workspace]) -> list[str]:
    notes = [f"Note:  {note}" for app in apps for note in app.manifest_notes]
    first = apps[0]
    return (
        [*notes, f"Note:  {NO_SOCKET_MODE_NOTE}"] if first.uses_socket_mode and not first.wants_socket_mode else notes
    )


def _list_exports(workspace: Workspace) -> list[str]:
    import shlex  # noqa: PLC0415 - not needed for --help

    from bot.workspace.app_process import make_app_variables, make_redirect_variables  # noqa: PLC0415 - the same

    def render_exports(values: dict[str, str]) -> list[str]:
        return [f"export {name}={shlex.quote(value)}" for name, value in values.items()]

    return [
        "Start your app with:",
        *render_exports(make_app_variables(workspace)),
        "If its code reads no SLACK_API_URL, on Python or Node.js, also with:",
        *render_exports(make_redirect_variables()),
    ]


async def _wait_for_signal() -> None:
    import asyncio  # noqa: PLC0415 - not needed for --help
    import contextlib  # noqa: PLC0415 - the same
    import signal  # noqa: PLC0415 - the same

    stop_event = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows has no such handlers; Ctrl-C works there anyway
            asyncio.get_running_loop().add_signal_handler(number, stop_event.set)
    await stop_event.wait()


def _print_lines(stream: TextIO, lines: list[str]) -> None:
    stream.write("\n".join(lines) + "\n")
    stream.flush()


def find_manifest(folder: Path) -> Path:
    """Return the manifest in a folder.

    Raises:
        ValueError: There is none.
    """
    for name in MANIFEST_NAMES:
        if (folder / name).is_file():
            return folder / name
    raise ValueError(f"there is no {_join_with_or(MANIFEST_NAMES)} in {folder.resolve()}. Say which it is")


def _join_with_or(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def parse_port(text: str) -> int:
    """Parse a port of the command line. Raises ArgumentTypeError."""
    if text.isascii() and text.isdigit() and int(text) <= MAX_PORT:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no port; it takes a number from 0 to {MAX_PORT}")


METHOD_TABLE_HEAD = "| method | does | must have | scope | a minute |\n| --- | --- | --- | --- | --- |"
EVENT_TABLE_HEAD = "| event | sent | scope |\n| --- | --- | --- |"


def render_support_tables() -> str:
    """Render the two tables of `--methods`: the Web API methods, and the events."""
    from bot.workspace.event_delivery import EVENT_SCOPES  # noqa: PLC0415 - not needed for --help
    from bot.workspace.manifest import SENT_EVENTS  # noqa: PLC0415 - the same
    from bot.workspace.web_api.method_table import METHODS  # noqa: PLC0415 - the same

    methods = "\n".join(_render_method(name, METHODS[name]) for name in sorted(METHODS))
    events = "\n".join(
        f"| `{name}` | {SENT_EVENTS[name]} | {_render_code_list(EVENT_SCOPES.get(name, ()))} |"
        for name in sorted(SENT_EVENTS)
    )
    return f"{METHOD_TABLE_HEAD}\n{methods}\n\n{EVENT_TABLE_HEAD}\n{events}\n"


def _render_method(name: str, method: ApiMethod) -> str:
    does = (method.handler.__doc__ or "").strip().partition("\n")[0].partition(". ")[0].removesuffix(".")
    limit = f"{method.rate.per_minute}" + (
        f" for each {method.rate.bucket_argument}" if method.rate.bucket_argument else ""
    )
    return (
        f"| `{name}` | {does} | {_render_code_list(method.required_arguments)} | "
        f"{_render_code_list(method.scopes, ' or ')} | {limit} |"
    )


def _render_code_list(names: tuple[str, ...], separator: str = ", ") -> str:
    return separator.join(f"`{name}`" for name in names)
