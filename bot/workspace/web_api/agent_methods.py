"""Handlers of assistant.threads.* and agents.sessions.*."""

from typing import Any

from bot.workspace.agent_sessions import SESSION_STATES
from bot.workspace.refusal import Refusal
from bot.workspace.web_api.api_call import Answer, Call
from bot.workspace.workspace_state import Channel

MAX_LOADING_MESSAGES = 10
MAX_PROMPTS = 4
MAX_TITLE_CHARACTERS = 200
STOP_EVENT = "agent_session_stopped"


async def set_status(call: Call) -> Answer:
    """Show a passing status in a thread, for two minutes or until the agent answers. An empty status clears it."""
    channel, thread_ts = _find_thread(call)
    loading = call.args.get("loading_messages") or []
    if not isinstance(loading, list) or not all(isinstance(each, str) for each in loading):
        raise _make_argument_refusal("must be an array of strings", "loading_messages")
    if len(loading) > MAX_LOADING_MESSAGES:
        raise _make_argument_refusal(f"no more than {MAX_LOADING_MESSAGES} items allowed", "loading_messages")
    call.world.sessions.set_status(channel.id, thread_ts, call.args["status"], loading)
    return {}


async def set_title(call: Call) -> Answer:
    """Set the title of a thread."""
    channel, thread_ts = _find_thread(call)
    call.world.sessions.set_session_title(channel.id, thread_ts, call.args["title"])
    return {}


async def set_prompts(call: Call) -> Answer:
    """Set the suggested prompts of a thread or, without `thread_ts`, of the whole direct message."""
    if call.args.get("thread_ts"):
        channel, thread_ts = _find_thread(call)
    else:
        channel, thread_ts = call.find_writable_channel("channel_id"), ""
    prompts = call.args["prompts"]
    if not isinstance(prompts, list) or not all(_is_prompt(each) for each in prompts):
        raise _make_argument_refusal("must be an array of objects with title and message", "prompts")
    if len(prompts) > MAX_PROMPTS:
        raise _make_argument_refusal(f"no more than {MAX_PROMPTS} items allowed", "prompts")
    call.world.sessions.show_prompts(channel.id, thread_ts, prompts)
    return {}


async def set_session_status(call: Call) -> Answer:
    """Set the status of a thread's session. The session is started if there is none."""
    channel, thread_ts = _find_session_thread(call)
    status, title = call.args["status"], call.args.get("title", "")
    if status not in SESSION_STATES:
        raise _make_argument_refusal(f"must be one of {', '.join(SESSION_STATES)}", "status")
    if len(title) > MAX_TITLE_CHARACTERS:
        raise _make_argument_refusal(f"must be less than {MAX_TITLE_CHARACTERS + 1} characters", "title")
    initiator = call.args.get("initiator_user_id", "")
    if initiator and initiator not in channel.members:
        raise Refusal("user_not_in_channel")
    if status == "processing" and not call.world.delivery.is_subscribed(STOP_EVENT):
        call.warnings.append("missing_agent_session_stopped_event_subscription")
    own = call.state.identity.app_id
    session = call.world.sessions.set_session(channel.id, thread_ts, status, title, initiator, app_id=own)
    return {"status": session.status, "agent_status": session.status, "title": session.title}


async def rename_session(call: Call) -> Answer:
    """Change a session's title."""
    channel, thread_ts = _find_session_thread(call)
    title = call.args["title"]
    if not 0 < len(title) <= MAX_TITLE_CHARACTERS:
        raise _make_argument_refusal(f"must have 1 to {MAX_TITLE_CHARACTERS} characters", "title")
    if call.world.sessions.rename_session(channel.id, thread_ts, title) is None:
        raise Refusal("session_not_found")
    return {"title": title}


def _find_thread(call: Call) -> tuple[Channel, str]:
    channel = call.find_writable_channel("channel_id")
    thread_ts = call.find_thread_ts(channel)
    if thread_ts is None:
        raise Refusal("thread_not_found")
    return channel, thread_ts


def _find_session_thread(call: Call) -> tuple[Channel, str]:
    if not call.state.app.is_agent:
        raise Refusal("agent_view_not_enabled", "The manifest has no features.agent_view, so this app has no sessions.")
    if not call.args.get("thread_ts"):
        raise _make_argument_refusal("missing required field: thread_ts", "thread_ts")
    return _find_thread(call)


def _is_prompt(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in ("title", "message"))


def _make_argument_refusal(text: str, name: str) -> Refusal:
    return Refusal("invalid_arguments", f"[ERROR] {text} [json-pointer:/{name}]")
