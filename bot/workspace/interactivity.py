"""Sends presses, commands, shortcuts and submissions, each of which the app must acknowledge in three seconds."""

from dataclasses import dataclass
from typing import Any

from bot.workspace.blocks import check_view
from bot.workspace.changes import Change
from bot.workspace.channel_messages import ChannelMessages
from bot.workspace.elements import OPTION_GROUPS, SUGGESTED_OPTIONS
from bot.workspace.inputs import (
    build_action_entry,
    is_empty_value,
    is_input,
    iterate_inputs,
    make_initial_value,
    make_input_value,
)
from bot.workspace.manifest import AppFunction, ManifestCommand, ManifestShortcut
from bot.workspace.refusal import ActionFailed, Refusal
from bot.workspace.response_urls import ResponseUrls
from bot.workspace.transport import Ack, PayloadKind, Transport
from bot.workspace.typed_text import encode_typed_text
from bot.workspace.view_stacks import Views
from bot.workspace.workflow_steps import StepRun, WorkflowSteps
from bot.workspace.workspace_state import Channel, Json, Message, WorkspaceState

FAILURE_CODES = {
    "timeout": "operation_timeout",
    "not_connected": "dispatch_failed",
    "connection_failed": "dispatch_failed",
}


@dataclass(frozen=True)
class PressPlace:
    """The place of a press: a `message` (maybe ephemeral) with the values of its `inputs`, or a `view`."""

    channel: Channel | None = None
    message: Message | None = None
    view: Json | None = None
    inputs: Json | None = None


