"""slack_sdk's Socket Mode client by itself, without Bolt."""
import os
from threading import Event

from slack_sdk import WebClient
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

client = SocketModeClient(app_token=os.environ["SLACK_APP_TOKEN"], web_client=WebClient(os.environ["SLACK_BOT_TOKEN"]))


def process(client: SocketModeClient, request: SocketModeRequest):
    if request.type != "events_api":
        return
    client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
    event = request.payload["event"]
    if event["type"] == "message" and not event.get("subtype") and "hello" in event["text"].lower():
        client.web_client.reactions_add(name="wave", channel=event["channel"], timestamp=event["ts"])
    if event["type"] == "member_joined_channel":
        members = client.web_client.conversations_members(channel=event["channel"])["members"]
        people = [client.web_client.users_info(user=member)["user"] for member in members]
        names = sorted(person["real_name"] for person in people if not person["is_bot"])
        client.web_client.chat_postMessage(channel=event["channel"], text=f"Hello {', '.join(names)}!")


client.socket_mode_request_listeners.append(process)
client.connect()
Event().wait()
