"""The page of a trace in a real browser: a step opens, search finds what is inside, and nothing leaves the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from bot.tracing.job_trace import derive_trace
from bot.tracing.trace_page import render_trace_page
from tests.tracing.made_logs import a_day, entries
from tests.workspace_page.browser import OpenPage

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SPY = """
window.asked = [];
new PerformanceObserver((list) => window.asked.push(...list.getEntries().map((one) => one.name)))
  .observe({ type: "resource", buffered: true });
"""


async def test_steps_open_search_finds_and_nothing_leaves_the_page(open_page: OpenPage, tmp_path: Path) -> None:
    file = tmp_path / "trace.html"
    file.write_text(render_trace_page(derive_trace(entries(a_day()))), encoding="utf-8")
    page = await open_page(file.as_uri(), viewport={"width": 390, "height": 800})
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("dialog", lambda dialog: pytest.fail(f"a script of others ran: {dialog.message}"))
    await page.evaluate(SPY)
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390, "it fits a phone"

    # by keyboard alone: to the first bar, along to the second lane's, and into its step
    await page.locator("#waterfall .bar").first.focus()
    await page.keyboard.press("ArrowDown")
    await expect(page.locator(":focus")).to_have_attribute("aria-label", "attempt researcher, failed, +5.3 s for 11 s")
    await page.keyboard.press("Enter")
    step = page.locator("#tree details[open]", has_text="the provider is overloaded").last
    await expect(step).to_contain_text("the same again, after a pause")
    await expect(page.locator(":focus")).to_contain_text("researcher")

    # search reaches into arguments that no open step shows
    await page.keyboard.press("/")
    await page.keyboard.type("avg(net_price)")
    await expect(page.locator("#count")).to_have_text("1 of 48 steps")
    await page.locator("#found summary").press("Enter")
    await expect(page.locator("#found mark")).to_have_text("avg(net_price)")
    await expect(page.locator("#found")).to_contain_text("widget XL | 19.80")

    # what a model wrote to break out of the page is text in it
    await page.fill("#words", "</script>")
    await expect(page.locator("#count")).to_have_text("2 of 48 steps")
    await page.locator("#found summary").first.click()
    await expect(page.locator("#found pre").first).to_contain_text("</script><b>hello</b>")
    assert await page.locator("#found b", has_text="hello").count() == 0

    await page.get_by_label("waits").check()
    await page.fill("#words", "")
    await expect(page.locator("#count")).to_have_text("3 of 48 steps")
    await page.keyboard.press("Escape")
    await expect(page.locator("#tree")).to_be_visible()

    assert await page.evaluate("window.asked") == []
    assert requests == []
