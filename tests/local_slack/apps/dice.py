"""A slash command and nothing else: the standard library, no SDK, no bot token."""
import hashlib
import hmac
import json
import os
import threading
import urllib.request
from urllib.parse import parse_qs
from wsgiref.simple_server import WSGIRequestHandler, make_server

SECRET = os.environ["SLACK_SIGNING_SECRET"].encode()


def tell_all(url, text):
    body = json.dumps({"response_type": "in_channel", "text": text}).encode()
    urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"})).read()


def roll(environ, start_response):
    body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
    base = b":".join([b"v0", environ["HTTP_X_SLACK_REQUEST_TIMESTAMP"].encode(), body])
    signature = "v0=" + hmac.new(SECRET, base, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(signature, environ["HTTP_X_SLACK_SIGNATURE"]):
        start_response("403 Forbidden", [])
        return [b""]
    form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
    sides = int(form.get("text", "6"))
    points = int(hashlib.sha256(form["trigger_id"].encode()).hexdigest(), 16) % sides + 1
    text = f"@{form['user_name']} rolled a die with {sides} sides: {min(points, sides)}"
    threading.Thread(target=tell_all, args=(form["response_url"], text)).start()
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"response_type": "ephemeral", "text": "Rolling ..."}).encode()]


class Quiet(WSGIRequestHandler):
    def log_message(self, *args):
        pass


if __name__ == "__main__":
    make_server("127.0.0.1", int(os.environ["PORT"]), roll, handler_class=Quiet).serve_forever()
