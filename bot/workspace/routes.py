"""The addresses of the workspace and their handlers."""

import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from aiohttp import web

from bot.workspace.app_parts import AppParts
from bot.workspace.page_connections import PageConnections
from bot.workspace.page_requests import PageRequests
from bot.workspace.refusal import Refusal
from bot.workspace.request_body import read_form
from bot.workspace.request_guard import RequestGuard
from bot.workspace.shared_content import render_canvas_page
from bot.workspace.web_api.arguments import read_arguments
from bot.workspace.web_api.dispatch import ApiDispatcher

PAGE_FOLDER = Path(__file__).parent / "page"
SIGN_IN_PAGE = "<!doctype html><title>Sign in to Slack</title><p>Send the bot token: Authorization: Bearer xoxb-..."
NOT_FOUND = 404


def add_routes(
    app: web.Application,
    world: AppParts,
    guard: RequestGuard,
    connections: PageConnections,
    page_requests: PageRequests,
) -> None:
    """Add every route of the workspace to `app`, and register its Web API handler with the app's OAuth."""
    dispatch, site = ApiDispatcher(world), SiteHandlers(world, guard)
    app.router.add_route("GET", "/api/{method}", dispatch.answer)
    app.router.add_route("POST", "/api/{method}", dispatch.answer)
    world.oauth.api_handlers[world.state.identity.team_id] = dispatch.answer
    app.router.add_get("/oauth/v2/authorize", site.show_install_page)
    app.router.add_get("/oauth/v2/allow", site.answer_install_page)
    app.router.add_post("/upload/v1/{key}", site.receive_upload)
    app.router.add_post("/response/{key}", site.receive_response)
    app.router.add_get("/files-pri/{id}/{name}", site.serve_private_file)
    app.router.add_get("/files-pri/{id}/download/{name}", site.serve_private_file)
    app.router.add_get("/link/", site.serve_connection)
    app.router.add_get("/", site.serve_page)
    app.router.add_get(r"/archives/{channel:\w+}/p{digits:\d{7,}}", site.redirect_permalink)
    if PAGE_FOLDER.is_dir():
        app.router.add_static("/page", PAGE_FOLDER)
    app.router.add_get("/local/live", connections.serve_connection)
    app.router.add_get("/local/files/{id}", page_requests.serve_file)
    app.router.add_get("/local/draft/{draft}/{number}", page_requests.serve_draft_file)
    app.router.add_post("/local/upload", page_requests.receive_upload)
    app.router.add_post("/local/{name}", page_requests.answer_post)


