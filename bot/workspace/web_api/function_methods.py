"""functions.completeSuccess, completeError."""

from bot.workspace.refusal import Refusal
from bot.workspace.web_api.api_call import Answer, Call


async def complete_success(call: Call) -> Answer:
    """End a workflow step with its outputs."""
    outputs = call.args["outputs"]
    if not isinstance(outputs, dict):
        raise Refusal("invalid_arguments", "[ERROR] must be an object [json-pointer:/outputs]")
    call.world.steps.complete(call.args["function_execution_id"], outputs)
    return {}


async def complete_error(call: Call) -> Answer:
    """End a workflow step with an error that the person gets to read."""
    call.world.steps.fail(call.args["function_execution_id"], call.args["error"])
    return {}
