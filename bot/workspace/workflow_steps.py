"""Workflow steps: a person runs a function of the app's manifest, and the app completes or fails it.

Slack's Workflow Builder puts steps in a row; here each is run by itself. The app gets `function_executed` with a token
that is valid until the step ends. Messages and modals that the app makes with that token belong to the step: a click
there carries the step (`function_data`), so that the app can still end it.
"""

import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Literal

from bot.workspace.changes import Change
from bot.workspace.event_delivery import EventDelivery
from bot.workspace.identity import make_id
from bot.workspace.manifest import AppFunction, FunctionParameter
from bot.workspace.oauth import IssuedToken, OAuth
from bot.workspace.refusal import ActionFailed, Refusal
from bot.workspace.workspace_state import Json, WorkspaceState

FUNCTION_EXECUTED = "function_executed"
SLACK_TYPE_PREFIX = "slack#/types/"
SLACK_FILLED_TYPES = frozenset({f"{SLACK_TYPE_PREFIX}interactivity", f"{SLACK_TYPE_PREFIX}user_context"})
"""Types of inputs that Slack fills in itself, for the person who runs the step."""
PARAMETER_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    f"{SLACK_TYPE_PREFIX}timestamp": (int,),
    f"{SLACK_TYPE_PREFIX}blocks": (list,),
    f"{SLACK_TYPE_PREFIX}rich_text": (dict, list),
    f"{SLACK_TYPE_PREFIX}interactivity": (dict,),
    f"{SLACK_TYPE_PREFIX}user_context": (dict,),
    f"{SLACK_TYPE_PREFIX}message_context": (dict,),
}
"""The Python types of values that each parameter type accepts; any other type accepts a string."""


@dataclass
class StepRun:
    """One run of a function: who started it with which inputs, and how it ended."""

    id: str
    callback_id: str
    user_id: str
    inputs: Json
    token: str
    status: Literal["running", "completed", "failed"] = "running"
    outputs: Json = field(default_factory=dict)
    error: str = ""


