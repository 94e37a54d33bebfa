"""Messages for later: /remindall 10 Stretch!, /reminders, and /reminders clear."""
import os
import time

from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk.errors import SlackApiError

app = App(token=os.environ["SLACK_BOT_TOKEN"])


@app.command("/remindall")
def remind(ack, command, client, respond):
    ack()
    minutes, _, text = command["text"].partition(" ")
    try:
        client.chat_scheduleMessage(
            channel=command["channel_id"], post_at=int(time.time()) + 60 * int(minutes), text=f"Reminder: {text}"
        )
    except SlackApiError as error:
        respond(f"That did not work: {error.response['error']}")
        return
    respond(f"In {minutes} minutes.")


@app.command("/reminders")
def reminders(ack, command, client, respond):
    ack()
    found = client.chat_scheduledMessages_list(channel=command["channel_id"])["scheduled_messages"]
    if command["text"] == "clear":
        for each in found:
            client.chat_deleteScheduledMessage(channel=each["channel_id"], scheduled_message_id=each["id"])
        respond(f"{len(found)} taken back.")
        return
    respond("\n".join(each["text"] for each in found) or "Nothing is to come.")


if __name__ == "__main__":
    SocketModeHandler(app, os.environ["SLACK_APP_TOKEN"]).start()
