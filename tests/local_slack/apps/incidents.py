"""/incident TITLE makes a channel, brings people in, and says where it is."""
import os
import re

from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk.errors import SlackApiError

app = App(token=os.environ["SLACK_BOT_TOKEN"])


@app.command("/incident")
def open_incident(ack, command, client, respond):
    ack()
    title, *emails = command["text"].split(" with ")
    name = "inc-" + re.sub(r"[^a-z0-9]+", "-", title.lower())
    try:
        channel = client.conversations_create(name=name)["channel"]["id"]
    except SlackApiError as error:
        if error.response["error"] == "name_taken":
            respond(f"#{name} is open already.")
            return
        raise
    people = [client.users_lookupByEmail(email=email)["user"]["id"] for email in emails]
    client.conversations_invite(channel=channel, users=[command["user_id"], *people])
    client.conversations_setTopic(channel=channel, topic=title)
    client.chat_postMessage(channel=channel, text=f"<@{command['user_id']}> opened this: {title}")
    respond(f"It is <#{channel}>.")


if __name__ == "__main__":
    SocketModeHandler(app, os.environ["SLACK_APP_TOKEN"]).start()
