"""The app's OAuth 2: the page on which a person installs it, the codes that this page gives, and the tokens.

The workspaces of one app share this. A token is valid in the workspace that it was issued for, or in all of an
organisation. With `token_rotation_enabled` in the manifest tokens expire, a refresh token works once, and only the
last two tokens of a workspace are valid: a mistake in refreshing them fails here first. Slack revokes a used refresh
token "after a short grace period"; here there is no such period unless `grace_seconds` is set.
"""

import html
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal
from urllib.parse import urlencode, urljoin, urlsplit

from aiohttp import web

from bot.workspace.refusal import Refusal
from bot.workspace.workspace_state import WorkspaceState

ApiHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Json = dict[str, Any]
TOKEN_LIFETIME_SECONDS = 43_200
MAX_ACTIVE_TOKENS = 2
ALL_TEAMS = "*"
"""The value of `IssuedToken.team` for a token that is valid in all workspaces of the organisation."""


@dataclass(frozen=True)
class IssuedToken:
    """A token that was issued. `team` may be `ALL_TEAMS`.

    `expires` is when it ends and `used` when its refresh token was used, in seconds since the epoch; 0 means never.
    `step` is the id of the workflow step run that it was made for, with which it ends.
    """

    team: str
    refresh: str = ""
    expires: float = 0.0
    step: str = ""
    used: float = 0.0


@dataclass(frozen=True)
class InstallRequest:
    """An installation that a person is asked to allow: the address to return to, and the app's own `state`."""

    redirect_uri: str
    state: str


