"""What a newcomer does in `make try`, in a real browser: attach, ask, watch the plan, read the answer."""

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.newcomer.conftest import ROOT, Try
from tests.patience import patience
from tests.workspace_page.browser import OpenPage

SAMPLE = ROOT / "specialists" / "samples" / "sales.csv"
PICTURES = ROOT / "screenshots"

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


async def test_a_thread_becomes_a_job(leadhand_try: Try, open_page: OpenPage) -> None:
    assert "rehearsal (no language model)" in leadhand_try.said
    page = await open_page(leadhand_try.address, viewport={"width": 1440, "height": 1000})
    await expect(page.get_by_test_id("notice")).to_contain_text("rehearsal (no language model)")

    await ask(page, "why did churn rise? draft a short note to the board")
    root = page.get_by_test_id("message").filter(has_text="why did churn rise").first
    await expect(root.get_by_test_id("reaction")).to_contain_text("1")
    await root.get_by_test_id("thread-line").click()
    thread = page.get_by_test_id("thread")

    rows = thread.get_by_test_id("plan-row")
    await expect(rows).to_have_count(2)
    begun = thread.locator("[data-testid=plan-row]:is([data-status=in_progress], [data-status=complete])")
    await expect(begun.first).to_be_visible()  # a part may be done before a busy browser shows that it began
    await shoot(page, "newcomer-plan")

    await expect(thread.get_by_text("no language model) ·")).to_be_visible(timeout=1000 * patience())
    await expect(thread.locator("[data-testid=plan-row][data-status=complete]")).to_have_count(2)
    answer = thread.get_by_test_id("message").last
    await expect(answer).to_contain_text("churned customers")
    await expect(answer.locator("table").first).to_be_visible()
    chart = thread.locator("[data-testid=file] img").first
    await chart.scroll_into_view_if_needed()
    await page.wait_for_function(
        "image => image.complete && image.naturalWidth > 800", arg=await chart.element_handle()
    )
    await shoot(page, "newcomer-chart")
    await answer.scroll_into_view_if_needed()
    await shoot(page, "newcomer-answer")


async def test_the_query_stands_one_click_below_the_answer(
    leadhand_try: Try, open_page: OpenPage, tmp_path: Path
) -> None:
    file = tmp_path / "umsatz.csv"
    rows = ("Region;Monat;Umsatz", "Nord;März 2026;1.200,50 €", "Süd;März 2026;-200,25 €", "Summe;;1.000,25 €")
    file.write_text("\n".join(rows), encoding="utf-8")
    page = await open_page(leadhand_try.address, viewport={"width": 1440, "height": 1000})
    await ask(page, "what is the total umsatz by region?", file)
    root = page.get_by_test_id("message").filter(has_text="total umsatz by region").first
    await root.get_by_test_id("thread-line").click()
    thread = page.get_by_test_id("thread")
    await expect(thread.get_by_text("no language model) ·")).to_be_visible(timeout=1000 * patience())
    answer = thread.get_by_test_id("message").last
    await expect(answer).to_contain_text("Nord")
    await expect(answer).not_to_contain_text("Summe:")
    await answer.get_by_role("button", name="Evidence").scroll_into_view_if_needed()
    await shoot(page, "newcomer-query-button")
    await answer.get_by_role("button", name="Evidence").click()
    await expect(page.get_by_role("dialog").get_by_text('FROM "umsatz"')).to_be_visible()
    await shoot(page, "newcomer-query")


async def test_the_next_start_shows_the_same_threads(leadhand_try: Try, open_page: OpenPage) -> None:
    page = await open_page(leadhand_try.address)
    await ask(page, "what is the total revenue by region?")
    root = page.get_by_test_id("message").filter(has_text="total revenue by region").first
    await root.get_by_test_id("thread-line").click()
    await expect(page.get_by_test_id("thread").get_by_text("no language model) ·")).to_be_visible(
        timeout=1000 * patience()
    )
    await page.close()
    assert await leadhand_try.stop() == 0

    await leadhand_try.start()
    page = await open_page(leadhand_try.address)
    root = page.get_by_test_id("message").filter(has_text="total revenue by region").first
    await root.get_by_test_id("thread-line").click()
    thread = page.get_by_test_id("thread")
    await expect(thread.get_by_text("no language model) ·")).to_be_visible()
    await expect(thread.locator("[data-testid=plan-row][data-status=complete]")).to_have_count(1)


async def shoot(page: Page, name: str) -> None:
    """A picture for people to look at; the folder is not kept in git."""
    PICTURES.mkdir(exist_ok=True)
    await page.screenshot(path=Path(PICTURES) / f"{name}.png")
