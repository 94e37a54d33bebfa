"""reactions.add, remove and get."""

import re

from bot.workspace.refusal import Refusal
from bot.workspace.web_api.api_call import Answer, Call

NAME = re.compile(r"[a-z0-9_+'-]{1,100}(::skin-tone-[2-6])?")


async def add(call: Call) -> Answer:
    """Add a reaction."""
    return _react(call, add=True)


async def remove(call: Call) -> Answer:
    """Take a reaction of the app's own away."""
    if not call.args.get("channel") or not call.args.get("timestamp"):
        raise Refusal("no_item_specified")
    return _react(call, add=False)


async def get(call: Call) -> Answer:
    """List the reactions to a message."""
    channel = call.channel()
    return {"type": "message", "channel": channel.id, "message": call.message(channel, "timestamp").data}


def _react(call: Call, *, add: bool) -> Answer:
    channel = call.writable_channel()
    name = str(call.args["name"]).strip(":")
    if not NAME.fullmatch(name):
        raise Refusal("invalid_name")
    message = call.message(channel, "timestamp")
    if not call.world.messages.react(channel, message, call.state.identity.bot_user_id, name, add=add):
        raise Refusal("already_reacted" if add else "no_reaction")
    return {}
