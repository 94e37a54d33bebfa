"""What people do on the page, in a real browser, against the real workspace and a real Bolt app."""

import asyncio
import base64
import json
from typing import Any

import pytest
from playwright.async_api import FilePayload, Page, Route, expect
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.workspace_server import Workspace
from tests.patience import patience
from tests.workspace_page.conftest import ASK, Json, Run, say

# One event loop for all of them, because they share one browser.
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP4z8CABzGMSjNQAACxcgHp2b0Z3AAAAABJRU5ErkJggg=="
)


def button(action: str, text: str, **more: Any) -> Json:
    return {"type": "button", "action_id": action, "text": {"type": "plain_text", "text": text}, **more}


def input_block(block: str, label: str, **element: Any) -> Json:
    spec = {"type": "plain_text_input", "action_id": block, **element}
    return {"type": "input", "block_id": block, "label": {"type": "plain_text", "text": label}, "element": spec}


def rich(text: str) -> Json:
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [section]}


def plan(*states: tuple[str, str]) -> list[Json]:
    tasks = [
        {
            "type": "task_card",
            "task_id": f"t{number}",
            "title": title,
            "status": state,
            "details": rich(f"about {title}"),
        }
        for number, (title, state) in enumerate(states)
    ]
    return [{"type": "plan", "title": "The plan", "tasks": tasks}]


async def test_a_mention_is_completed_sent_and_answered_in_a_thread(
    workspace: Workspace, page: Page, app: AsyncApp, run: Run
) -> None:
    heard = []

    @app.event("app_mention")
    async def _(event: Any, say: Any) -> None:
        heard.append(event["text"])
        await say("I am *here* :eyes:", thread_ts=event["ts"])

    await run(app)
    await expect(page.get_by_test_id("start-hint")).to_contain_text("Mention @pagehand")
    box = page.get_by_test_id("composer")
    await box.press_sequentially("Hello @pa")
    await expect(page.get_by_test_id("mention-menu")).to_contain_text("pagehand")
    await box.press("Enter")
    await expect(box).to_have_value("Hello @pagehand ")
    await box.press_sequentially("& <b>you</b>")
    await box.press("Enter")
    await expect(box).to_have_value("")
    root = page.locator("#channel-body").get_by_test_id("message")
    await expect(root).to_contain_text("Hello @pagehand & <b>you</b>")
    await expect(page.get_by_test_id("start-hint")).to_have_count(0)

    await page.get_by_test_id("thread-line").click()
    thread = page.get_by_test_id("thread")
    reply = thread.get_by_test_id("message").nth(1)
    await expect(reply).to_contain_text("I am here")
    await expect(reply.locator("strong")).to_have_text("here")
    await expect(reply.locator(".badge")).to_have_text("APP")
    await expect(reply.get_by_role("img", name="eyes emoji")).to_be_visible()
    assert heard == [f"Hello <@{workspace.bot_user_id}> &amp; &lt;b&gt;you&lt;/b&gt;"]

    await say(page, "thanks", "thread-composer")
    await expect(thread.get_by_test_id("message")).to_have_count(3)
    await expect(root).to_have_count(1)
    await expect(page.get_by_test_id("thread-line")).to_contain_text("2 replies")


async def test_files_are_attached_shown_and_sent(workspace: Workspace, page: Page, channel: str) -> None:
    await page.get_by_test_id("start-sample").click()
    await expect(page.get_by_test_id("pending-file")).to_have_count(1)  # files keep the order in which they came
    picture: FilePayload = {"name": "chart.png", "mimeType": "image/png", "buffer": PIXEL}
    async with page.expect_file_chooser() as chosen:
        await page.get_by_test_id("start-own").click()
    await (await chosen.value).set_files(picture)
    await expect(page.locator("[data-testid=pending-file][data-ready=true]")).to_have_count(2)
    await page.get_by_test_id("send").click()
    card, image = page.get_by_test_id("file").nth(0), page.get_by_test_id("file").nth(1)
    await expect(card).to_contain_text("towns.csv")
    await expect(card).to_contain_text("CSV · 1.2 kB")
    shown = image.get_by_role("img", name="chart.png")
    await expect(shown).to_be_visible()
    assert await shown.evaluate("image => image.decode().then(() => image.naturalWidth)") == 10
    async with page.expect_download() as downloading:
        await card.get_by_role("link", name="Download").click()
    path = await (await downloading.value).path()
    [message] = workspace.messages(channel)
    assert [file["name"] for file in message["files"]] == ["towns.csv", "chart.png"]
    assert path.read_bytes() == await workspace.file(message["files"][0]["id"])