class WorkflowSteps:
    """Runs the functions of an app as steps, until the app completes or fails them."""

    def __init__(self, state: WorkspaceState, delivery: EventDelivery, oauth: OAuth) -> None:
        self._state, self._delivery, self._oauth = state, delivery, oauth
        self._creation_time = int(state.clock.now())
        self._function_ids = {each.callback_id: make_id("Fn") for each in state.app.functions}
        self._runs = {run_id: StepRun(**body) for run_id, body in state.record.iterate_records("step")}

    def start_run(
        self, user_id: str, function: AppFunction, inputs: Json, issue_trigger: Callable[[str], str]
    ) -> StepRun:
        """Run a function for a person. `issue_trigger` returns a trigger_id, for inputs of the type interactivity.

        Raises:
            ActionFailed: An input is missing or of the wrong type, or the app cannot get the event.
        """
        lacking = self._delivery.explain_unsent(FUNCTION_EXECUTED)
        if lacking:
            raise ActionFailed(f"{function.title} cannot run: {lacking}")
        for each in function.inputs:
            if each.type in SLACK_FILLED_TYPES and each.name not in inputs:
                person = {"id": user_id, "secret": secrets.token_hex(16)}
                interactivity = {"interactivity_pointer": issue_trigger(user_id), "interactor": person}
                inputs = {**inputs, each.name: person if each.type.endswith("user_context") else interactivity}
        faults = self._list_value_faults(function.inputs, inputs)
        if faults:
            raise ActionFailed(f"{function.title} cannot run: {'; '.join(faults)}.")
        step = StepRun(make_id("Fx"), function.callback_id, user_id, inputs, f"xwfp-local-{secrets.token_hex(16)}")
        self._runs[step.id] = step
        self._oauth.store_token(step.token, IssuedToken(self._state.identity.team_id, step=step.id))
        self._save_run(step)
        event: Json = {"type": FUNCTION_EXECUTED, "function": self._describe_function(function), "inputs": inputs}
        event |= {"function_execution_id": step.id, "workflow_execution_id": make_id("Wx")}
        stamp = self._state.clock.next_ts()
        self._delivery.emit(FUNCTION_EXECUTED, {**event, "event_ts": stamp, "bot_access_token": step.token})
        return step

    def find_run(self, run_id: str) -> StepRun:
        """Return a run by its id. Raises KeyError."""
        return self._runs[run_id]

    def complete_run(self, run_id: str, outputs: Json) -> None:
        """End a run with its outputs.

        Raises:
            Refusal: `function_execution_not_found`, `execution_not_in_running_state`, `parameter_validation_failed`.
        """
        step, function = self._find_running_step(run_id)
        faults = self._list_value_faults(function.outputs, outputs)
        if faults:
            raise Refusal("parameter_validation_failed", *faults)
        step.outputs = outputs
        self._end_step(step, function, "completed")

    def fail_run(self, run_id: str, error: str) -> None:
        """End a run with an error, which the person gets to read. Raises Refusal as `complete_run` does."""
        step, function = self._find_running_step(run_id)
        step.error = error
        self._end_step(step, function, "failed")

    def make_click_fields(self, run_id: str, user_id: str, trigger_id: str) -> Json:
        """Return the fields that a click carries for a running step; empty if the run ended or does not exist."""
        step = self._runs.get(run_id)
        function = self._state.app.find_function(step.callback_id) if step else None
        if step is None or function is None or step.status != "running":
            return {}
        data = {"execution_id": step.id, "function": self._describe_function(function), "inputs": step.inputs}
        person = {"id": user_id, "secret": secrets.token_hex(16)}
        interactivity = {"interactor": person, "interactivity_pointer": trigger_id}
        return {"function_data": data, "bot_access_token": step.token, "interactivity": interactivity}

    # -- helpers ---------------------------------------------------------------------------------

    def _find_running_step(self, run_id: str) -> tuple[StepRun, AppFunction]:
        step = self._runs.get(run_id)
        function = self._state.app.find_function(step.callback_id) if step else None
        if step is None or function is None:
            raise Refusal("function_execution_not_found")
        if step.status != "running":
            raise Refusal("execution_not_in_running_state")
        return step, function

    def _end_step(self, step: StepRun, function: AppFunction, status: Literal["completed", "failed"]) -> None:
        step.status = status
        self._oauth.revoke_token(step.token, "token_revoked")
        self._save_run(step)
        body = {"type": "step", "title": function.title, "outputs": step.outputs, "error": step.error}
        self._state.changes.publish(Change(body, user=step.user_id))

    def _save_run(self, step: StepRun) -> None:
        self._state.record.put("step", step.id, lambda: asdict(step))

    def _list_value_faults(self, parameters: tuple[FunctionParameter, ...], values: Json) -> list[str]:
        """Return what is wrong with the values of parameters, each as a sentence without a full stop."""
        parameters_by_name = {each.name: each for each in parameters}
        faults = [f"{name} is no parameter" for name in values if name not in parameters_by_name]
        for name, each in parameters_by_name.items():
            value = values.get(name)
            if value is None:
                faults += [f"{name} is required"] if each.is_required else []
            elif not self._fits_kind(each.type, value):
                faults.append(f"{name} is not of the type {each.type}")
        return faults

    def _fits_kind(self, kind: str, value: object) -> bool:
        if kind == f"{SLACK_TYPE_PREFIX}user_id":
            return isinstance(value, str) and value in self._state.users
        if kind == f"{SLACK_TYPE_PREFIX}channel_id":
            return isinstance(value, str) and value in self._state.channels
        if isinstance(value, bool) and kind != "boolean":
            return False
        return isinstance(value, PARAMETER_TYPES.get(kind, (str,)))

    def _describe_function(self, function: AppFunction) -> Json:
        about = {"callback_id": function.callback_id, "title": function.title, "description": function.description}
        dates = {"date_created": self._creation_time, "date_updated": self._creation_time, "date_deleted": 0}
        return {
            "id": self._function_ids[function.callback_id],
            **about,
            "type": "app",
            "input_parameters": [asdict(each) for each in function.inputs],
            "output_parameters": [asdict(each) for each in function.outputs],
            "app_id": self._state.identity.app_id,
            **dates,
        }
