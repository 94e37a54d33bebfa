"""Says a message in the language of the flag that somebody put on it."""
import os

from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler

app = App(token=os.environ["SLACK_BOT_TOKEN"])
WORDS = {"flag-fr": {"good morning": "bonjour"}, "flag-es": {"good morning": "buenos días"}}


@app.event("reaction_added", matchers=[lambda event: event["reaction"] in WORDS])
def translate(event, client, say):
    item = event["item"]
    found = client.conversations_replies(channel=item["channel"], ts=item["ts"], limit=1)
    message = found["messages"][0]
    reactions = client.reactions_get(channel=item["channel"], timestamp=item["ts"])["message"]["reactions"]
    if next(each["count"] for each in reactions if each["name"] == event["reaction"]) > 1:
        return  # said already
    said = WORDS[event["reaction"]].get(message["text"].lower(), "?")
    say(channel=item["channel"], text=f":{event['reaction']}: {said}", thread_ts=item["ts"])


@app.event("reaction_added")
def other_reactions():
    pass


if __name__ == "__main__":
    SocketModeHandler(app, os.environ["SLACK_APP_TOKEN"]).start()