class Interactivity:
    """Sends interactive payloads and does what the app's acknowledgement asks for."""

    def __init__(
        self,
        state: WorkspaceState,
        transport: Transport,
        messages: ChannelMessages,
        views: Views,
        responses: ResponseUrls,
        steps: WorkflowSteps,
    ) -> None:
        self._state, self._transport = state, transport
        self._messages, self._views, self._responses, self._steps = messages, views, responses, steps
        self.errors: dict[str, list[str]] = {}

    def require_member(self, user_id: str, feature: str) -> None:
        """Raise ActionFailed for a person of another workspace, who cannot use commands and shortcuts of the app."""
        if self._state.users[user_id].team != self._state.identity.team_id:
            raise self._record_failure(user_id, f"{feature} belongs to an app that is not installed in your workspace.")

    async def run_command(self, user_id: str, channel: Channel, command: ManifestCommand, text: str) -> None:
        """Run a slash command.

        Raises:
            ActionFailed: The app did not acknowledge it, or the person is of another workspace.
        """
        self.require_member(user_id, command.command)
        who, user = self._state.identity, self._state.users[user_id]
        payload = {
            "token": who.verification_token,
            "team_id": who.team_id,
            "team_domain": who.team_domain,
            "channel_id": channel.id,
            "channel_name": channel.name or "directmessage",
            "user_id": user_id,
            "user_name": user.name,
            "command": command.command,
            "text": encode_typed_text(self._state, text) if command.should_escape else text,
            "api_app_id": who.app_id,
            "is_enterprise_install": str(self._state.install_scope == "organisation").lower(),
            **({"enterprise_id": who.enterprise_id} if who.enterprise_id else {}),
            "response_url": self._responses.make_url(user_id, channel),
            "trigger_id": self._views.issue_trigger(user_id),
        }
        ack = await self._send_payload(user_id, "slash_commands", payload, f"{command.command} failed")
        try:
            self._responses.post_ack_message(ack.body, user_id, channel)
        except Refusal as refusal:
            why = "; ".join((refusal.code, *refusal.messages))
            text = f"{command.command} failed with the error “invalid_command_response”: {why}"
            raise self._record_failure(user_id, text) from refusal

    async def press_element(
        self, user_id: str, place: PressPlace, block_id: str, element: Json, value: Any = None
    ) -> None:
        """Press a button or choose from a menu.

        Raises:
            ActionFailed: The app did not acknowledge it, or the element has no such option.
        """
        try:
            action = build_action_entry(element, block_id, value, self._state.clock.next_ts())
        except ValueError as error:
            raise ActionFailed(str(error)) from error
        payload = {**self._make_base_payload("block_actions", user_id), "actions": [action]}
        input_values = {block_id: {action["action_id"]: make_input_value(element, value)}} if is_input(element) else {}
        if place.view is not None:
            view_values = place.view["state"]["values"]
            for block, inputs in input_values.items():
                view_values.setdefault(block, {}).update(inputs)
        input_values = {**(place.inputs or {}), **input_values}
        payload |= (
            self._make_message_fields(user_id, place, input_values) if place.message else _make_view_fields(place)
        )
        payload |= self._make_step_fields(user_id, place, payload["trigger_id"])
        await self._send_payload(user_id, "interactive", payload, "That did not work")

    async def fetch_options(
        self, user_id: str, place: PressPlace, block_id: str, element: Json, query: str
    ) -> list[Json]:
        """Ask the app for the options of an external menu.

        Returns:
            Options, or groups of options, as the app answered them.

        Raises:
            ActionFailed: The app did not answer, or its answer is one that Slack refuses.
        """
        payload = {**self._make_base_payload("block_suggestion", user_id), "block_id": block_id, "value": query}
        payload["action_id"] = element["action_id"]
        payload |= self._make_message_fields(user_id, place, {}) if place.message else _make_view_fields(place)
        ack = await self._send_payload(user_id, "interactive", payload, "The options could not be loaded")
        answer = ack.body or {}
        complaints: list[str] = []
        check, key = (OPTION_GROUPS, "option_groups") if "option_groups" in answer else (SUGGESTED_OPTIONS, "options")
        check(answer.get(key), f"/{key}", complaints)
        if complaints:
            raise self._record_failure(user_id, f"The app answered options that Slack refuses: {complaints}")
        return list(answer[key])

    async def use_shortcut(
        self, user_id: str, shortcut: ManifestShortcut, channel: Channel | None, message: Message | None
    ) -> None:
        """Use a shortcut, on a message or globally.

        Raises:
            ActionFailed: The app did not acknowledge it, or the person is of another workspace.
        """
        self.require_member(user_id, shortcut.name)
        kind = "message_action" if shortcut.kind == "message" else "shortcut"
        payload = {**self._make_base_payload(kind, user_id), "callback_id": shortcut.callback_id}
        payload["action_ts"] = self._state.clock.next_ts()
        if shortcut.kind == "message" and channel and message:
            payload |= {
                "message_ts": message.ts,
                "message": message.data,
                "channel": _describe_channel(channel),
                "response_url": self._responses.make_url(user_id, channel, message),
            }
        await self._send_payload(user_id, "interactive", payload, f"{shortcut.name} failed")

    def run_step(self, user_id: str, function: AppFunction, inputs: Json) -> StepRun:
        """Run a function of the app as a step of a workflow.

        Raises:
            ActionFailed: The inputs do not fit, the app cannot get the event, or the person is of another workspace.
        """
        self.require_member(user_id, function.title)
        return self._steps.start_run(user_id, function, inputs, self._views.issue_trigger)

    async def submit_modal(self, user_id: str, view: Json, values: Json) -> bool:
        """Submit a modal.

        Args:
            user_id: The person who submits it.
            view: The modal on top of that person's stack.
            values: By block_id and action_id, or by action_id alone.

        Returns:
            True if the modal was accepted, False if a value is missing or the
            app found errors, which the person sees at the inputs.

        Raises:
            ActionFailed: The app did not acknowledge it, or its answer is one that Slack refuses.
        """
        errors = self._fill_in_values(view, values)
        if errors:
            self._show_errors(user_id, view, errors)
            return False
        payload = {**self._make_base_payload("view_submission", user_id), "view": view, "response_urls": []}
        payload |= self._make_step_fields(user_id, PressPlace(view=view), payload["trigger_id"])
        ack = await self._send_payload(user_id, "interactive", payload, "We had some trouble connecting. Try again?")
        return self._apply_submission(user_id, view, ack.body or {})

    async def close_modal(self, user_id: str, view: Json) -> None:
        """Close a modal, and tell the app if it asked for that."""
        self._views.close_modals(user_id, view["id"])
        if view["notify_on_close"]:
            payload = {**self._make_base_payload("view_closed", user_id), "view": view, "is_cleared": False}
            payload |= self._make_step_fields(user_id, PressPlace(view=view), payload["trigger_id"])
            await self._send_payload(user_id, "interactive", payload, "That did not work")

    # -- helpers ---------------------------------------------------------------------------------

    async def _send_payload(self, user_id: str, kind: PayloadKind, payload: Json, failure_text: str) -> Ack:
        if kind == "interactive" and not self._state.app.has_interactivity:
            raise self._record_failure(user_id, f"{failure_text}: the app's manifest does not enable interactivity")
        ack = await self._transport.send(kind, payload)
        if not ack.ok:
            raise self._record_failure(
                user_id, f"{failure_text} with the error “{FAILURE_CODES.get(ack.failure, 'dispatch_failed')}”"
            )
        return ack

    def _record_failure(self, user_id: str, text: str) -> ActionFailed:
        self.errors.setdefault(user_id, []).append(text)
        self._state.changes.wake_waiters()
        return ActionFailed(text)

    def _make_base_payload(self, kind: str, user_id: str) -> Json:
        who, user = self._state.identity, self._state.users[user_id]
        is_own_workspace = user.team == who.team_id
        return {
            "type": kind,
            "user": {"id": user_id, "username": user.name, "name": user.name, "team_id": user.team},
            "api_app_id": who.app_id,
            "token": who.verification_token,
            "trigger_id": self._views.issue_trigger(user_id),
            # The person's own workspace, which may be another one: an app that stores data by it mixes up the two.
            "team": {"id": user.team, "domain": who.team_domain if is_own_workspace else who.other_team_name.lower()},
            "enterprise": {"id": who.enterprise_id, "name": who.enterprise_name} if who.enterprise_id else None,
            "is_enterprise_install": self._state.install_scope == "organisation",
        }

    def _make_message_fields(self, user_id: str, place: PressPlace, input_values: Json) -> Json:
        channel, message = place.channel, place.message
        if channel is None or message is None:
            return {}
        ephemeral = bool(message.data.get("is_ephemeral"))
        container = {"type": "message", "message_ts": message.ts, "channel_id": channel.id, "is_ephemeral": ephemeral}
        if message.data.get("thread_ts"):
            container["thread_ts"] = message.data["thread_ts"]
        payload = {
            "container": container,
            "channel": _describe_channel(channel),
            "state": {"values": input_values},
            "response_url": self._responses.make_url(user_id, channel, message),
        }
        return payload if ephemeral else {**payload, "message": message.data}

    def _make_step_fields(self, user_id: str, place: PressPlace, trigger_id: str) -> Json:
        """Return the fields that a press on a workflow step's message or modal adds; empty if no step made it."""
        step = place.message.step if place.message else self._views.steps.get((place.view or {}).get("id", ""), "")
        return self._steps.make_click_fields(step, user_id, trigger_id)

    def _fill_in_values(self, view: Json, values: Json) -> dict[str, str]:
        errors: dict[str, str] = {}
        state = view["state"]["values"]
        for block, element in iterate_inputs(view):
            block_id, action_id = block["block_id"], element["action_id"]
            block_values = values.get(block_id)
            is_in_block = isinstance(block_values, dict) and action_id in block_values
            if is_in_block or action_id in values:
                raw = block_values[action_id] if is_in_block and isinstance(block_values, dict) else values[action_id]
                try:
                    value = make_input_value(element, raw)
                except ValueError as error:
                    raise ActionFailed(str(error)) from error
            else:
                value = state.get(block_id, {}).get(action_id) or make_initial_value(element)
            if is_empty_value(value) and not block.get("optional"):
                errors[block_id] = "Please complete this required field."
            state.setdefault(block_id, {})[action_id] = value
        return errors

    def _apply_submission(self, user_id: str, view: Json, answer: Json) -> bool:
        action = answer.get("response_action")
        if action is None:
            self._views.close_modals(user_id, view["id"])
            return True
        if action == "clear":
            self._views.close_modals(user_id, None)
            return True
        if action == "errors":
            errors = answer.get("errors") or {}
            block_ids = {block["block_id"] for block, _ in iterate_inputs(view)}
            if not errors or not set(errors) <= block_ids:
                raise self._record_failure(
                    user_id, f"The app answered errors for blocks the view does not have: {sorted(errors)}"
                )
            self._show_errors(user_id, view, errors)
            return False
        try:
            new_view = check_view(answer.get("view"))
            if action == "update":
                self._views.replace_view(user_id, view, new_view)
            elif action == "push":
                self._views.push_without_trigger(user_id, new_view)
            else:
                raise self._record_failure(user_id, f"The app answered an unknown response_action: {action}")
        except Refusal as refusal:
            raise self._record_failure(
                user_id, f"The app answered a view that Slack refuses: {refusal.messages}"
            ) from refusal
        return True

    def _show_errors(self, user_id: str, view: Json, errors: dict[str, str]) -> None:
        body = {"type": "view_errors", "view_id": view["id"], "errors": errors}
        self._state.changes.publish(Change(body, user=user_id))


def _describe_channel(channel: Channel) -> Json:
    return {"id": channel.id, "name": channel.name or "directmessage"}


def _make_view_fields(place: PressPlace) -> Json:
    view = place.view or {}
    return {"container": {"type": "view", "view_id": view["id"]}, "view": view}
