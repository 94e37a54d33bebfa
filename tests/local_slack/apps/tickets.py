"""Tickets in windows: one that loads, changes with a choice, checks what is entered, and shows what was made."""
import os

from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler

app = App(token=os.environ["SLACK_BOT_TOKEN"])
AREAS = {"hardware": ["Laptop", "Phone"], "software": ["Mail", "VPN"]}
tickets = []


def plain(text):
    return {"type": "plain_text", "text": text}


def option(text):
    return {"text": plain(text), "value": text.lower()}


def form(area=None):
    blocks = [
        {
            "type": "section",
            "block_id": "area",
            "text": plain("What is it about?"),
            "accessory": {
                "type": "static_select",
                "action_id": "choose_area",
                "options": [option(each.title()) for each in AREAS],
            },
        }
    ]
    if area:
        blocks += [
            {
                "type": "input",
                "block_id": f"thing_{area}",
                "label": plain("Which one?"),
                "element": {
                    "type": "static_select",
                    "action_id": "thing",
                    "options": [option(each) for each in AREAS[area]],
                },
            },
            {
                "type": "input",
                "block_id": "summary",
                "label": plain("What happened?"),
                "element": {"type": "plain_text_input", "action_id": "summary"},
            },
        ]
    view = {"type": "modal", "callback_id": "ticket", "title": plain("New ticket"), "blocks": blocks}
    if area:
        view |= {"submit": plain("Create"), "private_metadata": area}
    return view


@app.command("/ticket")
def open_ticket(ack, body, client):
    ack()
    loading = {"type": "modal", "title": plain("New ticket"), "blocks": [{"type": "section", "text": plain("Loading…")}]}
    opened = client.views_open(trigger_id=body["trigger_id"], view=loading)
    client.views_update(view_id=opened["view"]["id"], hash=opened["view"]["hash"], view=form())


@app.action("choose_area")
def choose_area(ack, body, action, client):
    ack()
    client.views_update(
        view_id=body["view"]["id"], hash=body["view"]["hash"], view=form(action["selected_option"]["value"])
    )


@app.view("ticket")
def create(ack, view):
    values = view["state"]["values"]
    summary = values["summary"]["summary"]["value"]
    if summary.isupper():
        ack(response_action="errors", errors={"summary": "Please do not shout."})
        return
    thing = values[f"thing_{view['private_metadata']}"]["thing"]["selected_option"]["text"]["text"]
    tickets.append(f"#{len(tickets) + 1} {thing}: {summary}")
    done = {"type": "section", "block_id": "done", "text": plain(tickets[-1])}
    ack(response_action="update", view={"type": "modal", "title": plain("Created"), "blocks": [done]})


if __name__ == "__main__":
    SocketModeHandler(app, os.environ["SLACK_APP_TOKEN"]).start()
