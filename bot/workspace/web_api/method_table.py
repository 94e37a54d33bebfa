"""The table of the Web API methods that the workspace has: arguments, scopes and rate limits."""

from bot.workspace.rate_limits import POST_MESSAGE_RATE, SPECIAL_TIER, STATUS_RATE, TIER_2, TIER_3, TIER_4
from bot.workspace.web_api import (
    agent_methods,
    chat_methods,
    conversation_methods,
    file_methods,
    slack_list_methods,
    stream_methods,
    user_methods,
    view_methods,
)
from bot.workspace.web_api.api_call import ApiMethod, ArgumentKind

PERSONA_ARGUMENTS: dict[str, ArgumentKind] = {"username": "text", "icon_emoji": "text", "icon_url": "text"}
MESSAGE_ARGUMENTS: dict[str, ArgumentKind] = {
    "channel": "text",
    "text": "text",
    "blocks": "json",
    "attachments": "json",
    "as_user": "bool",
    "link_names": "bool",
    "parse": "text",
    "markdown_text": "text",
}
PAGE_ARGUMENTS: dict[str, ArgumentKind] = {"cursor": "text", "limit": "int"}
WINDOW_ARGUMENTS: dict[str, ArgumentKind] = {
    **PAGE_ARGUMENTS,
    "channel": "text",
    "inclusive": "bool",
    "include_all_metadata": "bool",
    "latest": "text",
    "oldest": "text",
}
VIEW_ARGUMENTS: dict[str, ArgumentKind] = {"view": "json"}
CHUNK_ARGUMENTS: dict[str, ArgumentKind] = {"channel": "text", "markdown_text": "text", "chunks": "json"}
THREAD_ARGUMENTS: dict[str, ArgumentKind] = {"channel_id": "text", "thread_ts": "text"}
ASSISTANT_SCOPES = ("assistant:write", "chat:write")

CHAT_METHODS: dict[str, ApiMethod] = {
    "chat.postMessage": ApiMethod(
        chat_methods.post_message,
        {
            **MESSAGE_ARGUMENTS,
            **PERSONA_ARGUMENTS,
            "thread_ts": "text",
            "reply_broadcast": "bool",
            "unfurl_links": "bool",
            "unfurl_media": "bool",
            "container_id": "text",
            "mrkdwn": "bool",
            "metadata": "json",
        },
        POST_MESSAGE_RATE,
        ("channel",),
    ),
    "chat.update": ApiMethod(
        chat_methods.update_message,
        {**MESSAGE_ARGUMENTS, "ts": "text", "file_ids": "text", "reply_broadcast": "bool", "metadata": "json"},
        TIER_3,
        ("channel", "ts"),
    ),
    "chat.delete": ApiMethod(
        chat_methods.delete_message, {"channel": "text", "ts": "text", "as_user": "bool"}, TIER_3, ("channel", "ts")
    ),
    "chat.postEphemeral": ApiMethod(
        chat_methods.post_ephemeral,
        {**MESSAGE_ARGUMENTS, **PERSONA_ARGUMENTS, "user": "text", "thread_ts": "text"},
        TIER_4,
        ("channel", "user"),
    ),
    "chat.getPermalink": ApiMethod(
        chat_methods.get_permalink,
        {"channel": "text", "message_ts": "text"},
        SPECIAL_TIER,
        ("channel", "message_ts"),
        allows_get=True,
    ),
    "chat.scheduleMessage": ApiMethod(
        chat_methods.schedule_message,
        {
            **MESSAGE_ARGUMENTS,
            "post_at": "int",
            "thread_ts": "text",
            "reply_broadcast": "bool",
            "unfurl_links": "bool",
            "unfurl_media": "bool",
        },
        TIER_3,
        ("channel", "post_at"),
    ),
    "chat.scheduledMessages.list": ApiMethod(
        chat_methods.list_scheduled_messages,
        {**PAGE_ARGUMENTS, "channel": "text", "latest": "text", "oldest": "text"},
        TIER_3,
    ),
    "chat.deleteScheduledMessage": ApiMethod(
        chat_methods.delete_scheduled_message,
        {"channel": "text", "scheduled_message_id": "text", "as_user": "bool"},
        TIER_3,
        ("channel", "scheduled_message_id"),
    ),
    "chat.startStream": ApiMethod(
        stream_methods.start_stream,
        {
            **CHUNK_ARGUMENTS,
            **PERSONA_ARGUMENTS,
            "thread_ts": "text",
            "recipient_team_id": "text",
            "recipient_user_id": "text",
            "task_display_mode": "text",
        },
        TIER_2,
        ("channel",),
    ),
    "chat.appendStream": ApiMethod(
        stream_methods.append_stream, {**CHUNK_ARGUMENTS, "ts": "text"}, TIER_4, ("channel", "ts")
    ),
    "chat.stopStream": ApiMethod(
        stream_methods.stop_stream,
        {**CHUNK_ARGUMENTS, "ts": "text", "blocks": "json", "metadata": "json", "session_status": "text"},
        TIER_2,
        ("channel", "ts"),
    ),
}