async def test_the_request_of_a_demo_is_filled_in_and_sent_with_its_files(
    workspace: Workspace, page: Page, channel: str
) -> None:
    await page.get_by_test_id("start-draft").click()
    await expect(page.locator("[data-testid=pending-file][data-ready=true]")).to_have_count(2)
    await expect(page.get_by_test_id("composer")).to_have_value(f"@pagehand {ASK}")
    await page.get_by_test_id("send").click()
    await expect(page.get_by_test_id("message").first).to_contain_text(ASK)
    [message] = workspace.messages(channel)
    assert [file["name"] for file in message["files"]] == ["first.txt", "second.csv"]
    assert message["text"].strip() == f"<@{workspace.bot_user_id}> {ASK}"


async def test_the_list_stays_at_its_end_until_the_reader_scrolls_up(
    workspace: Workspace, page: Page, channel: str
) -> None:
    ana = workspace.person("ana")
    for number in range(40):
        await ana.say(channel, f"message {number}")
    last = page.get_by_test_id("message").filter(has_text="message 39")
    await expect(last).to_be_in_viewport()
    await ana.say(channel, "a picture", files=[("chart.png", PIXEL)])
    await expect(page.get_by_test_id("file")).to_be_in_viewport()
    await page.locator("#channel-body .list").evaluate("list => list.scrollBy(0, -400)")
    await expect(last).not_to_be_in_viewport()
    await ana.say(channel, "the newest")
    newest = page.get_by_test_id("message").filter(has_text="the newest")
    await expect(newest).to_be_attached()
    await expect(newest).not_to_be_in_viewport()
    await page.get_by_role("button", name="Latest messages").click()
    await expect(newest).to_be_in_viewport()


async def test_a_file_that_is_dropped_or_pasted_is_attached(page: Page) -> None:
    drop = """(pane) => {
        const data = new DataTransfer();
        data.items.add(new File(["a,b\\n1,2\\n"], "dropped.csv", { type: "text/csv" }));
        pane.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data }));
    }"""
    paste = """(area) => {
        const data = new DataTransfer();
        data.items.add(new File(["text"], "pasted.txt", { type: "text/plain" }));
        area.dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData: data }));
    }"""
    await page.locator("#channel-pane").evaluate(drop)
    await page.get_by_test_id("composer").evaluate(paste)
    ready = page.locator("[data-testid=pending-file][data-ready=true]")
    await expect(ready).to_have_count(2)
    await page.get_by_role("button", name="Remove dropped.csv").click()
    await expect(ready).to_have_count(1)
    await expect(ready).to_contain_text("pasted.txt")


async def test_a_click_reaches_the_app_and_a_confirm_asks_first(
    workspace: Workspace, page: Page, channel: str, app: AsyncApp, run: Run, client: AsyncWebClient
) -> None:
    clicks = []

    @app.action("cancel")
    async def _(ack: Any, body: Any, respond: Any) -> None:
        await ack()
        clicks.append(body)
        await respond(text="Cancelled by <@" + body["user"]["id"] + ">", replace_original=True)

    await run(app)
    sure = {
        key: {"type": "plain_text", "text": text}
        for key, text in {
            "title": "Cancel the job?",
            "text": "What is done is kept.",
            "confirm": "Cancel it",
            "deny": "Go on",
        }.items()
    }
    blocks = [
        {
            "type": "actions",
            "block_id": "row",
            "elements": [button("cancel", "Cancel", value="job-1", style="danger", confirm=sure)],
        }
    ]
    await client.chat_postMessage(channel=workspace.channel_id(channel), text="A job", blocks=blocks)
    press = page.get_by_test_id("message").get_by_role("button", name="Cancel", exact=True)
    await press.click()
    await page.get_by_test_id("confirm").get_by_role("button", name="Go on").click()
    await expect(page.get_by_test_id("confirm")).to_have_count(0)
    assert not clicks
    await press.click()
    await page.get_by_test_id("confirm-yes").click()
    await expect(page.get_by_test_id("message")).to_contain_text("Cancelled by @ana")
    await expect(press).to_have_count(0)
    [action] = clicks[0]["actions"]
    assert (action["action_id"], action["value"], action["block_id"]) == ("cancel", "job-1", "row")


