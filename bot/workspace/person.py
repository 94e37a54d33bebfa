"""The people of the workspace, and everything they can do in it."""

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any

from bot.workspace.app_parts import AppParts
from bot.workspace.changes import Change
from bot.workspace.channel_messages import iterate_elements
from bot.workspace.identity import User
from bot.workspace.interactivity import PressPlace
from bot.workspace.refusal import ActionFailed
from bot.workspace.shared_content import TableRows, build_forward_attachment, build_table_attachment
from bot.workspace.typed_text import encode_typed_text
from bot.workspace.workspace_state import Channel, Json, Message

Attachment = Path | tuple[str, bytes]
PROCESSING_STATUS = "processing"
CONTEXT_CHANGED_EVENT = "app_context_changed"
ENTITY_TYPE_PREFIX = "slack#/types/"
"""The prefix of Slack's types for what a person has open, such as `slack#/types/channel_id`."""


class Person:
    """A person for whom a test or the page acts. The message, view or command that is used decides which app is told.

    Channels are named by id, by name (`#general`), or, for the direct message
    with the bot, by `@` and the bot's name. Whatever Slack would not let a
    person do, or would show an error for, raises `ActionFailed` with that error.
    """

    def __init__(self, world: AppParts, user: User) -> None:
        self._world, self._state = world, world.state
        self.user = user
        mine = [place for place in self._state.channels.values() if user.id in place.members and place.kind != "im"]
        self.viewed_channel = next((place.id for place in mine if place.name == "general"), mine[0].id)
        """The id of the channel that the person looked at last; direct messages do not count."""
        self.entities: list[Json] = []
        """The channel, thread or canvas that the person has open, as Slack reports them to an agent."""

    @property
    def id(self) -> str:
        """The person's user id."""
        return self.user.id

    @property
    def dm(self) -> str:
        """The id of the direct message with the bot."""
        return self.find_channel(self.id).id

    def find_channel(self, reference: str) -> Channel:
        """Return a channel that this person is in.

        Raises:
            ActionFailed: The person is in no such channel, or their account was deactivated.
        """
        states = [world.state for world in self._world.apps]
        lower_name = reference.removeprefix("@").lower()
        state = next((each for each in states if each.bot.name.lower() == lower_name), None)
        reference = self.id if state else reference
        if self._state.users[self.id].is_deleted:
            raise ActionFailed(f"The account of {self.user.name} was deactivated.")
        place = (state or self._state).find_channel(reference)
        if place is None or self.id not in place.members:
            raise ActionFailed(f"{self.user.name} is in no channel {reference!r}.")
        return place

    def record_viewed_channel(self, place: Channel) -> None:
        """Remember the channel as the one this person looked at last; a direct message does not count."""
        if place.kind != "im":
            self.viewed_channel = place.id

    async def look_at(self, channel: str = "", thread_ts: str | None = None, *, canvas: str = "") -> None:
        """Open a channel, a thread in it, or a canvas by its file id; without arguments, close what was open.

        An agent that subscribed to `app_context_changed` gets that event. The person's later direct messages and
        `app_home_opened` tell it the same.

        Raises:
            ActionFailed: Not a member, no such thread or canvas.
        """
        entities: list[Json] = []
        if canvas:
            if canvas not in self._state.files:
                raise ActionFailed("There is no such canvas.")
            entities.append({"type": f"{ENTITY_TYPE_PREFIX}canvas_id", "value": canvas})
        if channel:
            place = self.find_channel(channel)
            self.record_viewed_channel(place)
            if thread_ts:
                value = {"channel_id": place.id, "message_ts": self._find_message(place, thread_ts).ts}
                entities.append({"type": f"{ENTITY_TYPE_PREFIX}message_context", "value": value})
            entities.append({"type": f"{ENTITY_TYPE_PREFIX}channel_id", "value": place.id})
        entities = [{**one, "team_id": self._state.identity.team_id} for one in entities]
        if entities == self.entities:
            return
        self.entities = entities
        for world in self._world.apps:
            if self._wants_context(world) and self.user.standing != "stranger":
                event: Json = {"type": CONTEXT_CHANGED_EVENT, "context": self._make_app_context()}
                world.delivery.emit(CONTEXT_CHANGED_EVENT, event, actor=self.id)

    def find_channel_app(self, place: Channel) -> AppParts:
        """Return the app of a direct message; for any other channel, the first app whose bot is in it."""
        return next((world for world in self._world.apps if world.state.has_bot_in(place)), self._world)

    def with_app(self, world: AppParts) -> "Person":
        """Return a copy of this person that uses the home, direct message and memberships of the given app."""
        other = copy(self)
        other._world, other._state = world, world.state  # noqa: SLF001  # one of its own class
        return other

    # -- writing ---------------------------------------------------------------------------------

    async def say(
        self,
        channel: str,
        text: str,
        thread_ts: str | None = None,
        files: list[Attachment] | None = None,
        *,
        tables: Sequence[TableRows] = (),
        canvases: Sequence[tuple[str, str]] = (),
    ) -> str:
        """Post a message; `@name` becomes a mention.

        Args:
            channel: The channel to post in.
            text: The text as it is typed.
            thread_ts: The thread to reply in.
            files: Files to attach: paths, or pairs of (name, bytes).
            tables: Tables to paste into the message: the cells of each row, the first row being the heading.
            canvases: Canvases to attach: pairs of (title, text in Markdown).

        Returns:
            The ts of the message.

        Raises:
            ActionFailed: Not a member, an archived channel, no such thread, nothing to say.
        """
        attached_files = []
        for each in files or ():
            name, content = (each.name, each.read_bytes()) if isinstance(each, Path) else each
            attached_files.append(await self._world.files.add_file(name, content, self.id))
        for title, markdown in canvases:
            attached_files.append(await self.write_canvas(title, markdown))
        return self.post(channel, text, thread_ts, attached_files, tables)

    async def write_canvas(self, title: str, markdown: str) -> Json:
        """Create a canvas, and return its file, which can be attached to a message."""
        return await self._world.files.add_canvas(title, markdown, self.id)

    async def forward(
        self, channel: str, ts: str, target_channel: str, text: str = "", thread_ts: str | None = None
    ) -> str:
        """Forward a message to another channel, or into a thread there, with or without a text.

        Returns:
            The ts of the new message.

        Raises:
            ActionFailed: Not a member of either, an archived channel, no such message or thread.
        """
        source = self.find_channel(channel)
        share = build_forward_attachment(self._state, self._world.base_url, source, self._find_message(source, ts), 1)
        return self._post_message(self._find_writable_channel(target_channel), text, thread_ts, [], [share])

    def post(
        self, channel: str, text: str, thread_ts: str | None, files: list[Json], tables: Sequence[TableRows] = ()
    ) -> str:
        """Post a message with files that are uploaded already and pasted tables, and return its ts.

        At the top of the direct message with an `assistant_view` app it goes into an assistant thread, as on Slack.

        Raises:
            ActionFailed: As in `say`.
        """
        return self._post_message(
            self._find_writable_channel(channel), text, thread_ts, files, self._build_table_attachments(tables)
        )

    def _build_table_attachments(self, tables: Sequence[TableRows]) -> list[Json]:
        try:
            return [build_table_attachment(self._state, rows, number) for number, rows in enumerate(tables, 1)]
        except ValueError as error:
            raise ActionFailed(str(error)) from None

    def _post_message(
        self, place: Channel, text: str, thread_ts: str | None, files: list[Json], attachments: Sequence[Json]
    ) -> str:
        self.record_viewed_channel(place)
        if not text.strip() and not files and not attachments:
            raise ActionFailed("There is nothing to send.")
        if thread_ts:
            root = self._find_message(place, thread_ts)
            thread_ts = str(root.data.get("thread_ts", root.ts))
        elif place.kind == "im" and self.find_channel_app(place).state.app.is_assistant:
            thread_ts = (
                self.find_channel_app(place).messages.ensure_assistant_thread(place, self.id, self.viewed_channel).ts
            )
        for file in files:
            self._world.files.record_share(file, place.id)
        words = encode_typed_text(self._state, text)
        extra = self._make_context_field("app_context", self.find_channel_app(place)) if place.kind == "im" else {}
        message = self._world.messages.post_as_person(place, self.id, words, thread_ts, files, attachments, extra)
        return message.ts

    async def edit(self, channel: str, ts: str, text: str, tables: Sequence[TableRows] | None = None) -> None:
        """Change one's own message.

        Args:
            channel: The channel's name or id.
            ts: The ts of the message.
            text: The new text.
            tables: New tables, which replace all attachments; None keeps the attachments.

        Raises:
            ActionFailed: It is somebody else's, nothing would be left of it, or Slack does not accept a table.
        """
        place, message = self._find_own_message(channel, ts)
        if tables is not None:
            self._world.messages.edit_as_person(
                place, message, encode_typed_text(self._state, text), self._build_table_attachments(tables)
            )
            return
        if not text.strip() and not message.data.get("files") and not message.data.get("attachments"):
            raise ActionFailed("There is nothing left of the message: delete it instead.")
        self._world.messages.edit_as_person(place, message, encode_typed_text(self._state, text))

    async def delete(self, channel: str, ts: str) -> None:
        """Delete one's own message.

        Raises:
            ActionFailed: It is somebody else's.
        """
        self._world.messages.delete_message(*self._find_own_message(channel, ts))

    async def delete_file(self, file_id: str) -> None:
        """Delete one's own file; the messages that show it stay.

        Raises:
            ActionFailed: It is somebody else's, or there is none.
        """
        file = self._state.files.get(file_id)
        if file is None or file["user"] != self.id:
            raise ActionFailed("There is no such file of yours.")
        await self._world.delete_file(file)

    async def react(self, channel: str, ts: str, name: str, *, add: bool = True) -> None:
        """Add a reaction, or remove it if `add` is False. Nothing happens if there is nothing to change."""
        place = self._find_writable_channel(channel)
        self._world.messages.change_reaction(place, self._find_message(place, ts), self.id, name.strip(":"), add=add)

    # -- pressing --------------------------------------------------------------------------------

    async def click(
        self,
        channel: str,
        ts: str,
        action_id: str,
        value: Any = None,
        *,
        block_id: str | None = None,
        inputs: Json | None = None,
    ) -> None:
        """Press a button or choose from a menu of a message, an ephemeral one too.

        Elements that the message had before an edit can be pressed as well, as
        from a screen that is not up to date.

        Args:
            channel: The channel of the message.
            ts: The ts of the message.
            action_id: The action_id of the element.
            value: The value of the button, if several have that action_id; the
                option of a menu; or the value for an input.
            block_id: The block of the element, if several have that action_id.
            inputs: The values in the message's inputs, in the shape of `state.values`.

        Raises:
            ActionFailed: There is no such element, or the app did not acknowledge.
        """
        place = self.find_channel(channel)
        message = self._world.messages.ephemerals[self.id].get(ts) or self._find_message(place, ts)
        for found_block_id, element in self._find_elements(message, action_id):
            if _fits_value(element, value) and block_id in (None, found_block_id):
                press_place = PressPlace(place, message, inputs=inputs)
                app = self._world.find_app(str(message.data.get("app_id")))
                await app.interactivity.press_element(self.id, press_place, found_block_id, element, value)
                return
        raise ActionFailed(f"The message has nothing called {action_id!r} (any more).")

    async def fetch_suggestions(
        self, action_id: str, query: str, *, channel: str = "", ts: str = "", view_id: str = ""
    ) -> list[Json]:
        """Type into an external menu of a message, or of a modal or the home tab.

        Returns:
            The options, or groups of options, that the app offers.

        Raises:
            ActionFailed: There is no such element, or the app did not answer.
        """
        if view_id:
            view = self._find_view(view_id)
            app, where = self._world.find_app(view["app_id"]), PressPlace(view=view)
            elements = [(block["block_id"], element) for block, element in iterate_elements(view["blocks"])]
        else:
            place = self.find_channel(channel)
            message = self._world.messages.ephemerals[self.id].get(ts) or self._find_message(place, ts)
            app = self._world.find_app(str(message.data.get("app_id")))
            where, elements = PressPlace(place, message), self._find_elements(message, action_id)
        for block_id, element in elements:
            if element["action_id"] == action_id and "external" in element["type"]:
                return await app.interactivity.fetch_options(self.id, where, block_id, element, query)
        raise ActionFailed(f"There is no external menu called {action_id!r} (any more).")

    async def click_in_view(self, view_id: str, action_id: str, value: Any = None) -> None:
        """Press or choose within a modal or the home tab.

        Raises:
            ActionFailed: There is no such view or element, or the app did not acknowledge.
        """
        view = self._find_view(view_id)
        for block, element in iterate_elements(view["blocks"]):
            if element["action_id"] == action_id and _fits_value(element, value):
                app = self._world.find_app(view["app_id"])
                await app.interactivity.press_element(self.id, PressPlace(view=view), block["block_id"], element, value)
                return
        raise ActionFailed(f"The view has nothing called {action_id!r}.")

    async def command(self, channel: str, command: str, text: str = "") -> None:
        """Run a slash command.

        Raises:
            ActionFailed: There is no such command, or the app did not acknowledge it.
        """
        for world in self._world.apps:
            manifest_command = world.state.app.find_command(command)
            if manifest_command:
                await world.interactivity.run_command(
                    self.id, self._find_writable_channel(channel), manifest_command, text.strip()
                )
                return
        raise ActionFailed(f"{command} is not a valid command.")

    async def shortcut(self, callback_id: str, channel: str | None = None, ts: str | None = None) -> None:
        """Use a shortcut, on a message when it is a message shortcut.

        Raises:
            ActionFailed: There is no such shortcut, or the app did not acknowledge it.
        """
        offers = ((world, world.state.app.find_shortcut(callback_id)) for world in self._world.apps)
        world, manifest_shortcut = next(((world, each) for world, each in offers if each), (self._world, None))
        if manifest_shortcut is None:
            raise ActionFailed(f"There is no shortcut {callback_id!r}.")
        if manifest_shortcut.kind == "message" and not (channel and ts):
            raise ActionFailed(f"{manifest_shortcut.name} is used on a message.")
        place = self.find_channel(channel) if channel else None
        message = self._find_message(place, ts) if place and ts else None
        await world.interactivity.use_shortcut(self.id, manifest_shortcut, place, message)

    async def run_step(self, callback_id: str, inputs: Json | None = None) -> str:
        """Run a function of the app's manifest as a step of a workflow, with its inputs by name.

        Returns:
            The id of the run, for `Workspace.step`.

        Raises:
            ActionFailed: There is no such function, the inputs do not fit, or the app cannot get the event.
        """
        for world in self._world.apps:
            function = world.state.app.find_function(callback_id)
            if function:
                return world.interactivity.run_step(self.id, function, inputs or {}).id
        raise ActionFailed(f"There is no workflow step {callback_id!r}.")

    async def submit(self, view_id: str, values: Json | None = None) -> bool:
        """Submit a modal, with values by action_id or by block_id and action_id.

        Returns:
            False when something is missing or the app found errors.

        Raises:
            ActionFailed: There is no such modal, or the app did not acknowledge.
        """
        view = self._find_view(view_id)
        return await self._world.find_app(view["app_id"]).interactivity.submit_modal(self.id, view, values or {})

    async def close(self, view_id: str) -> None:
        """Close a modal without submitting it."""
        view = self._find_view(view_id)
        await self._world.find_app(view["app_id"]).interactivity.close_modal(self.id, view)

    async def stop(self, channel: str, thread_ts: str) -> None:
        """Press Slack's own Stop button, which a thread shows while its session is processing.

        Raises:
            ActionFailed: The thread shows no such button.
        """
        place = self.find_channel(channel)
        session = self._world.sessions.find_session(place.id, thread_ts)
        app = self._world.find_app(session.app_id)
        if session.status != PROCESSING_STATUS or not app.delivery.is_subscribed("agent_session_stopped"):
            raise ActionFailed("There is no Stop button: the agent's session is not processing.")
        streaming = [each for each in place.iterate_thread(thread_ts) if each.stream and each.stream.live]
        for message in streaming:
            self._world.messages.end_stream(place, message)
        event: Json = {"type": "agent_session_stopped", "channel": place.id, "thread_ts": thread_ts, "user": self.id}
        event |= {"streaming_message_ts": [each.ts for each in streaming], "event_ts": self._state.clock.next_ts()}
        app.delivery.emit("agent_session_stopped", event)

    async def open_home(self, tab: str = "home") -> Json | None:
        """Open the app's home tab (or its `messages` tab); return the home view that the app published before.

        The `messages` tab of an `assistant_view` app opens on a new assistant thread. Raises ActionFailed for a person
        of another workspace.
        """
        view = self._world.views.homes.get(self.id)
        if self.user.standing == "stranger":
            raise ActionFailed("This app is not installed in your workspace.")
        event: Json = {"type": "app_home_opened", "user": self.id, "channel": self.dm, "tab": tab}
        event |= {"event_ts": self._state.clock.next_ts(), **self._make_context_field("context", self._world)}
        if tab == "home" and view:
            event["view"] = view
        self._world.delivery.emit("app_home_opened", event)
        if tab == "messages" and self._state.app.is_assistant:
            self._world.messages.ensure_assistant_thread(self.find_channel(self.id), self.id, self.viewed_channel)
        return view

    # -- members ---------------------------------------------------------------------------------

    async def join(self, channel: str) -> None:
        """Join a channel, as if one of its members had invited this person.

        Raises:
            ActionFailed: There is no such channel, this person is in it, or may be in one channel only.
        """
        place = self._state.find_channel(channel)
        if place is None or place.kind in ("im", "mpim"):
            raise ActionFailed(f"There is no channel {channel!r} to join.")
        mine = [each for each in self._state.channels.values() if self.id in each.members and each.kind != "im"]
        if self.id in place.members:
            raise ActionFailed(f"{self.user.name} is in {place.name} already.")
        if mine and self.user.standing == "channel_guest":
            raise ActionFailed(f"{self.user.name} is a guest of {mine[0].name} and may be in no other channel.")
        place.members.append(self.id)
        self._state.save_channel(place)
        self._state.changes.publish(Change({"type": "members", "channel": place.id, "members": place.members}))

    async def kick(self, channel: str) -> None:
        """Remove the bot from a channel. Raises ActionFailed if it is not in the channel."""
        place = self.find_channel(channel)
        bot = self._state.identity.bot_user_id
        if place.kind == "im" or bot not in place.members:
            raise ActionFailed("The app is not in this channel.")
        place.members.remove(bot)
        self._announce_membership(place, "member_left_channel", {})

    async def invite(self, channel: str) -> None:
        """Add the bot to a channel. Raises ActionFailed if it is in the channel already."""
        place = self.find_channel(channel)
        bot = self._state.identity.bot_user_id
        if bot in place.members:
            raise ActionFailed("The app is in this channel already.")
        place.members.append(bot)
        self._announce_membership(place, "member_joined_channel", {"inviter": self.id})

    # -- seeing ----------------------------------------------------------------------------------

    def ephemerals(self, channel: str) -> list[Json]:
        """Return the messages in a channel that only this person sees, oldest first."""
        place = self.find_channel(channel)
        mine = self._world.messages.ephemerals[self.id].values()
        return [message.as_shown() for message in mine if message.data["channel"] == place.id]

    def views(self) -> list[Json]:
        """Return the open modals, topmost last."""
        return list(self._world.views.stacks[self.id])

    def home(self) -> Json | None:
        """Return the home view that the app published for this person; None if it published none."""
        return self._world.views.homes.get(self.id)

    def errors(self) -> list[str]:
        """Return the errors that Slack showed this person: presses and commands that failed."""
        return list(self._world.interactivity.errors.get(self.id, ()))

    # -- helpers ---------------------------------------------------------------------------------

    def _make_app_context(self) -> Json:
        return {"entities": list(self.entities)} if self.entities else {}

    def _make_context_field(self, field: str, app: AppParts) -> Json:
        """Return the event field `field` with what the person has open; no field if the app is not told that."""
        return {field: self._make_app_context()} if self._wants_context(app) else {}

    @staticmethod
    def _wants_context(app: AppParts) -> bool:
        """Return True if the app is an agent that subscribed to what people have open."""
        return app.state.app.is_agent and app.delivery.is_subscribed(CONTEXT_CHANGED_EVENT)

    def _find_writable_channel(self, reference: str) -> Channel:
        place = self.find_channel(reference)
        if place.archived:
            raise ActionFailed("This channel is archived.")
        app = self.find_channel_app(place).state.app
        if place.kind == "im" and (not app.has_messages_tab or app.is_messages_read_only):
            raise ActionFailed("Sending messages to this app has been turned off.")
        return place

    def _find_message(self, place: Channel, ts: str) -> Message:
        message = place.messages.get(ts)
        if message is None:
            raise ActionFailed("This message does not exist.")
        return message

    def _find_own_message(self, channel: str, ts: str) -> tuple[Channel, Message]:
        place = self._find_writable_channel(channel)
        message = self._find_message(place, ts)
        if message.data.get("user") != self.id:
            raise ActionFailed("This message is somebody else's.")
        return place, message

    def _find_view(self, view_id: str) -> Json:
        views = (world.views.find_view(self.id, view_id) for world in self._world.apps)
        view = next((each for each in views if each), None)
        if view is None:
            raise ActionFailed("This view is not open.")
        return view

    def _find_elements(self, message: Message, action_id: str) -> list[tuple[str, Json]]:
        current_elements = [
            (block["block_id"], each) for block, each in iterate_elements(message.data.get("blocks") or [])
        ]
        earlier_elements = [(block_id, element) for (block_id, _), element in message.known_elements.items()]
        return [
            (block_id, each)
            for block_id, each in [*current_elements, *earlier_elements]
            if each.get("action_id") == action_id
        ]

    def _announce_membership(self, place: Channel, kind: str, extra: Json) -> None:
        self._state.save_channel(place)
        who = self._state.identity
        event = {"type": kind, "user": who.bot_user_id, "channel": place.id, "channel_type": "C", "team": who.team_id}
        event |= {**extra, "event_ts": self._state.clock.next_ts()}
        for world in self._world.apps:
            if world is self._world or world.state.has_bot_in(place):
                world.delivery.emit(kind, event)
        self._state.changes.publish(Change({"type": "members", "channel": place.id, "members": place.members}))


def _fits_value(element: Json, value: Any) -> bool:
    if value is None or element["type"] not in ("button", "icon_button"):
        return True
    return bool(element.get("value") == value)
