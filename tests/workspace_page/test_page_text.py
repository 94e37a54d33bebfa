"""What the page makes of texts, friendly and hostile."""

import pytest
from playwright.async_api import Page, expect
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.workspace_server import Workspace
from tests.workspace_page.conftest import Json

# One event loop for all of them, because they share one browser.
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_a_canvas_is_read_in_place(
    workspace: Workspace, page: Page, channel: str, client: AsyncWebClient
) -> None:
    place = workspace.channel_id(channel)
    document = {"type": "markdown", "markdown": "# Findings\n\n- East **grew**"}
    canvas = (await client.canvases_create(title="The brief", document_content=document))["canvas_id"]
    file = (await client.files_info(file=canvas))["file"]
    await client.chat_postMessage(channel=place, text=f"<{file['permalink']}|The brief>")
    await page.get_by_role("link", name="The brief").click()
    await expect(page.get_by_test_id("canvas").locator("h1")).to_have_text("Findings")
    await expect(page.get_by_test_id("canvas").locator("li strong")).to_have_text("grew")
    await page.keyboard.press("Escape")
    await expect(page.get_by_test_id("canvas")).to_have_count(0)


async def test_a_label_that_is_an_address_is_one_link(
    workspace: Workspace, page: Page, channel: str, client: AsyncWebClient
) -> None:
    address = "https://shop.example.com/s?q=tea&page=2"
    block = {"type": "markdown", "text": f"[{address.replace('&', '&amp;')}]({address})"}
    await client.chat_postMessage(channel=workspace.channel_id(channel), text="Tea", blocks=[block])
    await expect(page.get_by_test_id("message")).to_have_count(1)
    links = await page.locator("#channel-body .message a[href^=http]").evaluate_all(
        "links => links.map((link) => [link.textContent, link.getAttribute('href')])"
    )
    assert links == [[address, address]]


async def test_hostile_text_stays_text(workspace: Workspace, page: Page, channel: str, client: AsyncWebClient) -> None:
    place = workspace.channel_id(channel)
    image = '<img src=x onerror="document.title=1">'
    markdown = f"{image} [go](javascript:alert(1)) ![pic](https://example.com/x.png) <script>document.title=2</script>"
    rich = {
        "type": "rich_text",
        "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": image}]}],
    }
    task = {"type": "task_card", "task_id": "t", "title": image, "status": "error"}
    blocks: list[Json] = [
        {"type": "markdown", "text": markdown},
        {
            "type": "section",
            "text": {"type": "mrkdwn", "text": f"{image} <javascript:alert(1)|go> <data:text/html,x|d>"},
        },
        rich,
        {"type": "plan", "title": image, "tasks": [{**task, "details": {**rich, "block_id": "details"}}]},
        {"type": "header", "text": {"type": "plain_text", "text": image}},
    ]
    await workspace.person("ana").say(channel, f"{image} javascript:alert(1)")
    await client.chat_postMessage(channel=place, text=image, blocks=blocks)
    await client.chat_postMessage(channel=place, text="W" * 3000, username=image)
    messages = page.get_by_test_id("message")
    await expect(messages).to_have_count(3)
    assert (await messages.nth(1).inner_text()).count(image) == 7
    targets = await page.locator("#channel-body a").evaluate_all("links => links.map((link) => link.protocol)")
    assert set(targets) == {"https:"}
    assert await page.locator("#channel-body .message img, #channel-body script").count() == 0
    assert await page.title() == f"{channel[1:]} · Workspace"
    wide = await page.evaluate("[document.scrollingElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
    list_width = await page.locator("#channel-body .list").evaluate("list => list.scrollWidth - list.clientWidth")
    assert list_width <= 0


async def test_a_thousand_hostile_marks_do_not_freeze_the_page(page: Page) -> None:
    texts = [
        "*" * 12_000,
        "[" * 12_000,
        "`" * 6_001,
        "> " * 6_000,
        "_a " * 4_000,
        "|-" * 6_000,
        "- " * 6_000,
        "**a " * 3_000,
        "[a](" * 3_000,
    ]
    took = await page.evaluate(
        """async (texts) => {
            const { markdown } = await import("/page/markdown.js");
            const { mrkdwn } = await import("/page/mrkdwn.js");
            return texts.map((text) => {
                const start = performance.now();
                markdown(text);
                mrkdwn(text);
                return performance.now() - start;
            });
        }""",
        texts,
    )
    assert max(took) < 2_000, dict(zip([text[:6] for text in texts], took, strict=True))


MARKDOWN = {
    "a **b** *c* ~~d~~ `e*f*`": "<p>a <strong>b</strong> <em>c</em> <del>d</del> <code>e*f*</code></p>",
    "***a***": "<p><strong><em>a</em></strong></p>",
    "snake_case_name and 2 * 3 * 4": "<p>snake_case_name and 2 * 3 * 4</p>",
    "**bold with *italic* inside**": "<p><strong>bold with <em>italic</em> inside</strong></p>",
    r"\*not\* &amp; &lt;b&gt;": "<p>*not* &amp; &lt;b&gt;</p>",
    "- a\n  - b\n- c": "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>",
    "3. a\n\n4. b\n\nend": '<ol start="3"><li>a</li><li>b</li></ol><p>end</p>',
    "- a\n\n  more": "<ul><li>a<p>more</p></li></ul>",
    "> a\n> - b": "<blockquote><p>a</p><ul><li>b</li></ul></blockquote>",
    "Title\n=====\ntext": "<h1>Title</h1><p>text</p>",
    "```py\nx = '<b>'\n": "<pre><code data-language=\"py\">x = '&lt;b&gt;'\n</code></pre>",
    "a\nb\n\n---\n# c": "<p>a<br>b</p><hr><h1>c</h1>",
}


async def test_markdown_is_drawn_as_people_expect(page: Page) -> None:
    drawn = await page.evaluate(
        """async (texts) => {
            const { markdown } = await import("/page/markdown.js");
            return texts.map((text) => {
                const box = document.createElement("div");
                box.append(markdown(text));
                return box.innerHTML;
            });
        }""",
        list(MARKDOWN),
    )
    assert dict(zip(MARKDOWN, drawn, strict=True)) == MARKDOWN
