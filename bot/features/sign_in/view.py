"""What a person sees who signs in to a server: the message with the link, and the window for what comes of it."""

from __future__ import annotations

from urllib.parse import urlsplit

from bot.slack.text.cleaning import clean, plain
from bot.slack.views.outgoing import Block, Outgoing, actions, button, context, section
from specialists.tools.signing_in import LANDS

PAGE, PASTE = "sign_in:page", "sign_in:paste"
"""The action_ids of the buttons. `PAGE` only leads to the page; Slack tells us of the click all the same."""
PASTED = "sign_in_pasted"
"""The callback_id of the window."""
ADDRESS_BLOCK, ADDRESS_ACTION = "address", "text"
_LONGEST = 3_000


def link_message(server: str, host: str, link: str, begins: str, metadata: str) -> Outgoing:
    """Give a person the link. `begins` is how the address begins on which they land; `metadata` is the window's."""
    page = urlsplit(link).hostname or ""
    named = f"{clean(server, limit=80)} ({clean(host, limit=200)})"
    first = f"1. Open the sign-in page, which is at {clean(page, limit=200)}, and sign in there.\n"
    by_itself = (
        f"2. Your browser then shows a page of mine, at {clean(urlsplit(begins).netloc, limit=200)}. Close it: the "
        "thread goes on. If that page does not load, copy its address and give it to me with “Paste the address”."
    )
    by_hand = (
        f"2. Your browser ends at an address that begins with `{begins}` and says that it cannot be reached. That is "
        "expected.\n"
        "3. Copy that whole address, and give it to me with “Paste the address”."
    )
    leads = {**button("Open the sign-in page", PAGE, "page", style="primary"), "url": link}
    small = (
        "The link is for you alone, and good for 10 minutes: for a new one press “Sign in” in the thread again. "
        "Do not show the address to anybody else."
    )
    blocks = (
        section(f":lock: Sign in to {named}"),
        section(first + (by_hand if begins == LANDS else by_itself)),
        actions([leads, button("Paste the address", PASTE, metadata)]),
        context(small),
    )
    return Outgoing(text=f"Sign in to {clean(server, limit=80)}", blocks=blocks)


def paste_window(metadata: str, begins: str) -> Block:
    """Ask for the address. `metadata` comes back with it."""
    field: Block = {
        "type": "input",
        "block_id": ADDRESS_BLOCK,
        "label": _text_object("The address on which your browser ended"),
        "hint": _text_object(f"It begins with {begins}. It works once, and is not stored."),
        "element": {"type": "plain_text_input", "action_id": ADDRESS_ACTION, "max_length": _LONGEST},
    }
    return {
        "type": "modal",
        "callback_id": PASTED,
        "private_metadata": metadata,
        "title": _text_object("Sign in"),
        "submit": _text_object("Sign in"),
        "close": _text_object("Cancel"),
        "blocks": [field],
    }


def _text_object(words: str) -> Block:
    return {"type": "plain_text", "text": plain(words, 150)}