class SiteHandlers:
    """Handlers of the addresses that no other class serves."""

    def __init__(self, world: AppParts, guard: RequestGuard) -> None:
        self._world, self._guard = world, guard

    async def serve_page(self, request: web.Request) -> web.StreamResponse:
        """Serve the page to a request with its token or cookie, and set the cookie for reloads. Others get 403."""
        if not self._guard.is_page_token(request.query.get("token", "")) and not self._guard.has_page_cookie(request):
            refused_page = PAGE_FOLDER / "refused.html"
            return web.Response(status=403, text=refused_page.read_text(encoding="utf-8"), content_type="text/html")
        index = PAGE_FOLDER / "index.html"
        if not index.is_file():
            return web.Response(status=404, text="The page is not installed.")
        response = web.FileResponse(index)
        self._guard.set_page_cookie(response)
        return response

    async def show_install_page(self, request: web.Request) -> web.StreamResponse:
        """Show the page on which a person installs an app."""
        return await self._find_app(request).oauth.show_install_page(request)

    async def answer_install_page(self, request: web.Request) -> web.StreamResponse:
        """Redirect the browser from the install page to the app's redirect URL, with a code or with `access_denied`."""
        return await self._find_app(request).oauth.answer_install_page(request)

    async def serve_connection(self, request: web.Request) -> web.StreamResponse:
        """Serve one Socket Mode connection of the app `app_id`; 404 if that app uses HTTP mode."""
        sockets = self._world.find_app(request.query.get("app_id", "")).sockets
        return await sockets.serve_connection(request) if sockets else web.Response(status=NOT_FOUND)

    def _find_app(self, request: web.Request) -> AppParts:
        client_id = request.query.get("client_id")
        apps = (world for world in self._world.apps if world.state.identity.client_id == client_id)
        return next(apps, self._world)

    async def redirect_permalink(self, request: web.Request) -> web.StreamResponse:
        """Redirect a link of `chat.getPermalink` to the page, with the message's thread open."""
        channel, digits = request.match_info["channel"], request.match_info["digits"]
        ts = request.query.get("thread_ts", f"{digits[:-6]}.{digits[-6:]}")
        return web.Response(status=302, headers={"Location": f"/#/{channel}/{quote(ts)}"})

    async def receive_upload(self, request: web.Request) -> web.Response:
        """Store the bytes of an upload, which are sent raw or as a form."""
        if request.content_type == "multipart/form-data":
            try:
                form = await read_form(request)
            except ValueError:
                return web.Response(status=400, text="The form cannot be read.")
            part = next((value for value in form.values() if isinstance(value, web.FileField)), None)
            content = part.file.read() if part else b""
        else:
            content = await request.read()
        wrong = await self._world.files.receive_upload(request.match_info["key"], content)
        if wrong:
            return web.Response(status=400, text=wrong)
        return web.Response(text=f"OK - {len(content)}")

    async def receive_response(self, request: web.Request) -> web.Response:
        """Apply a message that an app posts to a response URL. An unknown, expired or used-up URL gives 404."""
        began, arguments = time.perf_counter(), {}
        try:
            arguments = await read_arguments(request)
            key = request.match_info["key"]
            responses = next(
                (each.response_urls for each in self._world.apps if each.response_urls.is_known(key)), None
            )
            (responses or self._world.response_urls).post_response(key, arguments)
        except Refusal as refusal:
            self._record_response(arguments, began, json.dumps(refusal.make_body()), refusal.code)
            status = NOT_FOUND if refusal.code in ("invalid_url", "expired_url", "used_url") else 400
            return web.json_response(refusal.make_body(), status=status)
        self._record_response(arguments, began)
        return web.Response(text="ok")

    def _record_response(self, arguments: dict[str, Any], start_time: float, answer: str = "", error: str = "") -> None:
        self._world.traffic.add_call("response_url", arguments, answer, error, time.perf_counter() - start_time)

    @staticmethod
    def _may_read_files(world: AppParts, token: str) -> bool:
        """Return True if `token` is a valid bot token of the app of `world`, and that app has the scope files:read."""
        state, oauth = world.state, world.oauth
        if "files:read" not in state.app.scopes:
            return False
        try:
            is_bot_token = oauth.validate_token(token, state) == "bot"
        except Refusal:
            return False
        return is_bot_token and (
            oauth.is_organisation_token(token) or oauth.find_team(token, {}) == state.identity.team_id
        )

    async def serve_private_file(self, request: web.Request) -> web.Response:
        """Serve a file's bytes to an app with a valid token, otherwise a sign-in page with status 200, as on Slack."""
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not any(self._may_read_files(world, token) for world in self._world.apps):
            return web.Response(text=SIGN_IN_PAGE, content_type="text/html")
        file = self._world.state.files.get(request.match_info["id"].rpartition("-")[2])
        if file is None:
            return web.Response(status=404, text="There is no such file.")
        content = await self._world.files.read_content(file["id"])
        if file["mode"] == "quip":  # Slack shows a canvas as a page, whatever its media type says
            page = render_canvas_page(file["title"], content.decode())
            return web.Response(text=page, content_type="text/html")
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(file['name'])}"}
        return web.Response(body=content, content_type=file["mimetype"].partition(";")[0], headers=headers)
