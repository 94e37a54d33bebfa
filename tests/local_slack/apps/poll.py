"""A poll, served by Flask: /poll Lunch? | Pizza | Soup."""
import os

from flask import Flask, request
from slack_bolt import App
from slack_bolt.adapter.flask import SlackRequestHandler

app = App(token=os.environ["SLACK_BOT_TOKEN"], signing_secret=os.environ["SLACK_SIGNING_SECRET"])
flask_app = Flask(__name__)
handler = SlackRequestHandler(app)
votes = {}


def poll_blocks(question, options, counts):
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": f"*{question}*"}}]
    for number, option in enumerate(options):
        blocks.append(
            {
                "type": "section",
                "block_id": f"option_{number}",
                "text": {"type": "mrkdwn", "text": f"{option}: {counts[number]}"},
                "accessory": {
                    "type": "button",
                    "action_id": "vote",
                    "value": str(number),
                    "text": {"type": "plain_text", "text": "Vote"},
                },
            }
        )
    return blocks


@app.command("/poll")
def open_poll(ack, command, respond, client):
    question, *options = [part.strip() for part in command["text"].split("|")]
    if len(options) < 2:
        ack("Give me a question and two answers: `/poll Lunch? | Pizza | Soup`")
        return
    ack()
    posted = client.chat_postMessage(
        channel=command["channel_id"], text=question, blocks=poll_blocks(question, options, [0] * len(options))
    )
    votes[posted["ts"]] = {"question": question, "options": options, "by": {}}


@app.action("vote")
def vote(ack, action, body, respond):
    ack()
    poll = votes[body["message"]["ts"]]
    poll["by"][body["user"]["id"]] = int(action["value"])
    counts = [list(poll["by"].values()).count(number) for number in range(len(poll["options"]))]
    respond(
        replace_original=True,
        text=poll["question"],
        blocks=poll_blocks(poll["question"], poll["options"], counts),
    )


@flask_app.route("/slack/events", methods=["POST"])
def slack_events():
    return handler.handle(request)


if __name__ == "__main__":
    flask_app.run(host="127.0.0.1", port=int(os.environ["PORT"]))