READ_METHODS: dict[str, ApiMethod] = {
    "api.test": ApiMethod(
        user_methods.api_test, {"error": "text", "foo": "text"}, TIER_4, allows_get=True, auth_kind="none"
    ),
    "auth.test": ApiMethod(user_methods.auth_test, {}, SPECIAL_TIER, allows_get=True),
    "oauth.v2.access": ApiMethod(
        user_methods.oauth_access,
        dict.fromkeys(("client_id", "client_secret", "code", "grant_type", "redirect_uri", "refresh_token"), "text"),
        TIER_4,
        auth_kind="none",
    ),
    "apps.connections.open": ApiMethod(user_methods.open_connection, {}, TIER_3, auth_kind="app"),
    "conversations.info": ApiMethod(
        conversation_methods.get_channel_info,
        {"channel": "text", "include_locale": "bool", "include_num_members": "bool"},
        TIER_3,
        ("channel",),
        allows_get=True,
    ),
    "conversations.history": ApiMethod(
        conversation_methods.list_history, WINDOW_ARGUMENTS, TIER_3, ("channel",), allows_get=True
    ),
    "conversations.replies": ApiMethod(
        conversation_methods.list_replies,
        {**WINDOW_ARGUMENTS, "ts": "text"},
        TIER_3,
        ("channel", "ts"),
        allows_get=True,
    ),
    "conversations.list": ApiMethod(
        conversation_methods.list_channels,
        {**PAGE_ARGUMENTS, "exclude_archived": "bool", "types": "text"},
        TIER_2,
        allows_get=True,
    ),
    "conversations.members": ApiMethod(
        conversation_methods.list_members, {**PAGE_ARGUMENTS, "channel": "text"}, TIER_4, ("channel",), allows_get=True
    ),
    "users.conversations": ApiMethod(
        conversation_methods.list_own_channels,
        {**PAGE_ARGUMENTS, "exclude_archived": "bool", "team_id": "text", "types": "text", "user": "text"},
        TIER_3,
        allows_get=True,
    ),
    "users.info": ApiMethod(
        user_methods.get_user_info,
        {"user": "text", "include_locale": "bool"},
        TIER_4,
        ("user",),
        ("users:read",),
        allows_get=True,
    ),
    "users.list": ApiMethod(
        user_methods.list_users,
        {**PAGE_ARGUMENTS, "include_locale": "bool"},
        TIER_2,
        (),
        ("users:read",),
        allows_get=True,
    ),
    "users.lookupByEmail": ApiMethod(
        user_methods.find_user_by_email, {"email": "text"}, TIER_3, ("email",), ("users:read.email",), allows_get=True
    ),
    "usergroups.list": ApiMethod(
        user_methods.list_user_groups,
        {"include_count": "bool", "include_disabled": "bool", "include_users": "bool", "team_id": "text"},
        TIER_2,
        (),
        ("usergroups:read",),
        allows_get=True,
    ),
    "usergroups.users.list": ApiMethod(
        user_methods.list_user_group_members,
        {"usergroup": "text", "include_disabled": "bool", "team_id": "text"},
        TIER_2,
        ("usergroup",),
        ("usergroups:read",),
        allows_get=True,
    ),
    "bots.info": ApiMethod(user_methods.get_bot_info, {"bot": "text"}, TIER_3, (), ("users:read",), allows_get=True),
    "team.info": ApiMethod(
        user_methods.get_team_info,
        {"team": "text", "domain": "text", "include_slackbot_availability": "bool"},
        TIER_3,
        (),
        ("team:read",),
        allows_get=True,
    ),
    "files.info": ApiMethod(
        file_methods.get_file_info,
        {**PAGE_ARGUMENTS, "file": "text", "count": "int", "page": "int"},
        TIER_4,
        ("file",),
        ("files:read",),
        allows_get=True,
    ),
}

