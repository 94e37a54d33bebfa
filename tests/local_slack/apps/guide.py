"""An assistant with Bolt's Assistant class: greets, suggests prompts, shows what it does, streams its answer."""
import os

from slack_bolt import App, Assistant
from slack_bolt.adapter.socket_mode import SocketModeHandler

app = App(token=os.environ["SLACK_BOT_TOKEN"])
assistant = Assistant()

ANSWERS = {"capital": ["The capital of France ", "is *Paris*."], "colour": ["Grass ", "is green."]}


@assistant.thread_started
def greet(say, set_suggested_prompts):
    say(":wave: What do you want to know?")
    set_suggested_prompts(
        title="Try one of these",
        prompts=[
            {"title": "Geography", "message": "What is the capital of France?"},
            {"title": "Nature", "message": "Which colour has grass?"},
        ],
    )


@assistant.user_message
def answer(payload, set_title, set_status, client, context, say):
    set_title(payload["text"][:40])
    set_status(status="is looking it up...", loading_messages=["Opening the atlas", "Turning pages"])
    parts = next((parts for word, parts in ANSWERS.items() if word in payload["text"]), None)
    if parts is None:
        say("I only know a capital and a colour.")
        return
    streamer = client.chat_stream(
        channel=payload["channel"],
        thread_ts=payload["thread_ts"],
        recipient_team_id=context.team_id,
        recipient_user_id=context.user_id,
    )
    for part in parts:
        streamer.append(markdown_text=part)
    streamer.stop()


app.use(assistant)

if __name__ == "__main__":
    SocketModeHandler(app, os.environ["SLACK_APP_TOKEN"]).start()
