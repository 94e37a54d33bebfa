"""A pytest plugin: the fixture `slack` is a strict Slack of its own for each test that asks for it.

    def test_it_answers(slack):
        slack.run("python", "app.py")
        ts = slack.say("#general", "@echo hello")
        assert slack.replies("#general", ts)[0]["text"] == "Hi"

The manifest is the first of manifest.json, manifest.yml and manifest.yaml in the root folder of the tests, or the one
that the ini option `slack_manifest` or the marker `slack(manifest=...)` names. All calls block until they are done, so
tests need no event loop. Nothing is imported before a test asks for the fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from bot.workspace.blocking_workspace import Slack

MARKER = (
    "slack(manifest=..., request_url=..., rate_limits=..., ack_seconds=..., retry_scale=...): "
    "how the workspace of the fixture `slack` starts"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ini option that names the manifest."""
    parser.addini("slack_manifest", "the app's manifest for the fixture `slack`, from the root folder on")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker `slack(...)`, so that pytest does not warn about it."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def slack(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slack]:
    """Yield a running local Slack, stopped after the test. SLACK_BOT_TOKEN and the app's other variables are set."""
    from bot.workspace.app_process import make_app_variables  # noqa: PLC0415 - only where a test asks for it
    from bot.workspace.blocking_workspace import Slack  # noqa: PLC0415 - the same
    from bot.workspace.command import find_manifest  # noqa: PLC0415 - the same

    marker = request.node.get_closest_marker("slack")
    options = dict(marker.kwargs) if marker else {}
    root = request.config.rootpath
    manifest_name = options.pop("manifest", None) or request.config.getini("slack_manifest")
    try:
        manifest = root / Path(manifest_name) if manifest_name else find_manifest(root)
        workspace = Slack.start(manifest, **options)
    except (OSError, ValueError) as error:
        pytest.fail(f"The fixture `slack` cannot start: {error}", pytrace=False)
    for name, value in make_app_variables(workspace.workspace).items():
        monkeypatch.setenv(name, value)
    yield workspace
    workspace.stop()
