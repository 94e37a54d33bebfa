"""Runs an app of any language beside the workspace, as a process with the environment variables that it needs."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from bot.workspace.workspace_server import HOST, Workspace

REDIRECT_FOLDER = Path(__file__).parent / "redirect"
STOP_SECONDS = 10.0
"""Seconds that an app has to stop after the first signal."""
NOT_FOUND_EXIT_CODE, NOT_STARTED_EXIT_CODE, SIGNAL_EXIT_CODE_OFFSET = 127, 126, 128
"""Exit codes as a shell has them. `SIGNAL_EXIT_CODE_OFFSET` is added to the number of the signal that ended the app."""


def make_app_variables(workspace: Workspace) -> dict[str, str]:
    """Return the environment variables that a Slack app reads: the API's address, its tokens and its secrets.

    SLACK_APP_TOKEN is set in Socket Mode only, and the client's id and secret only if the manifest has redirect_urls.
    """
    who = workspace.identity
    oauth = {"SLACK_CLIENT_ID": who.client_id, "SLACK_CLIENT_SECRET": who.client_secret}
    return {
        "SLACK_API_URL": workspace.api_url,
        "SLACK_BOT_TOKEN": workspace.bot_token,
        **({"SLACK_APP_TOKEN": workspace.app_token} if workspace.uses_socket_mode else {}),
        "SLACK_SIGNING_SECRET": workspace.signing_secret,
        **(oauth if workspace.has_redirect_urls else {}),
    }


def make_redirect_variables() -> dict[str, str]:
    """Return the environment variables that redirect Python and Node.js apps which do not read SLACK_API_URL.

    Present values of PYTHONPATH and NODE_OPTIONS are kept. Programs in other languages ignore both.
    """
    environment = os.environ
    paths = [str(REDIRECT_FOLDER), *filter(None, [environment.get("PYTHONPATH")])]
    shim = str(REDIRECT_FOLDER / "redirect.cjs").replace("\\", "\\\\").replace('"', '\\"')
    options = [*filter(None, [environment.get("NODE_OPTIONS")]), f'--require "{shim}"']
    return {"PYTHONPATH": os.pathsep.join(paths), "NODE_OPTIONS": " ".join(options)}


def make_app_environment(workspace: Workspace) -> dict[str, str]:
    """Return an app's environment: this process's, tokens and redirection, and NO_PROXY for this machine."""
    environment = {**os.environ, **make_app_variables(workspace)}
    for name in ("NO_PROXY", "no_proxy"):
        environment[name] = ",".join(filter(None, [environment.get(name), HOST, "localhost"]))
    return environment | make_redirect_variables()


@contextlib.asynccontextmanager
async def run_further_app(command: Sequence[str], environment: Mapping[str, str]) -> AsyncIterator[None]:
    """Run a further app while the block runs, and stop it at the end.

    Raises:
        OSError: There is no such program, or it cannot be started.
    """
    process = await asyncio.create_subprocess_exec(*command, env=environment)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def run_app(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run an app until it ends, and pass SIGINT and SIGTERM on to it; a second signal kills it.

    Returns:
        The app's exit code. As in a shell: 127 if there is no such program, 126 if it cannot be started, and
        128 plus the signal's number if a signal ended it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell script makes programs that it starts with "&" ignore SIGINT. The app would inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = await asyncio.create_subprocess_exec(*command, env=environment)
    except FileNotFoundError:
        return NOT_FOUND_EXIT_CODE
    except OSError:
        return NOT_STARTED_EXIT_CODE
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()

    def send_signal(number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)

    def forward_signal(number: signal.Signals) -> None:
        if stopping.is_set():
            send_signal(signal.SIGKILL)
        elif number is signal.SIGTERM or not _shares_terminal():
            send_signal(number)
        stopping.set()
        loop.call_later(STOP_SECONDS, send_signal, signal.SIGKILL)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, forward_signal, number)
    try:
        code = await process.wait()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
    return code if code >= 0 else SIGNAL_EXIT_CODE_OFFSET - code


def _shares_terminal() -> bool:
    """Return True if this process is in the foreground of its terminal, so that Ctrl-C reaches the app as well."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
