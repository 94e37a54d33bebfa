"""slack_sdk alone: events over HTTP, their signature checked by hand, in a plain web server of Python's own."""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from slack_sdk import WebClient
from slack_sdk.signature import SignatureVerifier

client = WebClient(os.environ["SLACK_BOT_TOKEN"])
verifier = SignatureVerifier(os.environ["SLACK_SIGNING_SECRET"])


class Events(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not verifier.is_valid_request(body, dict(self.headers)):
            self.send_error(401)
            return
        payload = json.loads(body)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(payload.get("challenge", "").encode())
        event = payload.get("event", {})
        if event.get("type") == "app_mention":
            text = f"Hi <@{event['user']}>"
            client.chat_postMessage(channel=event["channel"], thread_ts=event["ts"], text=text)

    def log_request(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Events).serve_forever()
