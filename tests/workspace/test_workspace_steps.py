"""Workflow steps: a person runs a function of the manifest, and a real Bolt app completes or fails it."""

from pathlib import Path
from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.refusal import ActionFailed
from bot.workspace.workspace_server import Workspace
from tests.patience import eventually
from tests.workspace.conftest import Change, Clients, ExpectRefusal, Listen, Start

USER = {"type": "slack#/types/user_id", "title": "User", "is_required": True}


def offer_steps(raw: dict[str, Any]) -> None:
    """Give the app two functions, the second in the older form of parameters."""
    raw["settings"]["org_deploy_enabled"] = True
    raw["functions"] = {
        "approve": {
            "title": "Approve",
            "description": "Asks somebody",
            "input_parameters": {"user": USER, "days": {"type": "integer", "is_required": True}},
            "output_parameters": {"user": USER, "note": {"type": "string"}},
        },
        "ask": {
            "title": "Ask",
            "description": "Opens a form",
            "input_parameters": {
                "properties": {"interactivity": {"type": "slack#/types/interactivity"}, "words": {"type": "string"}},
                "required": ["interactivity"],
            },
            "output_parameters": {"properties": {"answer": {"type": "string"}}, "required": ["answer"]},
        },
    }


@pytest.fixture
async def workspace(start: Start, manifest_with: Change) -> Workspace:
    return await start(manifest=manifest_with(offer_steps), rate_limits=False)


def button(text: str, action: str) -> dict[str, Any]:
    element = {"type": "button", "action_id": action, "text": {"type": "plain_text", "text": text}}
    return {"type": "actions", "block_id": "b", "elements": [element]}


async def test_a_step_posts_waits_for_a_click_and_gives_its_outputs(workspace: Workspace, listen: Listen) -> None:
    events: list[Any] = []

    def register(app: AsyncApp) -> None:
        @app.function("approve")
        async def approve(inputs: Any, say: Any, event: Any) -> None:
            events.append(event)
            await say(channel=inputs["user"], text=f"{inputs['days']} days?", blocks=[button("Yes", "yes")])

        @app.action("yes")
        async def yes(ack: Any, body: Any, complete: Any, context: Any) -> None:
            await ack()
            events.append(body)
            if "function_data" in body:
                days = body["function_data"]["inputs"]["days"]
                await complete({"user": context.actor_user_id, "note": f"{days} days"})

    await listen(workspace, register)
    ana, ben = workspace.person("ana"), workspace.person("ben")
    run = await ana.run_step("approve", {"user": ben.id, "days": 3})
    asked = (await workspace.until(lambda: workspace.messages(ben.dm)))[0]
    assert asked["text"] == "3 days?"
    assert workspace.step(run).status == "running"
    await ben.click(ben.dm, asked["ts"], "yes")
    await workspace.until(lambda: workspace.step(run).status == "completed")
    assert workspace.step(run).outputs == {"user": ben.id, "note": "3 days"}
    executed, clicked = events
    assert executed["type"] == "function_executed"
    assert (executed["inputs"], executed["function_execution_id"]) == ({"user": ben.id, "days": 3}, run)
    assert executed["function"]["callback_id"] == "approve"
    assert {each["name"] for each in executed["function"]["input_parameters"]} == {"user", "days"}
    assert executed["bot_access_token"].startswith("xwfp-")
    assert clicked["function_data"]["execution_id"] == run
    assert clicked["interactivity"]["interactor"]["id"] == ben.id
    assert clicked["bot_access_token"] == executed["bot_access_token"]
    await ben.click(ben.dm, asked["ts"], "yes")
    await eventually(lambda: len(events) == 3)
    assert "function_data" not in events[2], "of a step that ended a click says nothing"