class OAuth:
    """The installations of an app in the workspaces that run side by side. `states` holds the workspaces by team id."""

    def __init__(self, request_url: str | None) -> None:
        self.states: dict[str, WorkspaceState] = {}
        self.api_handlers: dict[str, ApiHandler] = {}
        """The handler of Web API calls of each workspace, by team id."""
        self.token_seconds = TOKEN_LIFETIME_SECONDS
        self.grace_seconds = 0.0
        """Seconds for which a refresh token still works after its first use."""
        self._request_url = request_url or ""
        self._tokens: dict[str, IssuedToken] = {}
        self._void_token_errors: dict[str, str] = {}
        """Slack's error for each token that is no longer valid."""
        self._install_requests: dict[str, InstallRequest] = {}
        self._codes: dict[str, tuple[str, InstallRequest]] = {}

    def add_workspace(self, state: WorkspaceState) -> None:
        """Add a workspace, with the tokens that its record has."""
        self.states[state.identity.team_id] = state
        self._tokens |= {token: IssuedToken(**row) for token, row in state.record.iterate_records("token")}

    def belongs_to_app(self, token: str, client_id: str) -> bool:
        """Return True if `token` was issued to this app. Without a token, `client_id` must be the app's."""
        own = [state.identity for state in self.states.values()]
        if not token:
            return any(client_id == who.client_id for who in own)
        is_issued = token in self._tokens or token in self._void_token_errors
        return is_issued or any(token in (who.bot_token, who.app_token) for who in own)

    # -- tokens ----------------------------------------------------------------------------------

    def find_team(self, token: str, args: Mapping[str, Any]) -> str:
        """Return the id of the team that a call is for; empty if the token or the arguments do not say.

        For an organisation's token, `args` decide: the team in them, else the team of their channel, file or person.
        """
        issued_token = self._tokens.get(token)
        if issued_token is None:
            own = (team for team, state in self.states.items() if token == state.identity.bot_token)
            return next(own, "")
        if issued_token.team != ALL_TEAMS:
            return issued_token.team
        arg_values = {value for value in args.values() if isinstance(value, str)}
        members = {state.identity.team_id: state for state in self._list_organisation_workspaces()}
        ids = [(team, {*state.channels, *state.files}) for team, state in members.items()]
        # People last, as a person may be in several teams.
        ids += [(team, {*state.users}) for team, state in members.items()]
        return next(
            (team for team, known_ids in (*((team, {team}) for team in members), *ids) if known_ids & arg_values), ""
        )

    def _list_organisation_workspaces(self) -> list[WorkspaceState]:
        """Return the workspaces of the organisation."""
        return [state for state in self.states.values() if state.identity.enterprise_id]

    def is_organisation_token(self, token: str) -> bool:
        """Return True for a token that is valid in all workspaces of the organisation."""
        return token in self._tokens and self._tokens[token].team == ALL_TEAMS

    def find_step_run(self, token: str) -> str:
        """Return the id of the workflow step run that a token was made for; empty for any other token."""
        return self._tokens[token].step if token in self._tokens else ""

    def validate_token(self, token: str, state: WorkspaceState) -> Literal["bot", "app"]:
        """Return the kind of a token. Raises Refusal if it is not valid in that workspace."""
        who, issued_token = state.identity, self._tokens.get(token)
        if token in self._void_token_errors:
            raise Refusal(self._void_token_errors[token])
        if issued_token is not None:
            if issued_token.expires and issued_token.expires <= state.clock.now():
                raise Refusal("token_expired")
            return "bot"
        if token == who.app_token:
            return "app"
        if token != who.bot_token:
            raise Refusal("invalid_auth")
        if not state.install_scope:
            raise Refusal("account_inactive")
        return "bot"

    def uninstall_app(self, team: str, error: str) -> None:
        """Void the tokens of a team, or of its organisation if the app is installed there, and uninstall the app."""
        wide = self.states[team].install_scope == "organisation"
        for token, each in list(self._tokens.items()):
            if each.team == (ALL_TEAMS if wide else team):
                self.revoke_token(token, error)
        for state in self.states.values():
            if state.identity.team_id == team or (wide and state.install_scope == "organisation"):
                state.set_install_scope("")

    def store_token(self, token: str, issued_token: IssuedToken) -> None:
        """Store a token and its data, in memory and on record; replaces the data of a known token."""
        self._tokens[token] = issued_token
        self._find_state(issued_token.team).record.put("token", token, lambda: asdict(issued_token))

    def revoke_token(self, token: str, error: str) -> None:
        """Void a token: calls with it fail with that error from now on."""
        del self._tokens[token]
        self._void_token_errors[token] = error
        for state in self.states.values():
            state.record.drop("token", token)

    # -- the page --------------------------------------------------------------------------------

    async def show_install_page(self, request: web.Request) -> web.Response:
        """Show the page of `/oauth/v2/authorize`, on which a person chooses where to install the app."""
        query, any_state = request.query, next(iter(self.states.values()))
        if query.get("client_id") != any_state.identity.client_id:
            return _render_page(
                "This app is unknown", "The address names no client_id of this app (invalid_client_id).", 400
            )
        requested_scopes = {each for each in query.get("scope", "").split(",") if each}
        if not requested_scopes or not requested_scopes <= any_state.app.scopes:
            missing_scopes = ", ".join(sorted(requested_scopes - any_state.app.scopes)) or "none is named"
            return _render_page(
                "These scopes cannot be asked for", f"The manifest does not list: {missing_scopes}.", 400
            )
        redirect = self._find_redirect(any_state, query.get("redirect_uri", ""))
        if not redirect:
            text = "The manifest must list it under oauth_config.redirect_urls (bad_redirect_uri)."
            return _render_page("This return address is unknown", text, 400)
        key = secrets.token_urlsafe(16)
        self._install_requests[key] = InstallRequest(redirect, query.get("state", ""))
        targets = [(team, state.identity.team_name) for team, state in self.states.items()]
        targets += [
            (ALL_TEAMS, f"all of {state.identity.enterprise_name}")
            for state in self._list_organisation_workspaces()[:1]
        ]
        of_wish = {"wish": key, "client_id": any_state.identity.client_id}
        links = [
            (f"/oauth/v2/allow?{urlencode({**of_wish, 'team': team})}", f"Allow in {name}") for team, name in targets
        ]
        links.append((f"/oauth/v2/allow?{urlencode(of_wish)}", "Cancel"))
        list_items = "".join(f'<li><a href="{html.escape(link)}">{html.escape(text)}</a></li>' for link, text in links)
        return _render_page(
            f"{any_state.app.name} wants to be installed",
            f"It asks for: {', '.join(sorted(requested_scopes))}.",
            list_items=list_items,
        )

    async def answer_install_page(self, request: web.Request) -> web.Response:
        """Redirect the browser to the app, with a code or with `access_denied`."""
        install_request, team = (
            self._install_requests.pop(request.query.get("wish", ""), None),
            request.query.get("team", ""),
        )
        if install_request is None or team not in (
            "",
            *self.states,
            *((ALL_TEAMS,) if self._list_organisation_workspaces() else ()),
        ):
            return _render_page("This page was used already", "Begin again at the app.", 400)
        answer = {"error": "access_denied"}
        if team:
            code = secrets.token_hex(16)
            self._codes[code] = team, install_request
            answer = {"code": code}
        address = f"{install_request.redirect_uri}?{urlencode({**answer, 'state': install_request.state})}"
        return web.Response(status=302, headers={"Location": address})

    def _find_redirect(self, state: WorkspaceState, redirect_uri: str) -> str:
        """Return the address that the browser returns to; empty if the manifest does not list it.

        In HTTP mode the host of the listed addresses is replaced by the one that takes the events.
        """
        redirect_urls = state.app.redirect_urls
        if self._request_url:
            redirect_urls = tuple(urljoin(self._request_url, urlsplit(each).path) for each in redirect_urls)
        if not redirect_uri:
            return next(iter(redirect_urls), "")
        return redirect_uri if any(redirect_uri.startswith(each) for each in redirect_urls) else ""

    # -- oauth.v2.access -------------------------------------------------------------------------

    def exchange_code(self, args: Mapping[str, Any]) -> Json:
        """Return a new token for a code or for a refresh token, as Slack answers it. Raises Refusal."""
        who = next(iter(self.states.values())).identity
        if args.get("client_id") != who.client_id:
            raise Refusal("invalid_client_id")
        if args.get("client_secret") != who.client_secret:
            raise Refusal("bad_client_secret")
        if args.get("grant_type") == "refresh_token":
            return self._refresh_token(str(args.get("refresh_token", "")))
        team, install_request = self._codes.pop(str(args.get("code", "")), ("", None))
        if install_request is None:
            raise Refusal("invalid_code")
        if args.get("redirect_uri") and args["redirect_uri"] != install_request.redirect_uri:
            raise Refusal("bad_redirect_uri")
        for state in self._list_organisation_workspaces() if team == ALL_TEAMS else [self.states[team]]:
            state.set_install_scope("organisation" if team == ALL_TEAMS else "team")
        return self._issue_token(team)

    def _refresh_token(self, refresh_token: str) -> Json:
        match = next(((token, each) for token, each in self._tokens.items() if each.refresh == refresh_token), None)
        if not refresh_token or match is None:
            raise Refusal("invalid_refresh_token")
        token, each = match
        now = self._find_state(each.team).clock.now()
        if each.used and now >= each.used + self.grace_seconds:
            raise Refusal("invalid_refresh_token")
        self.store_token(token, replace(each, used=each.used or now))
        return self._issue_token(each.team)

    def _issue_token(self, team: str) -> Json:
        state = self._find_state(team)
        who, is_expiring = state.identity, state.app.rotates_tokens
        token = f"{'xoxe.' if is_expiring else ''}xoxb-local-{secrets.token_hex(16)}"
        refresh = f"xoxe-1-local-{secrets.token_hex(16)}" if is_expiring else ""
        self.store_token(
            token, IssuedToken(team, refresh, state.clock.now() + self.token_seconds if is_expiring else 0.0)
        )
        active = [each for each, row in self._tokens.items() if row.team == team and not row.step]
        for old in active[:-MAX_ACTIVE_TOKENS] if is_expiring else ():
            self.revoke_token(old, "token_revoked")
        ends = {"refresh_token": refresh, "expires_in": self.token_seconds} if is_expiring else {}
        return {
            "access_token": token,
            "token_type": "bot",
            "scope": ",".join(sorted(state.app.scopes)),
            "bot_user_id": who.bot_user_id,
            "app_id": who.app_id,
            "team": None if team == ALL_TEAMS else {"id": who.team_id, "name": who.team_name},
            "enterprise": {"id": who.enterprise_id, "name": who.enterprise_name} if who.enterprise_id else None,
            "authed_user": {"id": who.people["ana"]},
            "is_enterprise_install": team == ALL_TEAMS,
            **ends,
        }

    def _find_state(self, team: str) -> WorkspaceState:
        """Return the workspace of a team; for `ALL_TEAMS`, the first workspace of the organisation."""
        return self._list_organisation_workspaces()[0] if team == ALL_TEAMS else self.states[team]


def _render_page(title: str, text: str, status: int = 200, list_items: str = "") -> web.Response:
    body = f"<h1>{html.escape(title)}</h1><p>{html.escape(text)}</p><ul>{list_items}</ul>"
    page = f'<!doctype html><html lang="en"><title>{html.escape(title)}</title>{body}</html>'
    return web.Response(status=status, text=page, content_type="text/html")
