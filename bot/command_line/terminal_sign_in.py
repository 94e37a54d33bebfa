"""Signs somebody in to a server at a terminal, to look at its tools. What came of it is forgotten with the command."""

from __future__ import annotations

from bot.command_line import console
from specialists.mcp.server_sign_in import ServerSignIn
from specialists.tools.signing_in import LANDS, SignInFailed

TRIES = 3
_HERE = "terminal"


class PassingSignIns:
    """`KeptSignIns` of one command, in its memory."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    async def keep(self, name: str, text: str, lasts: float | None = None) -> None:
        """Keep a text by a name, until the command ends."""
        del lasts
        self._texts[name] = text

    async def read(self, name: str) -> str:
        """Return a text; empty if there is none."""
        return self._texts.get(name, "")

    async def take(self, name: str) -> str:
        """Return a text and remove it; empty if there is none."""
        return self._texts.pop(name, "")


async def sign_in(way: ServerSignIn) -> str:
    """Have whoever sits there sign in. Returns why nobody did; empty if somebody has."""
    if not console.is_manned():
        return "somebody has to sign in to it, and nobody sits at this terminal"
    kept = PassingSignIns()
    why = ""
    for _ in range(TRIES):
        try:
            link = await way.begin(kept, _HERE)
        except SignInFailed as failed:
            return str(failed).rstrip(".")
        console.say(f"{way.server} wants a sign-in. Open this, and sign in there:\n\n{link}\n")
        console.say(f"Your browser ends at an address that begins with {LANDS} and cannot be reached.")
        pasted = await console.ask("Paste that whole address here: ")
        if pasted is None:
            return "nobody signed in"
        try:
            await way.finish(kept, _HERE, pasted)
        except SignInFailed as failed:
            why = str(failed).rstrip(".")
            console.say(f"{why}.")
            continue
        await way.is_in(kept)
        return ""
    return why
