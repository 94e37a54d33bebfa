import re
from typing import Any

import aiohttp
import pytest
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.refusal import ActionFailed
from bot.workspace.workspace_server import Workspace
from tests.patience import eventually
from tests.workspace.conftest import Change, Clients, ExpectRefusal, Listen, Start, note_bodies

PLAIN = {"type": "plain_text", "text": "Go"}
BUTTONS = [
    {
        "type": "actions",
        "block_id": "choice",
        "elements": [
            {"type": "button", "text": PLAIN, "action_id": "pick_1", "value": "yes"},
            {"type": "button", "text": PLAIN, "action_id": "pick_2", "value": "no"},
            {
                "type": "static_select",
                "action_id": "menu",
                "options": [{"text": PLAIN, "value": "a"}, {"text": PLAIN, "value": "b"}],
            },
        ],
    }
]
FORM = {
    "type": "modal",
    "callback_id": "form",
    "title": PLAIN,
    "submit": PLAIN,
    "private_metadata": "kept",
    "blocks": [
        {
            "type": "input",
            "block_id": "task",
            "label": PLAIN,
            "element": {"type": "plain_text_input", "action_id": "text"},
        },
        {
            "type": "input",
            "block_id": "when",
            "label": PLAIN,
            "optional": True,
            "element": {"type": "datepicker", "action_id": "date"},
        },
    ],
}


async def test_a_press_is_acknowledged_and_answered_by_response_url(
    workspace: Workspace, listen: Listen, client: AsyncWebClient, general: str
) -> None:
    seen: list[Any] = []

    def register(app: Any) -> None:
        @app.action("pick_1")
        async def answer_pick(ack: Any, body: Any, respond: Any) -> None:
            await ack()
            seen.append(body)
            await respond(text="thank you", replace_original=True)

    await listen(workspace, register)
    ana = workspace.person("ana")
    root = await ana.say("#general", "root")
    answer = await client.chat_postMessage(channel=general, text="?", blocks=BUTTONS, thread_ts=root)
    await ana.click("#general", answer["ts"], "pick_1")
    await workspace.until(lambda: workspace.thread("#general", root)[1]["text"] == "thank you")
    body = seen[0]
    assert body["actions"][0]["value"] == "yes"
    assert body["actions"][0]["block_id"] == "choice"
    assert body["user"]["id"] == ana.id
    assert body["container"]["thread_ts"] == body["message"]["thread_ts"] == root
    assert "blocks" not in workspace.thread("#general", root)[1]


async def test_a_menu_reports_its_option_and_a_stale_button_can_still_be_pressed(
    workspace: Workspace, listen: Listen, client: AsyncWebClient, general: str
) -> None:
    seen: list[Any] = []
    await listen(workspace, note_bodies(seen, action=re.compile("menu|pick_2")))
    ts = (await client.chat_postMessage(channel=general, text="?", blocks=BUTTONS))["ts"]
    ben = workspace.person("ben")
    await ben.click("#general", ts, "menu", "b")
    with pytest.raises(ActionFailed, match="no option 'c'"):
        await ben.click("#general", ts, "menu", "c")
    await client.chat_update(channel=general, ts=ts, text="decided", blocks=[])
    await ben.click("#general", ts, "pick_2")
    assert seen[0]["actions"][0]["selected_option"]["value"] == "b"
    assert seen[1]["actions"][0]["value"] == "no"
    with pytest.raises(ActionFailed, match="nothing called 'pick_3'"):
        await ben.click("#general", ts, "pick_3")


async def test_who_is_not_acknowledged_in_time_sees_an_error(start: Start, listen: Listen) -> None:
    workspace = await start(ack_seconds=0.1)

    def register(app: Any) -> None:
        @app.command("/testhand")
        async def slow(body: Any) -> None:
            pass  # never acknowledged

    await listen(workspace, register)
    ana = workspace.person("ana")
    with pytest.raises(ActionFailed, match="/testhand failed with the error “operation_timeout”"):
        await ana.command("#general", "/testhand", "status")
    assert ana.errors() == ["/testhand failed with the error “operation_timeout”"]
    with pytest.raises(ActionFailed, match="/other is not a valid command"):
        await ana.command("#general", "/other")


async def test_an_acknowledgement_that_slack_would_not_show_is_an_error(workspace: Workspace, listen: Listen) -> None:
    def register(app: Any) -> None:
        @app.command("/testhand")
        async def ack_wrong_blocks(ack: Any) -> None:
            await ack(blocks=[{"type": "section"}])

    await listen(workspace, register)
    refused = "/testhand failed with the error “invalid_command_response”: invalid_blocks"
    with pytest.raises(ActionFailed, match=refused):
        await workspace.person("ana").command("#general", "/testhand", "status")


async def test_nobody_listening_is_an_error_too(workspace: Workspace) -> None:
    with pytest.raises(ActionFailed, match="dispatch_failed"):
        await workspace.person("ana").command("#general", "/testhand")


