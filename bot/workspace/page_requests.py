"""Answers the requests of the page and its inspector (POST /local/NAME), and serves files to the page."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from aiohttp import BodyPartReader, web

from bot.workspace.app_parts import AppParts
from bot.workspace.file_store import select_page_fields
from bot.workspace.person import Person
from bot.workspace.refusal import ActionFailed
from bot.workspace.request_body import read_json
from bot.workspace.traffic import TrafficEntry

Body = dict[str, Any]
MAX_HISTORY_ROOTS = 200
MAX_UPLOAD_BYTES = 100 * 1024 * 1024
INLINE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


class PageRequests:
    """Answers the page: POST requests by name, uploads, and downloads of files."""

    def __init__(self, world: AppParts, people: dict[str, Person]) -> None:
        self._world = world
        self._people = people
        inspector = InspectorRequests(world)
        self._endpoints: dict[str, Callable[[Person, Body], Awaitable[Body]]] = {
            "history": self._read_history,
            "thread": self._read_thread,
            "look": self._look_at,
            "say": self._post_message,
            "forward": self._forward_message,
            "canvas": self._write_canvas,
            "edit": self._edit_message,
            "delete": self._delete_message,
            "action": self._click_element,
            "suggest": self._fetch_suggestions,
            "command": self._run_slash_command,
            "shortcut": self._run_shortcut,
            "step": self._run_workflow_step,
            "submit": self._submit_modal,
            "close": self._close_modal,
            "react": self._react,
            "stop": self._press_stop,
            "home": self._open_home,
            "kick": self._kick_bot,
            "invite": self._invite_bot,
            "traffic": inspector.list_entries,
            "traffic_entry": inspector.show_entry,
            "resend": inspector.resend_event,
        }

    async def answer_post(self, request: web.Request) -> web.Response:
        """Answer one POST with JSON: `ok` true, or `ok` false with a text for people in `error`."""
        endpoint = self._endpoints.get(request.match_info["name"])
        if endpoint is None:
            return _make_error_response("There is no such thing to do.", 404)
        try:
            body = await read_json(request)
        except ValueError:
            return _make_error_response("That was not JSON.", 400)
        person = self._people.get(str(body.get("as"))) if isinstance(body, dict) else None
        if person is None:
            return _make_error_response("Nobody has that id.", 400)
        try:
            answer = await endpoint(person, body)
        except ActionFailed as failed:
            return _make_error_response(str(failed))
        except (KeyError, TypeError, AttributeError) as error:
            return _make_error_response(f"Something is missing or of the wrong kind: {error}", 400)
        return web.json_response({"ok": True, **answer})

    async def receive_upload(self, request: web.Request) -> web.Response:
        """Store one file that the page uploads, and answer with its fields."""
        if request.content_type != "multipart/form-data":
            return _make_error_response("That was not an upload.", 400)
        reader = await request.multipart()
        user, name, content = "", "", None
        async for part in reader:
            if not isinstance(part, BodyPartReader):
                return _make_error_response("That was not an upload.", 400)
            if part.name == "as":
                user = await part.text()
            elif part.name == "file":
                name = part.filename or "file"
                content = await _read_part(part)
        if user not in self._people or content is None:
            return _make_error_response("The file is missing, or larger than 100 MB.", 400)
        file = await self._world.files.add_file(name, content, user)
        return web.json_response({"ok": True, "file": select_page_fields(file)})

    async def serve_file(self, request: web.Request) -> web.Response:
        """Serve the bytes of a file: the usual kinds of pictures to be shown, anything else to be downloaded."""
        file = self._world.state.files.get(request.match_info["id"])
        if file is None:
            return web.Response(status=404, text="There is no such file.")
        content = await self._world.files.read_content(file["id"])
        how = "inline" if file["mimetype"] in INLINE_TYPES else "attachment"
        headers = {
            "Content-Disposition": f"{how}; filename*=UTF-8''{quote(file['name'])}",
            "Content-Security-Policy": "sandbox; default-src 'none'",
        }
        return web.Response(body=content, content_type=file["mimetype"].partition(";")[0], headers=headers)

    async def serve_draft_file(self, request: web.Request) -> web.Response:
        """Serve a file of a draft that the page offers, by the numbers of the draft and the file."""
        draft, number = (int(one) if one.isdecimal() else -1 for one in request.match_info.values())
        drafts = self._world.drafts
        files = drafts[draft].files if 0 <= draft < len(drafts) else ()
        if not 0 <= number < len(files):
            return web.Response(status=404, text="There is no such file.")
        content = await asyncio.to_thread(files[number].read_bytes)
        return web.Response(body=content, content_type="application/octet-stream")

    # -- endpoints -------------------------------------------------------------------------------

    async def _read_history(self, person: Person, body: Body) -> Body:
        channel = person.find_channel(body["channel"])
        person.record_viewed_channel(channel)
        if channel.kind == "im":
            await person.with_app(person.find_channel_app(channel)).open_home("messages")
        roots = [channel.messages[ts].as_shown() for ts in channel.roots[-MAX_HISTORY_ROOTS:]]
        return {"messages": roots}

    async def _look_at(self, person: Person, body: Body) -> Body:
        await person.look_at(
            str(body.get("channel") or ""), body.get("thread_ts"), canvas=str(body.get("canvas") or "")
        )
        return {}

    async def _read_thread(self, person: Person, body: Body) -> Body:
        channel, ts = person.find_channel(body["channel"]), body["ts"]
        session = self._world.sessions.find_session(channel.id, ts)
        status = self._world.sessions.find_status(channel.id, ts)
        return {
            "messages": [message.as_shown() for message in channel.iterate_thread(ts)],
            "session": {"status": session.status, "title": session.title},
            "status": {"status": status.text, "loading_messages": status.loading_messages},
        }

    async def _post_message(self, person: Person, body: Body) -> Body:
        files = [self._find_file(file_id) for file_id in body.get("files") or ()]
        tables = body.get("tables") or ()
        ts = person.post(body["channel"], str(body.get("text") or ""), body.get("thread_ts"), files, tables)
        message = person.find_channel(body["channel"]).messages[ts]
        return {"ts": ts, "thread_ts": message.data.get("thread_ts")}

    async def _forward_message(self, person: Person, body: Body) -> Body:
        words = str(body.get("text") or "")
        return {"ts": await person.forward(body["channel"], body["ts"], body["to"], words, body.get("thread_ts"))}

    async def _write_canvas(self, person: Person, body: Body) -> Body:
        canvas = await person.write_canvas(str(body["title"]).strip() or "Untitled", str(body["markdown"]))
        return {"file": select_page_fields(canvas)}

    async def _edit_message(self, person: Person, body: Body) -> Body:
        await person.edit(body["channel"], body["ts"], str(body["text"]))
        return {}

    async def _delete_message(self, person: Person, body: Body) -> Body:
        await person.delete(body["channel"], body["ts"])
        return {}

    async def _click_element(self, person: Person, body: Body) -> Body:
        action = body["action"]
        value = _find_action_value(action)
        if body.get("view_id"):
            await person.click_in_view(body["view_id"], action["action_id"], value)
        else:
            where = {"block_id": body.get("block_id"), "inputs": body.get("values")}
            await person.click(body["channel"], body["ts"], action["action_id"], value, **where)
        return {}

    async def _fetch_suggestions(self, person: Person, body: Body) -> Body:
        where = {key: body[key] for key in ("channel", "ts", "view_id") if key in body}
        return {"options": await person.fetch_suggestions(body["action_id"], str(body["value"]), **where)}

    async def _run_slash_command(self, person: Person, body: Body) -> Body:
        command, _, text = str(body["text"]).strip().partition(" ")
        await person.command(body["channel"], command, text)
        return {}

    async def _run_shortcut(self, person: Person, body: Body) -> Body:
        await person.shortcut(body["callback_id"], body.get("channel"), body.get("ts"))
        return {}

    async def _run_workflow_step(self, person: Person, body: Body) -> Body:
        return {"id": await person.run_step(body["callback_id"], body["inputs"])}

    async def _submit_modal(self, person: Person, body: Body) -> Body:
        return {"closed": await person.submit(body["view_id"], body.get("values") or {})}

    async def _close_modal(self, person: Person, body: Body) -> Body:
        await person.close(body["view_id"])
        return {}

    async def _react(self, person: Person, body: Body) -> Body:
        await person.react(body["channel"], body["ts"], body["name"], add=bool(body.get("add", True)))
        return {}

    async def _press_stop(self, person: Person, body: Body) -> Body:
        await person.stop(body["channel"], body["thread_ts"])
        return {}

    async def _open_home(self, person: Person, body: Body) -> Body:
        return {"view": await self._find_app_person(person, body).open_home()}

    async def _kick_bot(self, person: Person, body: Body) -> Body:
        await self._find_app_person(person, body).kick(body["channel"])
        return {}

    async def _invite_bot(self, person: Person, body: Body) -> Body:
        await self._find_app_person(person, body).invite(body["channel"])
        return {}

    def _find_app_person(self, person: Person, body: Body) -> Person:
        """Return a copy of the person that acts on the app that the page names, or on the first if it names none."""
        return person.with_app(self._world.find_app(str(body.get("app"))))

    def _find_file(self, file_id: str) -> Body:
        file = self._world.state.files.get(file_id)
        if file is None:
            raise ActionFailed("The attached file is gone: attach it again.")
        return file


def _make_error_response(text: str, status: int = 200) -> web.Response:
    return web.json_response({"ok": False, "error": text}, status=status)


def _find_action_value(action: Body) -> Any:
    """Return the value of an action, such as an option, a date or a text; None if it has none."""
    for key, value in action.items():
        if key.startswith("selected_") or key in ("value", "rich_text_value", "files"):
            return value
    return None


async def _read_part(part: BodyPartReader) -> bytes | None:
    content = bytearray()
    while chunk := await part.read_chunk(1 << 16):
        content += chunk
        if len(content) > MAX_UPLOAD_BYTES:
            return None
    return bytes(content)


class InspectorRequests:
    """Answers the requests of the inspector. The answers do not depend on the person."""

    def __init__(self, world: AppParts) -> None:
        self._world = world

    async def list_entries(self, _person: Person, _body: Body) -> Body:
        """Return a summary of every entry, oldest first."""
        return {"entries": [entry.to_summary() for entry in self._world.traffic.list_entries()]}

    async def show_entry(self, _person: Person, body: Body) -> Body:
        """Return one entry with its payload and answer."""
        return {"entry": self._find_entry(body).to_details()}

    async def resend_event(self, _person: Person, body: Body) -> Body:
        """Send an event again: as a new one, or with `retry` as Slack repeats an event that was not acknowledged."""
        entry = self._find_entry(body)
        if entry.kind != "event" or entry.state == "unsent":
            raise ActionFailed("Only events that were sent can be sent again.")
        self._world.find_app(entry.app).delivery.resend(
            entry.name, entry.to_details()["payload"], as_retry=bool(body.get("retry"))
        )
        return {}

    def _find_entry(self, body: Body) -> TrafficEntry:
        entry = self._world.traffic.find_entry(body["id"])
        if entry is None:
            raise ActionFailed("That entry is no longer remembered.")
        return entry
