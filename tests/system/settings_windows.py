"""How an admin of a scene changes the settings of a channel: the command, a section's button, its window."""

from __future__ import annotations

from typing import Any

from bot.features.channel_settings.window import CHANGE_PREFIX
from tests.system.scene import Scene


async def change(scene: Scene, section: str, channel: str = "#sales", who: str = "ana", **put_in: Any) -> None:
    """Choose and type into the window of a section, save it, and wait for the word that it holds."""
    person = scene.person(who)
    told = await scene.command("settings", who=who, channel=channel)
    await person.click(channel, told["ts"], f"{CHANGE_PREFIX}{section}")
    view = (await scene.workspace.until(person.views))[-1]
    options = {
        block["block_id"]: {one["value"]: one for one in block["element"].get("options", ())}
        for block in view["blocks"]
        if block["type"] == "input"
    }
    values = {name: {name: options[name].get(value, value)} for name, value in put_in.items()}
    before = len(person.ephemerals(channel))
    assert await person.submit(view["id"], values)
    await scene.workspace.until(lambda: person.ephemerals(channel)[before:])
