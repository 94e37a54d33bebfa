"""Notes: a message's shortcut saves it, the App Home lists what was saved and takes it away again."""
import os
from collections import defaultdict

from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler

app = App(token=os.environ["SLACK_BOT_TOKEN"])
notes = defaultdict(list)


def publish(client, user):
    blocks = [{"type": "header", "text": {"type": "plain_text", "text": f"{len(notes[user])} notes"}}]
    for number, note in enumerate(notes[user]):
        blocks.append(
            {
                "type": "section",
                "block_id": f"note_{number}",
                "text": {"type": "mrkdwn", "text": f"<{note['link']}|{note['text']}>"},
                "accessory": {
                    "type": "button",
                    "action_id": "remove_note",
                    "value": str(number),
                    "style": "danger",
                    "text": {"type": "plain_text", "text": "Remove"},
                    "confirm": {
                        "title": {"type": "plain_text", "text": "Sure?"},
                        "text": {"type": "plain_text", "text": "It is gone then."},
                        "confirm": {"type": "plain_text", "text": "Remove"},
                        "deny": {"type": "plain_text", "text": "Keep"},
                    },
                },
            }
        )
    client.views_publish(user_id=user, view={"type": "home", "blocks": blocks})


@app.event("app_home_opened")
def show_home(event, client):
    if event["tab"] == "home":
        publish(client, event["user"])


@app.shortcut({"type": "message_action", "callback_id": "save_note"})
def save(ack, body, client):
    ack()
    user, message = body["user"]["id"], body["message"]
    link = client.chat_getPermalink(channel=body["channel"]["id"], message_ts=message["ts"])["permalink"]
    notes[user].append({"text": message["text"], "link": link})
    publish(client, user)
    client.chat_postEphemeral(channel=body["channel"]["id"], user=user, text="Saved. See my home.")


@app.action("remove_note")
def remove(ack, body, action, client):
    ack()
    del notes[body["user"]["id"]][int(action["value"])]
    publish(client, body["user"]["id"])


if __name__ == "__main__":
    SocketModeHandler(app, os.environ["SLACK_APP_TOKEN"]).start()
