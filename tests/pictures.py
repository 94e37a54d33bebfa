"""Makes the pictures of the README and the crews' pages, `make pictures`: each is the thread of a demo on its page.

What a picture shows is the demo as it is played today: the same scripted replies, tools, questions and approvals.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.async_api import Browser, Page, async_playwright, expect

from bot.app import load_crew_of_settings
from bot.command_line import crew_demo
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.store.embedded import start_embedded, stop_embedded
from bot.workspace.app_parts import MessageDraft
from tests.system.crews.test_all_demos import NAMES, PATIENCE, on_page, open_thread, say_yes, settings_of
from tests.system.scene import scene_on
from tests.workspace_page.browser import NAMES as BROWSERS

FOLDER = Path(__file__).parents[1] / "docs"
COLOURS = 128
"""Colours of a picture: a third of the bytes, and no eye sees it."""
WIDTH, TALLEST = 760, 3200
"""Pixels of the page, which has the thread alone at that width; a longer thread is shown from its beginning."""


async def main(names: list[str]) -> int:
    """Make the pictures of these crews' demos. Returns the exit code."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        print(f"No browser was found: looked for {', '.join(BROWSERS)}.", file=sys.stderr)  # noqa: T201
        return 1
    with tempfile.TemporaryDirectory() as folder:
        url = await start_embedded(Path(folder))
        try:
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
                for name in names:
                    print(await picture(browser, url, name))  # noqa: T201
                await browser.close()
        finally:
            await stop_embedded(Path(folder))
    return 0


async def picture(browser: Browser, url: str, name: str) -> Path:
    """Play a crew's demo on its page, say yes to what it asks, and take the picture of its thread."""
    path = FOLDER / "thread.png" if name == "general" else FOLDER / "crews" / f"{name}.png"
    async with crew_demo.stage_demo(settings_of(name)) as demo:
        draft = MessageDraft(demo.demo.ask, demo.files)
        async with (
            scene_on(url, drafts=[draft]) as scene,
            scene.bot(demo.prepare_model(RehearsalModel(pace=0.2)), crew=load_crew_of_settings(demo.settings)),
        ):
            size = {"width": 1280, "height": 900}
            page = await browser.new_page(viewport=size, device_scale_factor=1.5, reduced_motion="reduce")
            await page.goto(scene.workspace.page_url)
            await page.get_by_test_id("start-draft").click()
            ready = page.locator("[data-testid=pending-file][data-ready=true]")
            await expect(ready).to_have_count(len(demo.files), timeout=30_000)
            await page.get_by_test_id("send").click()
            talk = await open_thread(scene, page)
            await say_yes(talk, on_page(page))
            await talk.over(patience=PATIENCE)
            await shoot(page, path)
            await page.close()
    return path


async def shoot(page: Page, path: Path) -> None:
    """Take the picture of the thread, as tall as it is."""
    await page.set_viewport_size({"width": WIDTH, "height": TALLEST})
    thread = page.get_by_test_id("thread")
    await page.mouse.move(1, 1)
    await page.wait_for_timeout(1500)  # pictures and charts are drawn, and nothing says when the last one is
    last = thread.get_by_test_id("message").last
    box, end = await thread.bounding_box(), await last.bounding_box()
    assert box is not None
    assert end is not None
    tall = min(TALLEST, end["y"] + end["height"] + 12) - box["y"]
    taken = await page.screenshot(clip={"x": box["x"], "y": box["y"], "width": box["width"], "height": tall})
    Image.open(io.BytesIO(taken)).quantize(COLOURS).save(path, optimize=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help="crews; all by default")
    raise SystemExit(asyncio.run(main(parser.parse_args().names)))
