"""Handlers of users.*, usergroups.*, auth.test, oauth.v2.access and other methods on tokens, bots and teams."""

from bot.workspace.identity import User, UserGroup
from bot.workspace.refusal import Refusal
from bot.workspace.web_api.api_call import Answer, Call
from bot.workspace.workspace_state import Json


async def api_test(call: Call) -> Answer:
    """Return the arguments of the call, or fail with the code in `error`."""
    if call.args.get("error"):
        raise Refusal(str(call.args["error"]), args=call.args)
    return {"args": call.args}


async def auth_test(call: Call) -> Answer:
    """Return the workspace, the user and the bot that the token belongs to."""
    who = call.state.identity
    return {
        "url": f"{call.world.base_url}/",
        "team": who.team_name,
        "user": call.state.bot.name,
        "team_id": who.enterprise_id if call.has_organisation_token else who.team_id,
        "user_id": who.bot_user_id,
        "bot_id": who.bot_id,
        **({"enterprise_id": who.enterprise_id} if who.enterprise_id else {}),
        "is_enterprise_install": call.has_organisation_token,
    }


async def oauth_access(call: Call) -> Answer:
    """Exchange a code of the page /oauth/v2/authorize, or a refresh token, for a token."""
    return call.world.oauth.exchange_code(call.args)


async def open_connection(call: Call) -> Answer:
    """Return the WebSocket address of one Socket Mode connection, with a ticket."""
    sockets = call.world.sockets
    if sockets is None:
        raise Refusal("socket_mode_not_enabled")
    ticket = sockets.issue_ticket()
    address = call.world.base_url.replace("http", "ws", 1)
    return {"url": f"{address}/link/?ticket={ticket}&app_id={call.state.identity.app_id}"}


async def get_user_info(call: Call) -> Answer:
    """Describe a person or the bot."""
    user = call.state.users.get(str(call.args["user"]))
    if user is None:
        raise Refusal("user_not_found")
    return {"user": describe_user(call, user)}


async def find_user_by_email(call: Call) -> Answer:
    """Return the person with an email address, in upper or lower case. Deactivated accounts are not found."""
    email = str(call.args["email"]).lower()
    people = [describe_user(call, user) for user in call.state.people if not user.is_deleted]
    person = next((one for one in people if one["profile"]["email"] == email), None)
    if person is None:
        raise Refusal("users_not_found")
    return {"user": person}


async def list_users(call: Call) -> Answer:
    """List all users on one page, bots and deactivated accounts included."""
    members = [describe_user(call, user) for user in call.state.users.values()]
    return {"members": members, "cache_ts": int(call.state.clock.now()), "response_metadata": {"next_cursor": ""}}


async def get_bot_info(call: Call) -> Answer:
    """Describe the bot of the app or, if `bot` names it, of another app."""
    bot_id = call.args.get("bot", call.state.identity.bot_id)
    bot = next((user for user in call.state.users.values() if user.is_bot and user.bot_id == bot_id), None)
    if bot is None:
        raise Refusal("bot_not_found")
    about = {"id": bot_id, "deleted": False, "name": bot.name, "updated": 0}
    return {"bot": {**about, "app_id": bot.app_id, "user_id": bot.id, "icons": {}}}


async def list_user_groups(call: Call) -> Answer:
    """List the user groups, with the ids of their active members if `include_users` is true."""
    whole = bool(call.args.get("include_users"))
    return {"usergroups": [describe_user_group(call, group, whole) for group in call.state.groups.values()]}


async def list_user_group_members(call: Call) -> Answer:
    """List the ids of a user group's members, without deactivated accounts."""
    group = call.state.groups.get(str(call.args["usergroup"]))
    if group is None:
        raise Refusal("no_such_subteam")
    return {"users": _list_active_members(call, group)}


def describe_user_group(call: Call, group: UserGroup, include_users: bool) -> Json:  # noqa: FBT001  # one private use
    """Return a user group object of Slack's API. `include_users` adds the ids of its active members."""
    users = {"users": _list_active_members(call, group)} if include_users else {}
    about = {"id": group.id, "team_id": call.state.identity.team_id, "is_usergroup": True, "is_subteam": True}
    names = {"name": group.name, "handle": group.handle, "description": "", "is_external": False}
    return {**about, **names, "date_delete": 0, "user_count": len(_list_active_members(call, group)), **users}


def _list_active_members(call: Call, group: UserGroup) -> list[str]:
    return [user for user in group.users if not call.state.users[user].is_deleted]


async def get_team_info(call: Call) -> Answer:
    """Describe the workspace."""
    who = call.state.identity
    about = {"id": who.team_id, "name": who.team_name, "domain": who.team_domain, "email_domain": ""}
    return {"team": {**about, "icon": {"image_default": True}, "url": f"{call.world.base_url}/"}}


def describe_user(call: Call, user: User) -> Json:
    """Return a user object of Slack's API. A deactivated account has only a few fields."""
    who = call.state.identity
    profile: Json = {"real_name": user.real_name, "display_name": user.name, "team": user.team}
    if user.is_deleted:
        about = {"id": user.id, "team_id": user.team, "name": user.name, "deleted": True, "profile": profile}
        return {**about, "is_bot": user.is_bot, "is_app_user": False, "updated": 0}
    if "users:read.email" in call.state.app.scopes and not user.is_bot:
        profile["email"] = f"{user.name}@{who.team_domain}.example"
    if user.is_bot:
        profile |= {"bot_id": user.bot_id, "api_app_id": user.app_id}
    return {
        "id": user.id,
        "team_id": user.team,
        "name": user.name,
        "deleted": False,
        "color": user.color.removeprefix("#"),
        "real_name": user.real_name,
        "tz": "Etc/UTC",
        "tz_label": "Coordinated Universal Time",
        "tz_offset": 0,
        "profile": profile,
        "is_admin": False,
        "is_owner": False,
        "is_restricted": user.standing in ("guest", "channel_guest"),
        "is_ultra_restricted": user.standing == "channel_guest",
        **({"is_stranger": call.state.is_stranger(user)} if user.team != who.team_id else {}),
        "is_bot": user.is_bot,
        "is_app_user": False,
        "updated": 0,
    }
