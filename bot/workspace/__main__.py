"""Start the workspace alone: `python -m bot.workspace --manifest manifest.yml`."""

import argparse
import asyncio
import contextlib
import signal
import sys
from pathlib import Path

from bot.workspace.workspace_server import Workspace
from bot.workspace.world import Draft


def main() -> int:
    """Run until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m bot.workspace", description="A strict Slack on your own machine.")
    parser.add_argument("--manifest", type=Path, required=True, help="the app's manifest (YAML or JSON)")
    parser.add_argument("--data", type=Path, help="folder that keeps everything (default: in memory)")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (default: a free one)")
    parser.add_argument("--request-url", help="post events and the rest to this URL, signed (default: Socket Mode)")
    parser.add_argument("--sample", type=Path, help="a file that the page offers to attach in an empty channel")
    parser.add_argument("--no-rate-limits", action="store_true", help="let calls come as fast as they like")
    options = parser.parse_args()
    try:
        asyncio.run(_serve(options))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"The workspace cannot start: {error}\n")
        return 1
    return 0


async def _serve(options: argparse.Namespace) -> None:
    workspace = await Workspace.start(
        options.manifest,
        data=options.data,
        port=options.port,
        rate_limits=not options.no_rate_limits,
        request_url=options.request_url,
        drafts=[Draft(files=(options.sample,), label=f"Attach {options.sample.name}")] if options.sample else (),
    )
    told = {
        "SLACK_API_URL": workspace.api_url,
        "SLACK_BOT_TOKEN": workspace.bot_token,
        **({} if options.request_url else {"SLACK_APP_TOKEN": workspace.app_token}),
        "SLACK_SIGNING_SECRET": workspace.signing_secret,
    }
    lines = [
        *(f"Note:  {note}" for note in workspace.notes),
        f"Page:  {workspace.page_url}",
        "Start your app with:",
        *(f"export {name}={value}" for name, value in told.items()),
        "Ctrl-C stops it.",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows has no such handlers; Ctrl-C works there anyway
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    try:
        await stopped.wait()
    finally:
        await workspace.stop()


if __name__ == "__main__":
    sys.exit(main())
