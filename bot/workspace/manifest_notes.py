"""Notes on a manifest: what it asks of Slack that this workspace does not do."""

from bot.workspace.manifest import Manifest

SENT_EVENTS = {
    "agent_session_stopped": "a person presses Stop in a thread whose agent session is processing",
    "app_context_changed": "a person opens another channel, thread or canvas, for an app with `features.agent_view`",
    "app_home_opened": "a person opens the app's home or messages tab",
    "app_mention": "a message in a channel mentions the app, or an edit adds the mention",
    "app_uninstalled": "a test takes the app out of the workspace",
    "assistant_thread_started": "a person opens a direct message with an app that has `features.assistant_view`",
    "file_deleted": "a file is deleted",
    "function_executed": "a person runs one of the manifest's `functions` as a step of a workflow",
    "member_joined_channel": "the app comes into a channel",
    "member_left_channel": "the app is taken out of a channel",
    "message.channels": "a message in a public channel that the app is in: written, edited or deleted",
    "message.groups": "the same in a private channel",
    "message.im": "the same in a direct message with the app",
    "message.mpim": "the same in a group conversation",
    "reaction_added": "somebody reacts to a message",
    "reaction_removed": "somebody takes a reaction away",
    "subteam_members_changed": "a test changes who is in a user group",
    "tokens_revoked": "a test takes the app out of the workspace",
}
"""The events that the workspace sends, and when."""
ASSISTANT_VIEW = (
    "features.assistant_view is the older form of an agent: Slack keeps it for apps that have it and gives new apps "
    "features.agent_view. Here opening the direct message, or writing at its top, starts an assistant thread "
    "(assistant_thread_started). Such an app has no agent sessions and no Stop button."
)


def notes_on(app: Manifest) -> list[str]:
    """Return a sentence for each thing that the app asks for and will not get here as on Slack."""
    notes = [ASSISTANT_VIEW] if app.is_assistant else []
    never = sorted(app.events - SENT_EVENTS.keys())
    if never:
        notes.append(f"The app subscribes to events that this workspace never sends: {', '.join(never)}.")
    return notes