async def test_a_command_is_answered_with_its_acknowledgement_and_by_response_url(
    workspace: Workspace, listen: Listen
) -> None:
    urls: list[Any] = []

    def register(app: Any) -> None:
        @app.command("/testhand")
        async def command(ack: Any, command: Any, respond: Any) -> None:
            urls.append(command["response_url"])
            await ack(text=f"got {command['text']}")
            await respond("for you")
            await respond("for all", response_type="in_channel")

    await listen(workspace, register)
    ana = workspace.person("ana")
    await ana.command("#sales", "/testhand", "status 7")
    await workspace.until(lambda: workspace.messages("#sales"))
    assert sorted(each["text"] for each in ana.ephemerals("#sales")) == ["for you", "got status 7"]
    assert [each["text"] for each in workspace.messages("#sales")] == ["for all"]


async def test_a_response_url_lasts_five_uses_and_thirty_minutes(
    workspace: Workspace, listen: Listen, session: aiohttp.ClientSession
) -> None:
    commands: list[Any] = []
    await listen(workspace, note_bodies(commands, command="/testhand"))
    ana = workspace.person("ana")
    for _ in range(2):
        await ana.command("#general", "/testhand")
    urls = [each["response_url"] for each in commands]
    for body, error in (  # what it refuses is no use of it
        ({"text": "x", "thread_ts": "1.000001"}, "thread_not_found"),
        ({"text": "x", "thread_ts": ["1.000001"], "response_type": "in_channel"}, "thread_not_found"),
        ({"text": ["x"]}, "invalid_arguments"),
    ):
        async with session.post(urls[0], json=body) as response:
            assert (response.status, (await response.json())["error"]) == (400, error), body
    statuses: list[Any] = []
    for _ in range(6):
        async with session.post(urls[0], json={"text": "x"}) as response:
            statuses.append(response.status)
    assert statuses == [200] * 5 + [404]
    workspace.clock.advance(1801)
    async with session.post(urls[1], json={"text": "x"}) as response:
        assert (await response.json())["error"] == "expired_url"
    async with session.post(urls[0] + "x", json={"text": "x"}) as response:
        assert (await response.json())["error"] == "invalid_url"


async def test_a_shortcut_opens_a_modal_that_is_filled_and_submitted(workspace: Workspace, listen: Listen) -> None:
    seen: list[Any] = []

    def register(app: Any) -> None:
        @app.shortcut("start_job")
        async def shortcut(ack: Any, body: Any, client: AsyncWebClient) -> None:
            await ack()
            seen.append(body)
            await client.views_open(trigger_id=body["trigger_id"], view=FORM)

        @app.view("form")
        async def handle_submit(ack: Any, view: Any) -> None:
            values = view["state"]["values"]
            if values["task"]["text"]["value"] == "nonsense":
                await ack(response_action="errors", errors={"task": "Please be serious"})
                return
            await ack()
            seen.append(view)

    await listen(workspace, register)
    ana = workspace.person("ana")
    ts = await ana.say("#general", "make a report")
    await ana.shortcut("start_job", "#general", ts)
    await workspace.until(ana.views)
    view_id = ana.views()[0]["id"]
    assert await ana.submit(view_id, {}) is False
    assert len(seen) == 1
    assert await ana.submit(view_id, {"text": "nonsense"}) is False
    assert len(ana.views()) == 1
    assert await ana.submit(view_id, {"task": {"text": "a report"}, "when": {"date": "2027-01-02"}}) is True
    assert ana.views() == []
    assert seen[0]["type"] == "message_action"
    assert seen[0]["message"]["text"] == "make a report"
    assert seen[1]["private_metadata"] == "kept"
    values = seen[1]["state"]["values"]
    assert values["task"]["text"] == {"type": "plain_text_input", "value": "a report"}
    assert values["when"]["date"] == {"type": "datepicker", "selected_date": "2027-01-02"}


async def test_a_trigger_works_once_and_for_three_seconds(
    workspace: Workspace, listen: Listen, client: AsyncWebClient, expect_refusal: ExpectRefusal
) -> None:
    bodies: list[Any] = []
    await listen(workspace, note_bodies(bodies, shortcut="new_job"))
    ana = workspace.person("ana")
    for _ in range(2):
        await ana.shortcut("new_job")
    await eventually(lambda: len(bodies) == 2)
    triggers = [each["trigger_id"] for each in bodies]
    await client.views_open(trigger_id=triggers[0], view=FORM)
    await expect_refusal("exchanged_trigger_id", client.views_open(trigger_id=triggers[0], view=FORM))
    workspace.clock.advance(4)
    await expect_refusal("expired_trigger_id", client.views_open(trigger_id=triggers[1], view=FORM))
    await expect_refusal("invalid_trigger_id", client.views_open(trigger_id="1.2.abc", view=FORM))


