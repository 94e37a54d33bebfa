"""The table of the Web API methods that the workspace has: arguments, scopes and rate limits."""

from bot.workspace.rate_limits import POST, SPECIAL, STATUS, TIER_2, TIER_3, TIER_4
from bot.workspace.web_api import (
    agent_methods,
    chat_methods,
    conversation_methods,
    file_methods,
    list_methods,
    stream_methods,
    user_methods,
    view_methods,
)
from bot.workspace.web_api.api_call import ArgumentKind, Method

PERSONA: dict[str, ArgumentKind] = {"username": "text", "icon_emoji": "text", "icon_url": "text"}
MESSAGE: dict[str, ArgumentKind] = {
    "channel": "text",
    "text": "text",
    "blocks": "json",
    "attachments": "json",
    "as_user": "bool",
    "link_names": "bool",
    "parse": "text",
    "markdown_text": "text",
}
PAGED: dict[str, ArgumentKind] = {"cursor": "text", "limit": "int"}
WINDOW: dict[str, ArgumentKind] = {
    **PAGED,
    "channel": "text",
    "inclusive": "bool",
    "include_all_metadata": "bool",
    "latest": "text",
    "oldest": "text",
}
VIEW: dict[str, ArgumentKind] = {"view": "json"}
CHUNKED: dict[str, ArgumentKind] = {"channel": "text", "markdown_text": "text", "chunks": "json"}
THREAD: dict[str, ArgumentKind] = {"channel_id": "text", "thread_ts": "text"}
ASSISTANT = ("assistant:write", "chat:write")

CHAT: dict[str, Method] = {
    "chat.postMessage": Method(
        chat_methods.post_message,
        {
            **MESSAGE,
            **PERSONA,
            "thread_ts": "text",
            "reply_broadcast": "bool",
            "unfurl_links": "bool",
            "unfurl_media": "bool",
            "container_id": "text",
            "mrkdwn": "bool",
            "metadata": "json",
        },
        POST,
        ("channel",),
    ),
    "chat.update": Method(
        chat_methods.update,
        {**MESSAGE, "ts": "text", "file_ids": "text", "reply_broadcast": "bool", "metadata": "json"},
        TIER_3,
        ("channel", "ts"),
    ),
    "chat.delete": Method(
        chat_methods.delete, {"channel": "text", "ts": "text", "as_user": "bool"}, TIER_3, ("channel", "ts")
    ),
    "chat.postEphemeral": Method(
        chat_methods.post_ephemeral,
        {**MESSAGE, **PERSONA, "user": "text", "thread_ts": "text"},
        TIER_4,
        ("channel", "user"),
    ),
    "chat.getPermalink": Method(
        chat_methods.get_permalink,
        {"channel": "text", "message_ts": "text"},
        SPECIAL,
        ("channel", "message_ts"),
        get=True,
    ),
    "chat.scheduleMessage": Method(
        chat_methods.schedule_message,
        {
            **MESSAGE,
            "post_at": "int",
            "thread_ts": "text",
            "reply_broadcast": "bool",
            "unfurl_links": "bool",
            "unfurl_media": "bool",
        },
        TIER_3,
        ("channel", "post_at"),
    ),
    "chat.scheduledMessages.list": Method(
        chat_methods.list_scheduled, {**PAGED, "channel": "text", "latest": "text", "oldest": "text"}, TIER_3
    ),
    "chat.deleteScheduledMessage": Method(
        chat_methods.delete_scheduled,
        {"channel": "text", "scheduled_message_id": "text", "as_user": "bool"},
        TIER_3,
        ("channel", "scheduled_message_id"),
    ),
    "chat.startStream": Method(
        stream_methods.start_stream,
        {
            **CHUNKED,
            **PERSONA,
            "thread_ts": "text",
            "recipient_team_id": "text",
            "recipient_user_id": "text",
            "task_display_mode": "text",
        },
        TIER_2,
        ("channel",),
    ),
    "chat.appendStream": Method(stream_methods.append_stream, {**CHUNKED, "ts": "text"}, TIER_4, ("channel", "ts")),
    "chat.stopStream": Method(
        stream_methods.stop_stream,
        {**CHUNKED, "ts": "text", "blocks": "json", "metadata": "json", "session_status": "text"},
        TIER_2,
        ("channel", "ts"),
    ),
}