WRITE_METHODS: dict[str, ApiMethod] = {
    "conversations.open": ApiMethod(
        conversation_methods.open_dm, {"channel": "text", "users": "text", "return_im": "bool"}, TIER_3
    ),
    "conversations.create": ApiMethod(
        conversation_methods.create_channel, {"name": "text", "is_private": "bool"}, TIER_2, ("name",)
    ),
    "conversations.invite": ApiMethod(
        conversation_methods.invite_members,
        {"channel": "text", "users": "ids", "force": "bool"},
        TIER_3,
        ("channel", "users"),
    ),
    "conversations.setTopic": ApiMethod(
        conversation_methods.set_topic, {"channel": "text", "topic": "text"}, TIER_2, ("channel", "topic")
    ),
    "conversations.join": ApiMethod(conversation_methods.join_channel, {"channel": "text"}, TIER_3, ("channel",)),
    "reactions.add": ApiMethod(
        chat_methods.add_reaction,
        {"channel": "text", "name": "text", "timestamp": "text"},
        TIER_3,
        ("channel", "name", "timestamp"),
        ("reactions:write",),
    ),
    "reactions.get": ApiMethod(
        chat_methods.get_reactions,
        {"channel": "text", "timestamp": "text", "full": "bool", "file": "text", "file_comment": "text"},
        TIER_3,
        ("channel", "timestamp"),
        ("reactions:read",),
        allows_get=True,
    ),
    "reactions.remove": ApiMethod(
        chat_methods.remove_reaction,
        {"channel": "text", "name": "text", "timestamp": "text", "file": "text", "file_comment": "text"},
        TIER_2,
        ("name",),
        ("reactions:write",),
    ),
    "files.getUploadURLExternal": ApiMethod(
        file_methods.get_upload_url,
        {"filename": "text", "length": "int", "alt_txt": "text", "snippet_type": "text"},
        TIER_4,
        ("filename", "length"),
        ("files:write",),
    ),
    "files.completeUploadExternal": ApiMethod(
        file_methods.complete_upload,
        {"files": "json", "channel_id": "text", "channels": "text", "initial_comment": "text", "thread_ts": "text"},
        TIER_4,
        ("files",),
        ("files:write",),
    ),
    "views.open": ApiMethod(
        view_methods.open_view,
        {**VIEW_ARGUMENTS, "trigger_id": "text", "interactivity_pointer": "text"},
        TIER_4,
        ("view",),
    ),
    "views.push": ApiMethod(
        view_methods.push_view,
        {**VIEW_ARGUMENTS, "trigger_id": "text", "interactivity_pointer": "text"},
        TIER_4,
        ("view",),
    ),
    "views.update": ApiMethod(
        view_methods.update_view,
        {**VIEW_ARGUMENTS, "view_id": "text", "external_id": "text", "hash": "text"},
        TIER_4,
        ("view",),
    ),
    "views.publish": ApiMethod(
        view_methods.publish_home, {**VIEW_ARGUMENTS, "user_id": "text", "hash": "text"}, TIER_4, ("view", "user_id")
    ),
    "canvases.create": ApiMethod(
        file_methods.create_canvas,
        {"title": "text", "document_content": "json", "channel_id": "text"},
        TIER_2,
        (),
        ("canvases:write",),
    ),
    "canvases.access.set": ApiMethod(
        file_methods.set_canvas_access,
        {"canvas_id": "text", "access_level": "text", "channel_ids": "ids", "user_ids": "ids"},
        TIER_3,
        ("canvas_id", "access_level"),
        ("canvases:write",),
    ),
    "canvases.delete": ApiMethod(
        file_methods.delete_canvas, {"canvas_id": "text"}, TIER_3, ("canvas_id",), ("canvases:write",)
    ),
    "files.delete": ApiMethod(file_methods.delete_file, {"file": "text"}, TIER_3, ("file",), ("files:write",)),
    "slackLists.create": ApiMethod(
        slack_list_methods.create_list, {"name": "text", "schema": "json"}, TIER_2, ("name",), ("lists:write",)
    ),
    "slackLists.items.create": ApiMethod(
        slack_list_methods.create_item,
        {"list_id": "text", "initial_fields": "json"},
        TIER_3,
        ("list_id",),
        ("lists:write",),
    ),
    "slackLists.items.list": ApiMethod(
        slack_list_methods.list_items, {**PAGE_ARGUMENTS, "list_id": "text"}, TIER_3, ("list_id",), ("lists:read",)
    ),
    "slackLists.access.set": ApiMethod(
        slack_list_methods.set_list_access,
        {"list_id": "text", "access_level": "text", "channel_ids": "ids", "user_ids": "ids"},
        TIER_3,
        ("list_id", "access_level"),
        ("lists:write",),
    ),
    "canvases.edit": ApiMethod(
        file_methods.edit_canvas,
        {"canvas_id": "text", "changes": "json"},
        TIER_3,
        ("canvas_id", "changes"),
        ("canvases:write",),
    ),
}