async def test_views_are_updated_pushed_and_checked(
    workspace: Workspace, listen: Listen, client: AsyncWebClient, expect_refusal: ExpectRefusal
) -> None:
    bodies: list[Any] = []

    def register(app: Any) -> None:
        note_bodies(bodies, shortcut="new_job")(app)

        @app.view("form")
        async def handle_submit(ack: Any) -> None:
            await ack(response_action="push", view={**FORM, "callback_id": "second"})

        @app.view("second")
        async def second(ack: Any) -> None:
            await ack(response_action="clear")

    await listen(workspace, register)
    ana = workspace.person("ana")
    await ana.shortcut("new_job")
    await eventually(lambda: bodies)
    view = (await client.views_open(trigger_id=bodies[0]["trigger_id"], view=FORM))["view"]
    changed = await client.views_update(view_id=view["id"], hash=view["hash"], view={**FORM, "private_metadata": "new"})
    await expect_refusal("hash_conflict", client.views_update(view_id=view["id"], hash=view["hash"], view=FORM))
    await expect_refusal("not_found", client.views_update(view_id="V0NONE", view=FORM))
    assert ana.views()[0]["private_metadata"] == changed["view"]["private_metadata"] == "new"
    no_submit = {key: value for key, value in FORM.items() if key != "submit"}
    answer = await expect_refusal("invalid_arguments", client.views_update(view_id=view["id"], view=no_submit))
    assert "missing required field: submit" in answer["response_metadata"]["messages"][0]
    crowd = {**FORM, "blocks": [{"type": "divider"}] * 101}
    answer = await expect_refusal("invalid_arguments", client.views_update(view_id=view["id"], view=crowd))
    assert "no more than 100 items" in answer["response_metadata"]["messages"][0]
    empty = {**FORM, "blocks": [{"type": "section"}]}
    answer = await expect_refusal("invalid_arguments", client.views_update(view_id=view["id"], view=empty))
    assert "text or fields [json-pointer:/view/blocks/0]" in answer["response_metadata"]["messages"][0]
    await ana.submit(view["id"], {"text": "x"})
    assert [each["callback_id"] for each in ana.views()] == ["form", "second"]
    await ana.submit(ana.views()[1]["id"], {"text": "x"})
    assert ana.views() == []


async def test_the_home_tab(workspace: Workspace, client: AsyncWebClient, expect_refusal: ExpectRefusal) -> None:
    ana = workspace.person("ana")
    home = {"type": "home", "blocks": [{"type": "header", "text": PLAIN}]}
    await client.views_publish(user_id=ana.id, view=home)
    assert ana.home()["blocks"][0]["type"] == "header"
    await expect_refusal("invalid_arguments", client.views_publish(user_id=ana.id, view=FORM))
    alert = {"type": "home", "blocks": [{"type": "alert", "text": PLAIN}]}
    await expect_refusal("invalid_arguments", client.views_publish(user_id=ana.id, view=alert))


async def test_without_interactivity_in_the_manifest_nothing_can_be_pressed(
    start: Start, manifest_with: Change, client_of: Clients
) -> None:
    workspace = await start(manifest=manifest_with(lambda raw: raw["settings"].pop("interactivity")))
    channel = workspace.channel_id("#general")
    ts = (await client_of(workspace).chat_postMessage(channel=channel, text="?", blocks=BUTTONS))["ts"]
    with pytest.raises(ActionFailed, match="does not enable interactivity"):
        await workspace.person("ana").click("#general", ts, "pick_1")


async def test_an_external_menu_asks_the_app_for_its_options(
    workspace: Workspace, listen: Listen, general: str
) -> None:
    chosen: list[Any] = []
    answers: dict[str, Any] = {
        "l": {"options": [{"text": PLAIN, "value": "lisbon"}]},
        "wrong": {"options": [{"text": {"type": "mrkdwn", "text": "*no*"}, "value": "x"}]},
    }

    def register(app: AsyncApp) -> None:
        @app.options("city")
        async def options(ack: Any, body: Any) -> None:
            await ack(**answers[body["value"]])

        @app.action("city")
        async def pick(ack: Any, action: Any) -> None:
            await ack()
            chosen.append(action["selected_option"]["value"])

    app = await listen(workspace, register)
    menu = {"type": "external_select", "action_id": "city", "placeholder": PLAIN}
    blocks = [{"type": "actions", "elements": [menu]}]
    ts = (await app.client.chat_postMessage(channel=general, text="Where?", blocks=blocks))["ts"]
    ana = workspace.person("ana")
    [option] = await ana.fetch_suggestions("city", "l", channel="#general", ts=ts)
    await ana.click("#general", ts, "city", option)
    await eventually(lambda: chosen == ["lisbon"])
    with pytest.raises(ActionFailed, match="options that Slack refuses"):
        await ana.fetch_suggestions("city", "wrong", channel="#general", ts=ts)
    with pytest.raises(ActionFailed, match="no option 'lima'"):
        await ana.click("#general", ts, "city", "lima")
