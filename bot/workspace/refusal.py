"""Exceptions for Web API calls that Slack refuses, and for actions of people that fail."""

from typing import Any


class Refusal(Exception):
    """Raised to refuse a Web API call with Slack's error code `code`.

    `web_api.dispatch` answers with `make_body`. `messages` are complaints for
    `response_metadata.messages`, and `extra` are further fields of the body.
    """

    def __init__(self, code: str, *messages: str, **extra: Any) -> None:
        super().__init__(code)
        self.code = code
        self.extra = extra
        self.messages = list(messages)

    def make_body(self) -> dict[str, Any]:
        """Return the JSON body of the answer: `ok` (False), `error`, the extra fields and the messages."""
        body: dict[str, Any] = {"ok": False, "error": self.code, **self.extra}
        if self.messages:
            body["response_metadata"] = {"messages": self.messages}
        return body


class ActionFailed(Exception):
    """Raised if an action of a person fails. Its text is what Slack would show to that person."""