async def test_a_menu_choice_and_feedback_reach_the_app(
    workspace: Workspace, page: Page, channel: str, app: AsyncApp, run: Run, client: AsyncWebClient
) -> None:
    chosen = asyncio.Queue[Any]()

    @app.action("tier")
    async def _(ack: Any, action: Any) -> None:
        await ack()
        chosen.put_nowait(action["selected_option"]["value"])

    @app.action("thumbs")
    async def _(ack: Any, action: Any) -> None:
        await ack()
        chosen.put_nowait(action["value"])

    await run(app)
    options = [{"text": {"type": "plain_text", "text": name}, "value": name.lower()} for name in ("Fast", "Deep")]
    select = {
        "type": "static_select",
        "action_id": "tier",
        "options": options,
        "placeholder": {"type": "plain_text", "text": "Tier"},
    }
    thumbs: Json = {"type": "feedback_buttons", "action_id": "thumbs"}
    for key, value in {"positive_button": "good", "negative_button": "bad"}.items():
        thumbs[key] = {"text": {"type": "plain_text", "text": value}, "value": value}
    blocks = [{"type": "actions", "elements": [select]}, {"type": "context_actions", "elements": [thumbs]}]
    await client.chat_postMessage(channel=workspace.channel_id(channel), text="x", blocks=blocks)
    await page.get_by_label("Tier").select_option("Deep")
    assert await asyncio.wait_for(chosen.get(), patience()) == "deep"
    await page.get_by_role("button", name="good").click()
    assert await asyncio.wait_for(chosen.get(), patience()) == "good"
    await expect(page.get_by_role("button", name="good")).to_have_attribute("aria-pressed", "true")


async def test_a_modal_shows_what_is_wrong_and_closes_when_all_is_right(
    workspace: Workspace, page: Page, channel: str, app: AsyncApp, run: Run
) -> None:
    submitted = []
    view = {
        "type": "modal",
        "callback_id": "job",
        "title": {"type": "plain_text", "text": "Start a job"},
        "submit": {"type": "plain_text", "text": "Start"},
        "blocks": [input_block("goal", "Goal"), {**input_block("note", "Note"), "optional": True}],
    }

    @app.shortcut("start_job")
    async def _(ack: Any, shortcut: Any, client: Any) -> None:
        await ack()
        await client.views_open(trigger_id=shortcut["trigger_id"], view=view)

    @app.view("job")
    async def _(ack: Any, view: Any) -> None:
        goal = view["state"]["values"]["goal"]["goal"]["value"]
        if goal == "short":
            await ack(response_action="errors", errors={"goal": "Say a little more."})
        else:
            submitted.append(goal)
            await ack()

    await run(app)
    await workspace.person("ben").say(channel, "Sales look odd")
    message = page.get_by_test_id("message")
    await message.hover()
    await message.get_by_test_id("more").click()
    await page.get_by_test_id("shortcut").click()
    modal = page.get_by_test_id("modal")
    await modal.get_by_test_id("modal-submit").click()
    await expect(modal).to_contain_text("Please complete this required field.")
    goal = modal.get_by_label("Goal")
    await goal.press_sequentially("short")
    await goal.press("Enter")
    await expect(modal).to_contain_text("Say a little more.")
    await expect(modal).not_to_contain_text("Please complete")
    await expect(goal).to_have_value("short")
    await goal.fill("Find out why sales look odd")
    await modal.get_by_test_id("modal-submit").click()
    await expect(modal).to_have_count(0)
    assert submitted == ["Find out why sales look odd"]
    await page.get_by_test_id("composer").press_sequentially("still typing")
    await expect(page.get_by_test_id("composer")).to_have_value("still typing")