AGENT_METHODS: dict[str, ApiMethod] = {
    "assistant.threads.setStatus": ApiMethod(
        agent_methods.set_status,
        {**THREAD_ARGUMENTS, **PERSONA_ARGUMENTS, "status": "text", "loading_messages": "json"},
        STATUS_RATE,
        ("channel_id", "thread_ts", "status"),
        ASSISTANT_SCOPES,
    ),
    "assistant.threads.setTitle": ApiMethod(
        agent_methods.set_title,
        {**THREAD_ARGUMENTS, "title": "text"},
        TIER_3,
        ("channel_id", "thread_ts", "title"),
        ASSISTANT_SCOPES,
    ),
    "assistant.threads.setSuggestedPrompts": ApiMethod(
        agent_methods.set_prompts,
        {**THREAD_ARGUMENTS, "title": "text", "prompts": "json"},
        TIER_3,
        ("channel_id", "prompts"),
        ASSISTANT_SCOPES,
    ),
    "agents.sessions.setStatus": ApiMethod(
        agent_methods.set_session_status,
        {**THREAD_ARGUMENTS, **PERSONA_ARGUMENTS, "status": "text", "title": "text", "initiator_user_id": "text"},
        TIER_3,
        ("channel_id", "status"),
        ("chat:write",),
    ),
    "agents.sessions.rename": ApiMethod(
        agent_methods.rename_session,
        {**THREAD_ARGUMENTS, "title": "text"},
        TIER_3,
        ("channel_id", "title"),
        ("chat:write",),
    ),
}

FUNCTION_METHODS: dict[str, ApiMethod] = {
    "functions.completeSuccess": ApiMethod(
        view_methods.complete_step,
        {"function_execution_id": "text", "outputs": "json"},
        TIER_3,
        ("function_execution_id", "outputs"),
    ),
    "functions.completeError": ApiMethod(
        view_methods.fail_step,
        {"function_execution_id": "text", "error": "text"},
        TIER_3,
        ("function_execution_id", "error"),
    ),
}

METHODS: dict[str, ApiMethod] = {**CHAT_METHODS, **READ_METHODS, **WRITE_METHODS, **AGENT_METHODS, **FUNCTION_METHODS}
