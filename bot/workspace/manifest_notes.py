"""Notes on a manifest: what it asks of Slack that this workspace does not do."""

from bot.workspace.manifest import Manifest

SENT_EVENTS = frozenset(
    {
        "agent_session_stopped",
        "app_home_opened",
        "app_mention",
        "assistant_thread_started",
        "member_joined_channel",
        "member_left_channel",
        "message.channels",
        "message.groups",
        "message.im",
        "message.mpim",
        "reaction_added",
        "reaction_removed",
        "subteam_members_changed",
    }
)
ASSISTANT_VIEW = (
    "features.assistant_view is the older form of an agent: Slack keeps it for apps that have it and gives new apps "
    "features.agent_view. Here opening the direct message, or writing at its top, starts an assistant thread "
    "(assistant_thread_started). Such an app has no agent sessions and no Stop button."
)


def notes_on(app: Manifest) -> list[str]:
    """Return a sentence for each thing that the app asks for and will not get here as on Slack."""
    notes = [ASSISTANT_VIEW] if app.is_assistant else []
    never = sorted(app.events - SENT_EVENTS)
    if never:
        notes.append(f"The app subscribes to events that this workspace never sends: {', '.join(never)}.")
    return notes