async def test_the_plan_moves_while_people_watch(
    workspace: Workspace, page: Page, channel: str, client: AsyncWebClient
) -> None:
    place = workspace.channel_id(channel)
    blocks = plan(("Read", "in_progress"), ("Write", "pending"))
    posted = await client.chat_postMessage(channel=place, text="Plan", blocks=blocks)
    rows = page.get_by_test_id("plan-row")
    await expect(rows).to_have_count(2)
    await expect(rows.nth(0)).to_have_attribute("data-status", "in_progress")
    await rows.nth(1).locator("summary").click()  # the reader folds a row up; it stays so
    spinner = await rows.nth(0).locator("svg").element_handle()
    blocks = plan(("Read more", "in_progress"), ("Write", "in_progress"))
    await client.chat_update(channel=place, ts=posted["ts"], text="Plan", blocks=blocks)
    await expect(rows.nth(1)).to_have_attribute("data-status", "in_progress")
    assert await spinner.evaluate("node => node.isConnected"), "the spinner starts over with each update"
    await expect(rows.nth(1).locator(".task-body")).to_be_hidden()
    blocks = plan(("Read more", "complete"), ("Write", "error"))
    await client.chat_update(channel=place, ts=posted["ts"], text="Plan", blocks=blocks)
    await expect(page.get_by_test_id("plan")).to_have_attribute("data-status", "error")


async def test_streamed_text_grows_behind_a_caret(
    workspace: Workspace, page: Page, channel: str, client: AsyncWebClient
) -> None:
    ana = workspace.person("ana")
    root = await ana.say(channel, "Tell me")
    await page.get_by_test_id("message").hover()
    await page.get_by_test_id("reply").click()
    thread = page.get_by_test_id("thread")
    where: Json = {"channel": workspace.channel_id(channel)}
    stream = await client.chat_startStream(
        **where,
        thread_ts=root,
        recipient_team_id=workspace.team_id,
        recipient_user_id=ana.id,
        markdown_text="# Result\n\nThe **ea",
    )
    answer = thread.get_by_test_id("message").nth(1)
    await expect(answer).to_contain_text("The **ea")
    await expect(answer.get_by_test_id("caret")).to_be_visible()
    await client.chat_appendStream(
        **where, ts=stream["ts"], markdown_text="st** grew.\n\n| a | b |\n|--|--|\n| 1 | 2 |"
    )
    await expect(answer.locator("p strong")).to_have_text("east")
    await expect(answer.locator("td").nth(1)).to_have_text("2")
    await client.chat_stopStream(**where, ts=stream["ts"])
    await expect(answer.get_by_test_id("caret")).to_have_count(0)
    await expect(answer.locator("h1")).to_have_text("Result")


async def test_stop_shows_while_work_goes_on_and_reaches_the_app(
    workspace: Workspace, page: Page, channel: str, app: AsyncApp, run: Run, client: AsyncWebClient
) -> None:
    stopped = asyncio.Queue[Any]()

    @app.event("agent_session_stopped")
    async def _(event: Any) -> None:
        stopped.put_nowait(event)

    await run(app)
    root = await workspace.person("ana").say(channel, "Work")
    where: Json = {"channel_id": workspace.channel_id(channel), "thread_ts": root}
    await client.agents_sessions_setStatus(**where, status="processing", title="Some work")
    await expect(page.get_by_test_id("thread-line")).to_contain_text("Working")
    await page.get_by_test_id("thread-line").click()
    await client.assistant_threads_setStatus(**where, status="is reading…")
    await expect(page.get_by_test_id("status")).to_contain_text("pagehand is reading…")
    await page.get_by_test_id("stop").click()
    event = await asyncio.wait_for(stopped.get(), patience())
    assert event["thread_ts"] == root
    await client.agents_sessions_setStatus(**where, status="suspended")
    await expect(page.get_by_test_id("session")).to_have_text("Waits for an answer")
    await expect(page.get_by_test_id("stop")).to_have_count(0)
    await client.agents_sessions_setStatus(**where, status="active")
    await expect(page.get_by_test_id("session")).to_have_text("")
    await expect(page.get_by_test_id("status")).to_have_count(0)


