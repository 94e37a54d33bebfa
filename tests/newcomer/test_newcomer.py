"""What a newcomer does in `make try`, in a real browser: attach, ask, watch the plan, read the answer."""

from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect

from tests.newcomer.conftest import ROOT, Try
from tests.patience import patience
from tests.workspace_page.browser import OpenPage

SAMPLE = ROOT / "specialists" / "samples" / "sales.csv"

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def ask(page: Page, text: str, file: Path = SAMPLE) -> None:
    """Attach a file, mention the bot by completion, write the rest and send."""
    await page.get_by_test_id("attach").first.set_input_files(file)
    await expect(page.locator("[data-testid=pending-file][data-ready]").first).to_be_visible()
    composer = page.get_by_test_id("composer")
    await composer.press_sequentially("@lead")
    await expect(page.get_by_test_id("mention-menu")).to_be_visible()
    await composer.press("Enter")
    await composer.press_sequentially(text)
    await composer.press("Enter")


async def test_a_thread_becomes_a_job_and_the_query_stands_one_click_below_the_answer(
    leadhand_try: Try, open_page: OpenPage, tmp_path: Path
) -> None:
    assert "rehearsal (no language model)" in leadhand_try.output
    page = await open_page(leadhand_try.address, viewport={"width": 1440, "height": 1000})
    await expect(page.get_by_test_id("notice")).to_contain_text("rehearsal (no language model)")

    await ask(page, "why did churn rise? draft a short note to the board")
    root = page.get_by_test_id("message").filter(has_text="why did churn rise").first
    await expect(root.get_by_test_id("reaction")).to_contain_text("1")
    thread = await open_thread(page, "why did churn rise")
    rows = thread.get_by_test_id("plan-row")
    await expect(rows).to_have_count(2)
    begun = thread.locator("[data-testid=plan-row]:is([data-status=in_progress], [data-status=complete])")
    await expect(begun.first).to_be_visible()  # a part may be done before a busy browser shows that it began
    answer = await wait_for_answer(thread)
    await expect(thread.locator("[data-testid=plan-row][data-status=complete]")).to_have_count(2)
    await expect(answer).to_contain_text("churned customers")
    await expect(answer.locator("table").first).to_be_visible()
    chart = thread.locator("[data-testid=file] img").first
    await chart.scroll_into_view_if_needed()
    await page.wait_for_function(
        "image => image.complete && image.naturalWidth > 800", arg=await chart.element_handle()
    )

    file = tmp_path / "umsatz.csv"
    lines = ("Region;Monat;Umsatz", "Nord;März 2026;1.200,50 €", "Süd;März 2026;-200,25 €", "Summe;;1.000,25 €")
    file.write_text("\n".join(lines), encoding="utf-8")
    await ask(page, "what is the total umsatz by region?", file)
    answer = await wait_for_answer(await open_thread(page, "total umsatz by region"))
    await expect(answer).to_contain_text("Nord")
    await expect(answer).not_to_contain_text("Summe:")
    await answer.get_by_role("button", name="Evidence").click()
    await expect(page.get_by_role("dialog").get_by_text('FROM "umsatz"')).to_be_visible()


async def open_thread(page: Page, words: str) -> Locator:
    root = page.get_by_test_id("message").filter(has_text=words).first
    await root.get_by_test_id("thread-line").click()
    return page.get_by_test_id("thread")


async def wait_for_answer(thread: Locator) -> Locator:
    """The last message of a thread, once it is the answer."""
    await expect(thread.get_by_text("no language model) ·")).to_be_visible(timeout=1000 * patience())
    return thread.get_by_test_id("message").last
