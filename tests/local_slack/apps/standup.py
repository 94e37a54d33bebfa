"""A standup form, served by FastAPI: a shortcut opens a window, whose answers go to #general."""
import os

import uvicorn
from fastapi import FastAPI, Request
from slack_bolt.adapter.fastapi.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp

app = AsyncApp(token=os.environ["SLACK_BOT_TOKEN"], signing_secret=os.environ["SLACK_SIGNING_SECRET"])
handler = AsyncSlackRequestHandler(app)
api = FastAPI()


def question(block_id, label, **element):
    return {
        "type": "input",
        "block_id": block_id,
        "label": {"type": "plain_text", "text": label},
        "element": {"action_id": "answer", **element},
    }


@app.shortcut("standup")
async def open_form(ack, body, client):
    await ack()
    moods = [{"text": {"type": "plain_text", "text": mood}, "value": mood.lower()} for mood in ("Great", "Fine", "Bad")]
    await client.views_open(
        trigger_id=body["trigger_id"],
        view={
            "type": "modal",
            "callback_id": "standup_form",
            "title": {"type": "plain_text", "text": "Standup"},
            "submit": {"type": "plain_text", "text": "Post"},
            "blocks": [
                question("done", "What did you do?", type="plain_text_input", multiline=True),
                question("mood", "How are you?", type="static_select", options=moods),
                question("where", "Where to?", type="channels_select"),
            ],
        },
    )


@app.view("standup_form")
async def post_standup(ack, body, view, client):
    values = view["state"]["values"]
    done = values["done"]["answer"]["value"]
    if len(done) < 10:
        await ack(response_action="errors", errors={"done": "Tell us a little more."})
        return
    await ack()
    mood = values["mood"]["answer"]["selected_option"]["text"]["text"]
    await client.chat_postMessage(
        channel=values["where"]["answer"]["selected_channel"],
        text=f"<@{body['user']['id']}> ({mood}): {done}",
    )


@api.post("/slack/events")
async def endpoint(request: Request):
    return await handler.handle(request)


@api.get("/health")
async def health():
    return {"ok": True}


if __name__ == "__main__":
    uvicorn.run(api, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="warning")
