"""An app for several workspaces, served by Starlette: people install it at /slack/install."""
import os
import tempfile

import uvicorn
from slack_bolt.adapter.starlette import SlackRequestHandler
from slack_bolt import App
from slack_bolt.oauth.oauth_settings import OAuthSettings
from slack_sdk.oauth.installation_store import FileInstallationStore
from slack_sdk.oauth.state_store import FileOAuthStateStore
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

data = os.environ.get("DATA_DIR") or tempfile.mkdtemp()
app = App(
    signing_secret=os.environ["SLACK_SIGNING_SECRET"],
    oauth_settings=OAuthSettings(
        client_id=os.environ["SLACK_CLIENT_ID"],
        client_secret=os.environ["SLACK_CLIENT_SECRET"],
        scopes=["app_mentions:read", "chat:write", "reactions:write"],
        installation_store=FileInstallationStore(base_dir=f"{data}/installations"),
        state_store=FileOAuthStateStore(expiration_seconds=600, base_dir=f"{data}/states"),
    ),
)
handler = SlackRequestHandler(app)


@app.event("app_mention")
def give_kudos(event, client, context, say):
    client.reactions_add(channel=event["channel"], timestamp=event["ts"], name="tada")
    say(text=f"Kudos in {context.team_id}!", thread_ts=event["ts"])


async def endpoint(request: Request):
    return await handler.handle(request)


api = Starlette(
    routes=[
        Route("/slack/events", endpoint=endpoint, methods=["POST"]),
        Route("/slack/install", endpoint=endpoint, methods=["GET"]),
        Route("/slack/oauth_redirect", endpoint=endpoint, methods=["GET"]),
    ]
)

if __name__ == "__main__":
    uvicorn.run(api, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="warning")
