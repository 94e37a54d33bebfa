"""A step for Workflow Builder: asks a manager, who approves or denies."""
import os

from slack_bolt import Ack, App, BoltContext, Complete, Fail
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient

app = App(token=os.environ["SLACK_BOT_TOKEN"])


@app.function("approve_expense", auto_acknowledge=False)
def ask_manager(ack: Ack, inputs: dict, client: WebClient, fail: Fail):
    ack()
    if inputs["amount"] > 1000:
        fail("Expenses above 1000 need a contract.")
        return
    client.chat_postMessage(
        channel=inputs["manager"],
        text=f"An expense of {inputs['amount']} EUR",
        blocks=[
            {"type": "section", "text": {"type": "mrkdwn", "text": f"An expense of *{inputs['amount']} EUR*"}},
            {
                "type": "actions",
                "block_id": "decision",
                "elements": [
                    {
                        "type": "button",
                        "action_id": "approve",
                        "style": "primary",
                        "text": {"type": "plain_text", "text": "Approve"},
                    },
                    {"type": "button", "action_id": "deny", "text": {"type": "plain_text", "text": "Deny"}},
                ],
            },
        ],
    )


@app.action("approve")
def approve(ack: Ack, body: dict, client: WebClient, complete: Complete, context: BoltContext):
    ack()
    amount = body["function_data"]["inputs"]["amount"]
    client.chat_update(channel=context.channel_id, ts=body["message"]["ts"], text=f"You approved {amount} EUR.")
    complete({"decided_by": context.actor_user_id, "amount": amount})


@app.action("deny")
def deny(ack: Ack, body: dict, client: WebClient, fail: Fail, context: BoltContext):
    ack()
    client.chat_update(channel=context.channel_id, ts=body["message"]["ts"], text="You denied it.")
    fail("Your manager said no.")


if __name__ == "__main__":
    SocketModeHandler(app, os.environ["SLACK_APP_TOKEN"]).start()