async def test_a_thread_that_loads_slowly_does_not_undo_what_was_told_live(
    workspace: Workspace, page: Page, channel: str, client: AsyncWebClient
) -> None:
    root = await workspace.person("ana").say(channel, "Work")
    where: Json = {"channel_id": workspace.channel_id(channel), "thread_ts": root}
    await client.agents_sessions_setStatus(**where, status="processing", title="Some work")
    await expect(page.get_by_test_id("thread-line")).to_contain_text("Working")
    asked, told = asyncio.Event(), asyncio.Event()

    async def late(route: Route) -> None:
        answer = await (await route.fetch()).json()
        sign = {
            **answer["messages"][0],
            "ts": f"{float(root) + 1:.6f}",
            "thread_ts": root,
            "text": "Loaded",
            "blocks": [],
        }
        asked.set()
        await told.wait()
        await route.fulfill(json={**answer, "messages": [*answer["messages"], sign]})

    await page.route("**/local/thread", late)
    await page.get_by_test_id("thread-line").click()
    await asyncio.wait_for(asked.wait(), patience())
    await client.assistant_threads_setStatus(**where, status="is reading…")
    await expect(page.get_by_test_id("status")).to_contain_text("pagehand is reading…")
    told.set()
    await expect(page.get_by_test_id("thread").get_by_text("Loaded", exact=True)).to_be_visible()
    await expect(page.get_by_test_id("status")).to_contain_text("pagehand is reading…")
    await page.unroute_all()


async def test_people_see_what_is_theirs(
    workspace: Workspace, page: Page, channel: str, client: AsyncWebClient
) -> None:
    place = workspace.channel_id(channel)
    ben = workspace.person("ben")
    await client.chat_postMessage(channel=place, text="For everybody")
    await client.chat_postEphemeral(channel=place, user=ben.id, text="For Ben alone")
    await expect(page.get_by_test_id("message")).to_contain_text("For everybody")
    await page.get_by_test_id("act-as").select_option(label="Ben Okafor")
    await expect(page.locator(".message.ephemeral")).to_contain_text("Only visible to you")
    await expect(page.locator(".message.ephemeral")).to_contain_text("For Ben alone")
    await page.reload()
    await expect(page.get_by_test_id("act-as")).to_have_value(ben.id)
    message = page.get_by_test_id("message").filter(has_text="everybody")
    await message.hover()
    await message.get_by_test_id("react-eyes").click()
    await expect(message.get_by_test_id("reaction")).to_have_attribute("aria-pressed", "true")
    await page.get_by_test_id("act-as").select_option(label="Ana Duarte")
    await expect(page.get_by_test_id("message")).to_have_count(1)
    await page.get_by_test_id("reaction").click()
    await expect(page.get_by_test_id("reaction")).to_contain_text("2")


async def test_home_prompts_and_commands(page: Page, app: AsyncApp, run: Run) -> None:
    asked = asyncio.Queue[Any]()

    @app.event("app_home_opened")
    async def _(event: Any, client: Any) -> None:
        if event["tab"] == "messages":
            await client.assistant_threads_setSuggestedPrompts(
                channel_id=event["channel"], prompts=[{"title": "Try me", "message": "Tell me all"}]
            )
            return
        view = {"type": "home", "blocks": [{"type": "header", "text": {"type": "plain_text", "text": "Your jobs"}}]}
        await client.views_publish(user_id=event["user"], view=view)

    @app.event("message")
    async def _(event: Any) -> None:
        asked.put_nowait(event["text"])

    @app.command("/pagehand")
    async def _(ack: Any, command: Any, respond: Any) -> None:
        await ack()
        await respond(f"Nothing to say about {command['text']}")

    await run(app)
    await page.get_by_test_id("channel").filter(has_text="pagehand").click()
    await page.get_by_test_id("prompt").click()
    assert await asyncio.wait_for(asked.get(), patience()) == "Tell me all"
    await page.get_by_test_id("tab-home").click()
    await expect(page.get_by_test_id("home")).to_contain_text("Your jobs")
    await page.get_by_test_id("tab-messages").click()
    box = page.get_by_test_id("composer")
    await box.press_sequentially("/pa")
    await expect(page.get_by_test_id("command-menu")).to_contain_text("/pagehand status")
    await box.press("Tab")
    await box.press_sequentially("status")
    await box.press("Enter")
    await expect(page.locator(".message.ephemeral")).to_contain_text("Nothing to say about status")