READING: dict[str, Method] = {
    "api.test": Method(user_methods.api_test, {"error": "text", "foo": "text"}, TIER_4, get=True, authority="none"),
    "auth.test": Method(user_methods.auth_test, {}, SPECIAL, get=True),
    "oauth.v2.access": Method(
        user_methods.oauth_access,
        dict.fromkeys(("client_id", "client_secret", "code", "grant_type", "redirect_uri", "refresh_token"), "text"),
        TIER_4,
        authority="none",
    ),
    "apps.connections.open": Method(user_methods.open_connection, {}, TIER_3, authority="app"),
    "conversations.info": Method(
        conversation_methods.info,
        {"channel": "text", "include_locale": "bool", "include_num_members": "bool"},
        TIER_3,
        ("channel",),
        get=True,
    ),
    "conversations.history": Method(conversation_methods.history, WINDOW, TIER_3, ("channel",), get=True),
    "conversations.replies": Method(
        conversation_methods.replies, {**WINDOW, "ts": "text"}, TIER_3, ("channel", "ts"), get=True
    ),
    "conversations.list": Method(
        conversation_methods.list_channels, {**PAGED, "exclude_archived": "bool", "types": "text"}, TIER_2, get=True
    ),
    "conversations.members": Method(
        conversation_methods.members, {**PAGED, "channel": "text"}, TIER_4, ("channel",), get=True
    ),
    "users.conversations": Method(
        conversation_methods.list_own,
        {**PAGED, "exclude_archived": "bool", "team_id": "text", "types": "text", "user": "text"},
        TIER_3,
        get=True,
    ),
    "users.info": Method(
        user_methods.user_info, {"user": "text", "include_locale": "bool"}, TIER_4, ("user",), ("users:read",), get=True
    ),
    "users.list": Method(
        user_methods.list_users, {**PAGED, "include_locale": "bool"}, TIER_2, (), ("users:read",), get=True
    ),
    "users.lookupByEmail": Method(
        user_methods.find_by_email, {"email": "text"}, TIER_3, ("email",), ("users:read.email",), get=True
    ),
    "usergroups.list": Method(
        user_methods.list_groups,
        {"include_count": "bool", "include_disabled": "bool", "include_users": "bool", "team_id": "text"},
        TIER_2,
        (),
        ("usergroups:read",),
        get=True,
    ),
    "usergroups.users.list": Method(
        user_methods.group_users,
        {"usergroup": "text", "include_disabled": "bool", "team_id": "text"},
        TIER_2,
        ("usergroup",),
        ("usergroups:read",),
        get=True,
    ),
    "bots.info": Method(user_methods.bot_info, {"bot": "text"}, TIER_3, (), ("users:read",), get=True),
    "team.info": Method(
        user_methods.team_info,
        {"team": "text", "domain": "text", "include_slackbot_availability": "bool"},
        TIER_3,
        (),
        ("team:read",),
        get=True,
    ),
    "files.info": Method(
        file_methods.file_info,
        {**PAGED, "file": "text", "count": "int", "page": "int"},
        TIER_4,
        ("file",),
        ("files:read",),
        get=True,
    ),
}

