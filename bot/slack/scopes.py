"""What the code uses of Slack, and the permission each thing needs. `manifest.yml` is held to this by a test."""

from __future__ import annotations

METHOD_SCOPES: dict[str, tuple[str, ...]] = {
    "agents_sessions_rename": ("chat:write",),
    "agents_sessions_setStatus": ("chat:write",),
    "apps_connections_open": (),  # asked with the app-level token, which has the one scope connections:write
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
"""The Web API methods that are called, by their name in the SDK."""

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
"""The events that are handled."""

OTHER_SCOPES = ("commands", "files:read", "assistant:write")
"""The slash command and the shortcut; fetching files by their address; being an agent at all."""


OPTIONAL_SCOPES = frozenset({"lists:read", "lists:write"})
"""Those that only a setting needs: tickets as rows of a list. Whoever installs the app may leave them out."""


def collect_needed_scopes() -> frozenset[str]:
    """Collect all permissions that the bot token needs, whatever is set."""
    tables = (*METHOD_SCOPES.values(), *EVENT_SCOPES.values(), OTHER_SCOPES)
    return frozenset(scope for scopes in tables for scope in scopes) - OPTIONAL_SCOPES