async def test_a_block_nobody_knows_is_shown_raw_and_the_page_redraws_after_a_lost_connection(
    workspace: Workspace, page: Page, channel: str, client: AsyncWebClient
) -> None:
    block = {"type": "hologram", "title": "Sales"}
    message = {"ts": "1700000000.000100", "user": workspace.bot_user_id, "text": "x", "blocks": [block]}
    root = await workspace.person("ana").say(channel, "before")
    await expect(page.get_by_test_id("message")).to_have_count(1)
    drawn = await page.evaluate(
        """async (message) => {
            const { messageRow } = await import("/page/messages.js");
            return messageRow(message, { channel: "C1" }).textContent;
        }""",
        message,
    )
    assert "Unknown block: hologram" in drawn
    assert json.dumps(block, indent=2) in drawn
    await workspace._live.close()  # every page loses its connection, as when a laptop wakes up
    await client.chat_postMessage(channel=workspace.channel_id(channel), thread_ts=root, text="while away")
    await expect(page.get_by_test_id("thread-line")).to_contain_text("1 reply")
    await expect(page.locator("#offline")).to_be_hidden()


async def test_everything_is_within_reach_of_the_keyboard(workspace: Workspace, page: Page, channel: str) -> None:
    await workspace.person("ben").say(channel, "one")
    await workspace.person("ana").say(channel, "two")
    await expect(page.get_by_test_id("message")).to_have_count(2)
    await page.get_by_test_id("message").nth(1).focus()
    await page.keyboard.press("ArrowUp")
    for _ in range(5):  # three quick reactions, the picker, then reply
        await page.keyboard.press("Tab")
    await expect(page.get_by_test_id("message").nth(0).get_by_test_id("reply")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("thread-composer")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.get_by_test_id("thread")).to_be_hidden()
    await expect(page.get_by_test_id("message").nth(0)).to_be_focused()


async def test_charts_and_tables_are_drawn_and_a_table_is_paged_and_sorted(
    workspace: Workspace, page: Page, channel: str, client: AsyncWebClient
) -> None:
    points = [{"label": "a", "value": 3}, {"label": "b", "value": -1}]
    plot = {"series": [{"name": "s", "data": points}], "axis_config": {"categories": ["a", "b"]}}
    charts = [
        {"type": "data_visualization", "title": "Bars", "chart": {"type": "bar", **plot}},
        {"type": "data_visualization", "title": "Area", "chart": {"type": "area", **plot}},
    ]
    rows = [[{"type": "raw_text", "text": "Town"}, {"type": "raw_text", "text": "Sales"}]]
    for number in range(12):
        sales = {"type": "raw_number", "value": number * 7 % 12, "text": str(number * 7 % 12)}
        rows.append([{"type": "raw_text", "text": f"Town {number}"}, sales])
    table = {"type": "data_table", "caption": "By town", "rows": rows, "page_size": 5}
    place = workspace.channel_id(channel)
    await client.chat_postMessage(channel=place, text="x", blocks=[*charts, table])
    await expect(page.locator(".chart rect")).to_have_count(2)
    await expect(page.locator(".chart .chart-area")).to_have_count(1)
    await expect(page.locator(".data-table tbody tr")).to_have_count(5)
    await page.get_by_role("button", name="More").click()
    await expect(page.locator(".data-table")).to_contain_text("6 to 10 of 12")
    await page.get_by_role("button", name="Back").click()
    await page.locator(".sort", has_text="Sales").click()
    await expect(page.locator(".data-table tbody tr").first).to_contain_text("Town 0")
    await page.locator(".sort", has_text="Sales").click()
    await expect(page.locator(".data-table tbody td").nth(1)).to_have_text("11")