WRITING: dict[str, Method] = {
    "conversations.open": Method(
        conversation_methods.open_dm, {"channel": "text", "users": "text", "return_im": "bool"}, TIER_3
    ),
    "conversations.create": Method(
        conversation_methods.create, {"name": "text", "is_private": "bool"}, TIER_2, ("name",)
    ),
    "conversations.invite": Method(
        conversation_methods.invite, {"channel": "text", "users": "ids", "force": "bool"}, TIER_3, ("channel", "users")
    ),
    "conversations.setTopic": Method(
        conversation_methods.set_topic, {"channel": "text", "topic": "text"}, TIER_2, ("channel", "topic")
    ),
    "conversations.join": Method(conversation_methods.join, {"channel": "text"}, TIER_3, ("channel",)),
    "reactions.add": Method(
        chat_methods.add_reaction,
        {"channel": "text", "name": "text", "timestamp": "text"},
        TIER_3,
        ("channel", "name", "timestamp"),
        ("reactions:write",),
    ),
    "reactions.get": Method(
        chat_methods.get_reactions,
        {"channel": "text", "timestamp": "text", "full": "bool", "file": "text", "file_comment": "text"},
        TIER_3,
        ("channel", "timestamp"),
        ("reactions:read",),
        get=True,
    ),
    "reactions.remove": Method(
        chat_methods.remove_reaction,
        {"channel": "text", "name": "text", "timestamp": "text", "file": "text", "file_comment": "text"},
        TIER_2,
        ("name",),
        ("reactions:write",),
    ),
    "files.getUploadURLExternal": Method(
        file_methods.get_upload_url,
        {"filename": "text", "length": "int", "alt_txt": "text", "snippet_type": "text"},
        TIER_4,
        ("filename", "length"),
        ("files:write",),
    ),
    "files.completeUploadExternal": Method(
        file_methods.complete_upload,
        {"files": "json", "channel_id": "text", "channels": "text", "initial_comment": "text", "thread_ts": "text"},
        TIER_4,
        ("files",),
        ("files:write",),
    ),
    "views.open": Method(
        view_methods.open_view, {**VIEW, "trigger_id": "text", "interactivity_pointer": "text"}, TIER_4, ("view",)
    ),
    "views.push": Method(
        view_methods.push, {**VIEW, "trigger_id": "text", "interactivity_pointer": "text"}, TIER_4, ("view",)
    ),
    "views.update": Method(
        view_methods.update, {**VIEW, "view_id": "text", "external_id": "text", "hash": "text"}, TIER_4, ("view",)
    ),
    "views.publish": Method(
        view_methods.publish, {**VIEW, "user_id": "text", "hash": "text"}, TIER_4, ("view", "user_id")
    ),
    "canvases.create": Method(
        file_methods.create_canvas,
        {"title": "text", "document_content": "json", "channel_id": "text"},
        TIER_2,
        (),
        ("canvases:write",),
    ),
    "canvases.access.set": Method(
        file_methods.set_access,
        {"canvas_id": "text", "access_level": "text", "channel_ids": "ids", "user_ids": "ids"},
        TIER_3,
        ("canvas_id", "access_level"),
        ("canvases:write",),
    ),
    "canvases.delete": Method(
        file_methods.delete_canvas, {"canvas_id": "text"}, TIER_3, ("canvas_id",), ("canvases:write",)
    ),
    "files.delete": Method(file_methods.delete_file, {"file": "text"}, TIER_3, ("file",), ("files:write",)),
    "slackLists.create": Method(
        list_methods.create, {"name": "text", "schema": "json"}, TIER_2, ("name",), ("lists:write",)
    ),
    "slackLists.items.create": Method(
        list_methods.create_item,
        {"list_id": "text", "initial_fields": "json"},
        TIER_3,
        ("list_id",),
        ("lists:write",),
    ),
    "slackLists.items.list": Method(
        list_methods.list_items, {**PAGED, "list_id": "text"}, TIER_3, ("list_id",), ("lists:read",)
    ),
    "slackLists.access.set": Method(
        list_methods.set_access,
        {"list_id": "text", "access_level": "text", "channel_ids": "ids", "user_ids": "ids"},
        TIER_3,
        ("list_id", "access_level"),
        ("lists:write",),
    ),
    "canvases.edit": Method(
        file_methods.edit_canvas,
        {"canvas_id": "text", "changes": "json"},
        TIER_3,
        ("canvas_id", "changes"),
        ("canvases:write",),
    ),
}

AGENT: dict[str, Method] = {
    "assistant.threads.setStatus": Method(
        agent_methods.set_status,
        {**THREAD, **PERSONA, "status": "text", "loading_messages": "json"},
        STATUS,
        ("channel_id", "thread_ts", "status"),
        ASSISTANT,
    ),
    "assistant.threads.setTitle": Method(
        agent_methods.set_title, {**THREAD, "title": "text"}, TIER_3, ("channel_id", "thread_ts", "title"), ASSISTANT
    ),
    "assistant.threads.setSuggestedPrompts": Method(
        agent_methods.set_prompts,
        {**THREAD, "title": "text", "prompts": "json"},
        TIER_3,
        ("channel_id", "prompts"),
        ASSISTANT,
    ),
    "agents.sessions.setStatus": Method(
        agent_methods.set_session_status,
        {**THREAD, **PERSONA, "status": "text", "title": "text", "initiator_user_id": "text"},
        TIER_3,
        ("channel_id", "status"),
        ("chat:write",),
    ),
    "agents.sessions.rename": Method(
        agent_methods.rename_session, {**THREAD, "title": "text"}, TIER_3, ("channel_id", "title"), ("chat:write",)
    ),
}

FUNCTIONS: dict[str, Method] = {
    "functions.completeSuccess": Method(
        view_methods.complete_success,
        {"function_execution_id": "text", "outputs": "json"},
        TIER_3,
        ("function_execution_id", "outputs"),
    ),
    "functions.completeError": Method(
        view_methods.complete_error,
        {"function_execution_id": "text", "error": "text"},
        TIER_3,
        ("function_execution_id", "error"),
    ),
}

METHODS: dict[str, Method] = {**CHAT, **READING, **WRITING, **AGENT, **FUNCTIONS}
