"""api.test, auth.test, apps.connections.open, users.*, bots.info, team.info."""

from bot.workspace.identity import User
from bot.workspace.refusal import Refusal
from bot.workspace.web_api.api_call import Answer, Call
from bot.workspace.workspace_state import Json


async def api_test(call: Call) -> Answer:
    """Answer with the arguments that came in."""
    if call.args.get("error"):
        raise Refusal(str(call.args["error"]), args=call.args)
    return {"args": call.args}


async def auth_test(call: Call) -> Answer:
    """Tell whose token it is."""
    who = call.state.identity
    return {
        "url": f"{call.world.base_url}/",
        "team": who.team_name,
        "user": call.state.bot.name,
        "team_id": who.team_id,
        "user_id": who.bot_user_id,
        "bot_id": who.bot_id,
        "is_enterprise_install": False,
    }


async def open_connection(call: Call) -> Answer:
    """Give the address of a Socket Mode connection."""
    sockets = call.world.sockets
    if sockets is None:
        raise Refusal("socket_mode_not_enabled")
    ticket = sockets.ticket()
    address = call.world.base_url.replace("http", "ws", 1)
    return {"url": f"{address}/link/?ticket={ticket}&app_id={call.state.identity.app_id}"}


async def user_info(call: Call) -> Answer:
    """Describe a person or the bot."""
    user = call.state.users.get(str(call.args["user"]))
    if user is None:
        raise Refusal("user_not_found")
    return {"user": describe(call, user)}


async def list_users(call: Call) -> Answer:
    """List everybody."""
    found = [describe(call, user) for user in call.state.users.values()]
    return {"members": found, "cache_ts": int(call.state.clock.now()), "response_metadata": {"next_cursor": ""}}


async def bot_info(call: Call) -> Answer:
    """Describe the bot."""
    who = call.state.identity
    if call.args.get("bot", who.bot_id) != who.bot_id:
        raise Refusal("bot_not_found")
    about = {"id": who.bot_id, "deleted": False, "name": call.state.bot.name, "updated": 0}
    return {"bot": {**about, "app_id": who.app_id, "user_id": who.bot_user_id, "icons": {}}}


async def team_info(call: Call) -> Answer:
    """Describe the workspace."""
    who = call.state.identity
    about = {"id": who.team_id, "name": who.team_name, "domain": who.team_domain, "email_domain": ""}
    return {"team": {**about, "icon": {"image_default": True}, "url": f"{call.world.base_url}/"}}


def describe(call: Call, user: User) -> Json:
    """Return a user as Slack describes one."""
    who = call.state.identity
    profile: Json = {"real_name": user.real_name, "display_name": user.name, "team": who.team_id}
    if "users:read.email" in call.state.app.scopes and not user.is_bot:
        profile["email"] = f"{user.name}@{who.team_domain}.example"
    if user.is_bot:
        profile |= {"bot_id": who.bot_id, "api_app_id": who.app_id}
    return {
        "id": user.id,
        "team_id": who.team_id,
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
        "is_restricted": False,
        "is_ultra_restricted": False,
        "is_bot": user.is_bot,
        "is_app_user": False,
        "updated": 0,
    }
