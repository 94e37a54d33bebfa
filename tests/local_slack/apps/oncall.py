"""Who is on call: the members of a user group, by turns; tells when the group changes."""
import os

from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler

app = App(token=os.environ["SLACK_BOT_TOKEN"])
places = {}


@app.middleware
def remember_place(context, next):
    if context.channel_id:
        places["last"] = context.channel_id
    next()


@app.event("app_mention")
def who(event, client, say):
    groups = client.usergroups_list(include_users=True)["usergroups"]
    group = next((each for each in groups if each["handle"] in event["text"]), None)
    if group is None:
        say(f"I know {', '.join('@' + each['handle'] for each in groups)}.", thread_ts=event["ts"])
        return
    members = client.usergroups_users_list(usergroup=group["id"])["users"]
    names = [client.users_info(user=member)["user"]["profile"]["display_name"] for member in members]
    say(f"On call in {group['name']}: {' then '.join(names)}", thread_ts=event["ts"])


@app.event("subteam_members_changed")
def announce_change(event, client):
    client.chat_postMessage(
        channel=places["last"],
        text=f"{event['added_users_count']} came, {event['removed_users_count']} left: "
        + " ".join(f"<@{user}>" for user in event["added_users"]),
    )


if __name__ == "__main__":
    SocketModeHandler(app, os.environ["SLACK_APP_TOKEN"]).start()
