"""Exceptions for Web API calls that Slack refuses, and for actions of people that fail."""

from typing import Any


class Refusal(Exception):
    """Ends the handling of a call with Slack's error code `code`.

    `web_api.dispatch` turns it into the answer. `messages` are complaints,
    and `extra` are further fields of the answer.
    """

    def __init__(self, code: str, *messages: str, **extra: Any) -> None:
        super().__init__(code)
        self.code = code
        self.extra = extra
        self.messages = list(messages)

    def make_body(self) -> dict[str, Any]:
        """Return the body that Slack answers with."""
        body: dict[str, Any] = {"ok": False, "error": self.code, **self.extra}
        if self.messages:
            body["response_metadata"] = {"messages": self.messages}
        return body


class ActionFailed(Exception):
    """Something that a person does fails. The text is what Slack would show them."""
