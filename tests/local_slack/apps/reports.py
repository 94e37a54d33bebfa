"""Lazy listeners, as on a function host: acknowledged at once, worked on after. Bolt's own web server."""
import os

from slack_bolt import App

app = App(
    token=os.environ["SLACK_BOT_TOKEN"],
    signing_secret=os.environ["SLACK_SIGNING_SECRET"],
    process_before_response=True,
)


def acknowledge(ack, command):
    if not command["text"]:
        ack(":warning: Which report?")
    else:
        ack(f"Making {command['text']} ...")


def make(command, respond, client):
    if not command["text"]:
        return
    total = sum(range(1, 101))
    respond(response_type="in_channel", text=f"{command['text']}: {total}")


def announce(command, say):
    if command["text"]:
        say(f"<@{command['user_id']}> asked for {command['text']}.")


app.command("/report")(ack=acknowledge, lazy=[make, announce])

if __name__ == "__main__":
    app.start(port=int(os.environ["PORT"]))