async def test_a_step_opens_a_form_whose_answer_fails_it(workspace: Workspace, listen: Listen) -> None:
    def register(app: AsyncApp) -> None:
        @app.function("ask")
        async def ask(inputs: Any, client: Any) -> None:
            element = {"type": "plain_text_input", "action_id": "a"}
            label = {"type": "plain_text", "text": "Why?"}
            block = {"type": "input", "block_id": "why", "label": label, "element": element}
            view = {"type": "modal", "callback_id": "form", "title": label, "submit": label, "blocks": [block]}
            await client.views_open(interactivity_pointer=inputs["interactivity"]["interactivity_pointer"], view=view)

        @app.view("form")
        async def form(ack: Any, view: Any, fail: Any) -> None:
            await ack()
            await fail(view["state"]["values"]["why"]["a"]["value"])

    await listen(workspace, register)
    ana = workspace.person("ana")
    run = await ana.run_step("ask")
    view = (await workspace.until(ana.views))[0]
    await ana.submit(view["id"], {"a": "No time"})
    await workspace.until(lambda: workspace.step(run).status == "failed")
    assert workspace.step(run).error == "No time"


async def test_inputs_that_do_not_fit_are_told_to_the_person(workspace: Workspace) -> None:
    ana = workspace.person("ana")
    for inputs, words in (
        ({"user": ana.id}, "days is required"),
        ({"user": "U0", "days": 1}, "user is not of the type slack#/types/user_id"),
        ({"user": [ana.id], "days": 1}, "user is not of the type slack#/types/user_id"),
        ({"user": ana.id, "days": True}, "days is not of the type integer"),
        ({"user": ana.id, "days": 1, "x": 1}, "x is no parameter"),
    ):
        with pytest.raises(ActionFailed, match=words):
            await ana.run_step("approve", inputs)
    with pytest.raises(ActionFailed, match="no workflow step 'nothing'"):
        await ana.run_step("nothing")
    with pytest.raises(ActionFailed, match="not installed in your workspace"):
        await workspace.person("sol").run_step("ask")


async def test_a_step_ends_once_with_the_outputs_of_the_manifest(
    workspace: Workspace, client: AsyncWebClient, expect_refusal: ExpectRefusal
) -> None:
    ana = workspace.person("ana")
    run = await ana.run_step("approve", {"user": ana.id, "days": 1})
    complete = client.functions_completeSuccess
    wrong = await expect_refusal(
        "parameter_validation_failed", complete(function_execution_id=run, outputs={"note": 1})
    )
    assert wrong["response_metadata"]["messages"] == ["note is not of the type string", "user is required"]
    await expect_refusal("function_execution_not_found", complete(function_execution_id="Fx0", outputs={}))
    token = workspace.step(run).token
    posted = await client.chat_postMessage(channel=workspace.channel_id("#general"), text="hi", token=token)
    assert posted["message"]["user"] == workspace.bot_user_id
    await client.functions_completeError(function_execution_id=run, error="Nobody is there", token=token)
    assert (workspace.step(run).status, workspace.step(run).error) == ("failed", "Nobody is there")
    await expect_refusal(
        "execution_not_in_running_state", complete(function_execution_id=run, outputs={"user": ana.id})
    )
    await expect_refusal("token_revoked", client.auth_test(token=token))


async def test_an_app_that_is_not_org_ready_offers_no_steps(start: Start, manifest_with: Change) -> None:
    def keep_to_one_workspace(raw: dict[str, Any]) -> None:
        offer_steps(raw)
        raw["settings"]["org_deploy_enabled"] = False

    workspace = await start(manifest=manifest_with(keep_to_one_workspace))
    with pytest.raises(ActionFailed, match="workflow steps need"):
        await workspace.person("ana").run_step("ask")


async def test_a_step_outlives_a_restart(
    start: Start, manifest_with: Change, tmp_path: Path, client_of: Clients
) -> None:
    manifest = manifest_with(offer_steps)
    first = await start(manifest=manifest, data=tmp_path / "data")
    run = await first.person("ana").run_step("ask")
    await first.stop()
    again = await start(manifest=manifest, data=tmp_path / "data")
    assert again.step(run).status == "running"
    token = again.step(run).token
    await client_of(again).functions_completeSuccess(function_execution_id=run, outputs={"answer": "42"}, token=token)
    assert again.step(run).outputs == {"answer": "42"}
