"""Modals and the App Home: views, their stacks, and the values that a person entered."""

import secrets
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from bot.workspace.changes import Change
from bot.workspace.identity import make_id
from bot.workspace.refusal import Refusal
from bot.workspace.workspace_state import Json, WorkspaceState

TRIGGER_SECONDS = 3.0
MAX_STACKED_MODALS = 3


@dataclass
class Trigger:
    """The right to open a modal for a person: once, until `expires_at` (seconds since the epoch, workspace time)."""

    user_id: str
    expires_at: float
    is_used: bool = False


class Views:
    """Every person's stack of modals and home view."""

    def __init__(self, state: WorkspaceState, first_app: "Views | None" = None) -> None:
        self._state = state
        self._triggers: dict[str, Trigger] = {}
        self.stacks: dict[str, list[Json]] = first_app.stacks if first_app else defaultdict(list)
        """The open modals of each person, of all apps, topmost last."""
        self.steps: dict[str, str] = {}
        """The id of the workflow step run that opened each modal, by the modal's id; empty if none did."""
        self.homes: dict[str, Json] = dict(state.record.iterate_records("home"))

    def issue_trigger(self, user_id: str) -> str:
        """Hand out a trigger_id, with which the app may open one modal for the person."""
        now = self._state.clock.now()
        if len(self._triggers) > 1_000:  # drop old ones now and then
            self._triggers = {key: each for key, each in self._triggers.items() if each.expires_at > now - 60}
        trigger_id = f"{secrets.randbelow(10**10)}.{secrets.randbelow(10**10)}.{secrets.token_hex(16)}"
        self._triggers[trigger_id] = Trigger(user_id, now + TRIGGER_SECONDS)
        return trigger_id

    def open_modal(self, trigger_id: str, view: Json, step: str = "") -> Json:
        """Open a modal in place of all open ones, and return the completed view. Raises Refusal for a bad trigger.

        `step` is the id of the workflow step run that the modal belongs to; empty: none.
        """
        user_id = self._use_trigger(trigger_id, view)
        self.stacks[user_id].clear()
        return self._show_view(user_id, view, "view_open", step)

    def push_modal(self, trigger_id: str, view: Json, step: str = "") -> Json:
        """Put a modal on top of the open one, and return the completed view. Raises Refusal if no modal is open."""
        user_id = self._use_trigger(trigger_id, view)
        stack = self.stacks[user_id]
        if not stack:
            raise Refusal("not_found")
        if len(stack) >= MAX_STACKED_MODALS:
            raise Refusal("push_limit_reached")
        return self._show_view(user_id, view, "view_push", step)

    def update_view(self, view: Json, view_id: str | None, external_id: str | None, known_hash: str | None) -> Json:
        """Replace an open modal or home view, and return the new one. Raises Refusal: `hash_conflict`, `not_found`."""
        for user_id, old in self._list_own_views():
            if old["id"] == view_id or (external_id and old.get("external_id") == external_id):
                if known_hash and known_hash != old["hash"]:
                    raise Refusal("hash_conflict")
                return self.replace_view(user_id, old, view)
        raise Refusal("not_found")

    def replace_view(self, user_id: str, old: Json, view: Json) -> Json:
        """Replace the open view `old`, and return the new one. Values entered in blocks that both have are kept."""
        id_fields = {key: old[key] for key in ("id", "root_view_id", "previous_view_id")}
        old_state = old["state"]
        new = {**self._complete_view(view), **id_fields}
        ids = {block["block_id"] for block in view["blocks"]}
        new["state"] = {"values": {key: value for key, value in old_state["values"].items() if key in ids}}
        if old["type"] == "home":
            self._set_home(user_id, new)
        else:
            stack = self.stacks[user_id]
            stack[stack.index(old)] = new
            self._state.changes.publish(Change({"type": "view_update", "view": new}, user=user_id))
        return new

    def publish_home(self, user_id: str, view: Json, known_hash: str | None) -> Json:
        """Set a person's home view, and return it completed. Raises Refusal: `hash_conflict`."""
        old = self.homes.get(user_id)
        if known_hash and old and known_hash != old["hash"]:
            raise Refusal("hash_conflict")
        new = self._complete_view(view)
        if old:
            new |= {"id": old["id"], "root_view_id": old["id"]}
        self._set_home(user_id, new)
        return new

    def push_without_trigger(self, user_id: str, view: Json) -> Json:
        """Push a modal as the answer to a submission, without a trigger. Raises Refusal: `push_limit_reached`."""
        stack = self.stacks[user_id]
        if len(stack) >= MAX_STACKED_MODALS:
            raise Refusal("push_limit_reached")
        return self._show_view(user_id, view, "view_push", self.steps[stack[-1]["id"]] if stack else "")

    def find_view(self, user_id: str, view_id: str) -> Json | None:
        """Return an open modal or the home view of a person by its id; None if there is none."""
        home = self.homes.get(user_id)
        views = [*self.stacks[user_id], *([home] if home else [])]
        return next((view for view in views if view["id"] == view_id), None)

    def close_modals(self, user_id: str, view_id: str | None) -> list[Json]:
        """Close a modal, or all of them; return the closed ones, topmost first."""
        stack = self.stacks[user_id]
        closed_views = [view for view in reversed(stack) if view_id is None or view["id"] == view_id]
        for view in closed_views:
            stack.remove(view)
            self._state.changes.publish(Change({"type": "view_close", "view_id": view["id"]}, user=user_id))
        return closed_views

    def _use_trigger(self, trigger_id: str, view: Json) -> str:
        trigger = self._triggers.get(trigger_id)
        if trigger is None:
            raise Refusal("invalid_trigger_id")
        if trigger.expires_at < self._state.clock.now():
            raise Refusal("expired_trigger_id")
        if trigger.is_used:
            raise Refusal("exchanged_trigger_id")
        external_id = view.get("external_id")
        if external_id and any(each.get("external_id") == external_id for _, each in self._list_own_views()):
            raise Refusal("duplicate_external_id")
        trigger.is_used = True
        return trigger.user_id

    def _list_own_views(self) -> list[tuple[str, Json]]:
        modals = [(user_id, view) for user_id, stack in self.stacks.items() for view in stack]
        own = self._state.identity.app_id
        return [(user_id, view) for user_id, view in [*modals, *self.homes.items()] if view["app_id"] == own]

    def _show_view(self, user_id: str, view: Json, change_type: str, step: str) -> Json:
        stack = self.stacks[user_id]
        new = self._complete_view(view)
        self.steps[new["id"]] = step
        if stack:
            new |= {"previous_view_id": stack[-1]["id"], "root_view_id": stack[0]["id"]}
        stack.append(new)
        self._state.changes.publish(Change({"type": change_type, "view": new}, user=user_id))
        return new

    def _set_home(self, user_id: str, view: Json) -> None:
        self.homes[user_id] = view
        self._state.record.put("home", user_id, lambda: view)
        self._state.changes.publish(Change({"type": "home", "view": view}, user=user_id))

    def _complete_view(self, view: Json) -> Json:
        who = self._state.identity
        view_id = make_id("V")
        defaults: dict[str, Any] = {
            "private_metadata": "",
            "callback_id": "",
            "external_id": "",
            "title": {"type": "plain_text", "text": self._state.app.name[:24], "emoji": True},
            "close": None,
            "submit": None,
            "clear_on_close": False,
            "notify_on_close": False,
        }
        fixed_fields: Json = {
            "id": view_id,
            "team_id": who.team_id,
            "app_id": who.app_id,
            "app_installed_team_id": who.team_id,
            "bot_id": who.bot_id,
            "state": {"values": {}},
            "hash": f"{self._state.clock.next_ts().partition('.')[0]}.{secrets.token_hex(4)}",
            "previous_view_id": None,
            "root_view_id": view_id,
        }
        return {**defaults, **view, **fixed_fields}
