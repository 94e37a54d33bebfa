"""The methods and events of Slack that the code uses, and the scopes they need. A test keeps `manifest.yml` equal."""

from __future__ import annotations

METHOD_SCOPES: dict[str, tuple[str, ...]] = {
    "agents_sessions_rename": ("chat:write",),
    "agents_sessions_setStatus": ("chat:write",),
    "apps_connections_open": (),  # called with the app-level token, whose only scope is connections:write
    "assistant_threads_setSuggestedPrompts": ("assistant:write",),
    "auth_test": (),
    "canvases_access_set": ("canvases:write",),
    "canvases_create": ("canvases:write",),
    "canvases_delete": ("canvases:write",),
    "chat_appendStream": ("chat:write",),
    "chat_delete": ("chat:write",),
    "chat_postEphemeral": ("chat:write",),
    "chat_postMessage": ("chat:write",),
    "chat_startStream": ("chat:write",),
    "chat_stopStream": ("chat:write",),
    "chat_update": ("chat:write",),
    "conversations_history": ("channels:history", "groups:history", "im:history", "mpim:history"),
    "conversations_info": ("channels:read", "groups:read"),
    "conversations_members": ("channels:read", "groups:read"),
    "conversations_open": ("im:write",),
    "conversations_replies": ("channels:history", "groups:history", "im:history", "mpim:history"),
    "files_completeUploadExternal": ("files:write",),
    "files_delete": ("files:write",),
    "files_getUploadURLExternal": ("files:write",),
    "files_info": ("files:read",),
    "files_upload_v2": ("files:write",),
    "reactions_add": ("reactions:write",),
    "slackLists_access_set": ("lists:write",),
    "slackLists_create": ("lists:write",),
    "slackLists_items_create": ("lists:write",),
    "slackLists_items_list": ("lists:read",),
    "usergroups_list": ("usergroups:read",),
    "users_conversations": ("channels:read", "groups:read"),
    "users_info": ("users:read",),
    "users_list": ("users:read",),
    "views_open": (),
    "views_publish": (),
    "views_push": (),
    "views_update": (),
}
"""The scopes of the Web API methods that are called, by the method's name in the SDK."""

EVENT_SCOPES: dict[str, tuple[str, ...]] = {
    "agent_session_stopped": ("chat:write",),
    "app_context_changed": (),
    "app_home_opened": (),
    "app_mention": ("app_mentions:read",),
    "app_uninstalled": (),
    "file_deleted": ("files:read",),
    "message.channels": ("channels:history",),
    "message.groups": ("groups:history",),
    "message.im": ("im:history",),
    "message.mpim": ("mpim:history",),
    "reaction_added": ("reactions:read",),
    "reaction_removed": ("reactions:read",),
    "tokens_revoked": (),
}
"""The scopes of the events that are handled, by the event's name in the manifest."""

FEATURE_SCOPES = ("commands", "files:read", "assistant:write")
"""Scopes for the slash command and the shortcut, for downloading files, and for being an agent."""


OPTIONAL_SCOPES = frozenset({"lists:read", "lists:write"})
"""Scopes that only one setting needs: tickets as rows of a Slack list. An installation may leave them out."""


def list_needed_scopes() -> frozenset[str]:
    """Return the scopes that the bot token needs under all settings."""
    tables = (*METHOD_SCOPES.values(), *EVENT_SCOPES.values(), FEATURE_SCOPES)
    return frozenset(scope for scopes in tables for scope in scopes) - OPTIONAL_SCOPES
