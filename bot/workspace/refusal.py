"""Slack's way to say no."""

from typing import Any


class Refusal(Exception):  # not an error of ours: Slack's answer to a call it does not accept
    """Ends the handling of a call with Slack's error code.

    Raised while a Web API call is handled and turned into its answer in one
    place, `web_api.dispatch`.
    """

    def __init__(self, code: str, *messages: str, **extra: Any) -> None:
        super().__init__(code)
        self.code = code
        self.extra = extra
        self.messages = list(messages)

    def answer(self) -> dict[str, Any]:
        """Return the body that Slack answers with."""
        body: dict[str, Any] = {"ok": False, "error": self.code, **self.extra}
        if self.messages:
            body["response_metadata"] = {"messages": self.messages}
        return body


class ActionFailed(Exception):  # what a person sees, not a fault of the workspace
    """Something a person did that did not work; the text is what Slack would show them."""
