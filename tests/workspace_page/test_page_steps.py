"""Somebody runs a step of a workflow on the page, and reads how it ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml
from playwright.async_api import Page, expect
from slack_bolt.async_app import AsyncApp

from bot.workspace.workspace_server import Workspace
from tests.workspace_page.conftest import MANIFEST, Run

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
USER = {"type": "slack#/types/user_id", "title": "Who", "is_required": True}
DAYS = {"type": "integer", "title": "Days", "is_required": True}
LEAVE = {"title": "Ask for leave", "description": "", "output_parameters": {"who": USER, "left": {"type": "integer"}}}


@pytest_asyncio.fixture(loop_scope="session")
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    """One whose app offers a step."""
    manifest = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    manifest["settings"]["org_deploy_enabled"] = True
    manifest["functions"] = {"leave": {**LEAVE, "input_parameters": {"who": USER, "days": DAYS}}}
    (tmp_path / "app.yml").write_text(yaml.safe_dump(manifest), encoding="utf-8")
    workspace = await Workspace.start(tmp_path / "app.yml", rate_limits=False)
    yield workspace
    await workspace.stop()


async def test_a_step_is_filled_in_run_and_its_end_is_told(
    workspace: Workspace, app: AsyncApp, run: Run, page: Page
) -> None:
    @app.function("leave")
    async def leave(inputs: dict[str, Any], complete: Any, fail: Any) -> None:
        left = 30 - inputs["days"]
        await (complete({"who": inputs["who"], "left": left}) if left > 0 else fail("No days are left"))

    await run(app)
    notes = page.get_by_test_id("note")
    for days, end in (("5", "Ask for leave is done. who: Ben Okafor. left: 25."), ("40", "failed: No days are left")):
        await page.get_by_test_id("composer").fill("/Ask")
        await page.get_by_test_id("command-option").filter(has_text="Ask for leave").click()
        await page.get_by_test_id("step-who").select_option(workspace.person("ben").id)
        await page.get_by_test_id("step-days").fill(days)
        await page.get_by_test_id("step-sheet-send").click()
        await expect(notes.filter(has_text=end)).to_be_visible()
