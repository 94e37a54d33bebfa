"""Handlers of views.open, push, update and publish, and of functions.completeSuccess and completeError."""

from bot.workspace.blocks import check_view
from bot.workspace.refusal import Refusal
from bot.workspace.web_api.api_call import Answer, Call


async def open_view(call: Call) -> Answer:
    """Open a modal."""
    return {"view": call.world.views.open_modal(_read_trigger(call), _check_modal(call), call.step_run_id)}


async def push_view(call: Call) -> Answer:
    """Put a modal on top of the open one."""
    return {"view": call.world.views.push_modal(_read_trigger(call), _check_modal(call), call.step_run_id)}


async def update_view(call: Call) -> Answer:
    """Replace the open view that `view_id` or `external_id` names. An outdated `hash` is refused."""
    args = call.args
    if not args.get("view_id") and not args.get("external_id"):
        raise Refusal("invalid_arguments", "[ERROR] missing required field: view_id or external_id")
    view = check_view(args["view"])
    return {"view": call.world.views.update_view(view, args.get("view_id"), args.get("external_id"), args.get("hash"))}


async def publish_home(call: Call) -> Answer:
    """Set a person's home tab."""
    user = call.state.users.get(str(call.args["user_id"]))
    if user is None or user.is_bot:
        raise Refusal("user_not_found")
    if not call.state.app.has_home_tab:
        raise Refusal("not_enabled")
    view = check_view(call.args["view"])
    if view["type"] != "home":
        raise Refusal("invalid_arguments", "[ERROR] must be home [json-pointer:/view/type]")
    return {"view": call.world.views.publish_home(user.id, view, call.args.get("hash"))}


def _read_trigger(call: Call) -> str:
    trigger = call.args.get("trigger_id") or call.args.get("interactivity_pointer")
    if not trigger:
        raise Refusal("invalid_arguments", "[ERROR] missing required field: trigger_id")
    return str(trigger)


def _check_modal(call: Call) -> dict[str, object]:
    view = check_view(call.args["view"])
    if view["type"] != "modal":
        raise Refusal("invalid_arguments", "[ERROR] must be modal [json-pointer:/view/type]")
    return view


async def complete_step(call: Call) -> Answer:
    """End a workflow step with its outputs."""
    outputs = call.args["outputs"]
    if not isinstance(outputs, dict):
        raise Refusal("invalid_arguments", "[ERROR] must be an object [json-pointer:/outputs]")
    call.world.workflow_steps.complete_run(call.args["function_execution_id"], outputs)
    return {}


async def fail_step(call: Call) -> Answer:
    """End a workflow step with an error, which the person who ran it can read."""
    call.world.workflow_steps.fail_run(call.args["function_execution_id"], call.args["error"])
    return {}
