"""How the bot itself is, in lines for admins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.slack.text.cleaning import clean, plain
from bot.slack.views.outgoing import at_least, format_count


@dataclass(frozen=True, slots=True)
class InstanceLine:
    """An instance: when it was last heard of (seconds ago), its crews, and the attempts that it told of."""

    name: str
    age: float
    crews: tuple[str, ...]
    busy: int


def model_lines(models: Sequence[str], specialists: int, resting: Sequence[str]) -> list[str]:
    """Name the models, and say who is left alone at the moment, by the words of the limits (`resting`)."""
    named = ", ".join(f"`{clean(plain(one, 80))}`" for one in models) or "none"
    lines = [f"*Models:* {named}"]
    if not resting:
        return [*lines, f":white_check_mark: {format_count(specialists, 'specialist')} and all models take work."]
    return [*lines, *(f":warning: {clean(plain(one, 300))}" for one in resting)]


def instance_lines(instances: Sequence[InstanceLine]) -> list[str]:
    """Tell of each instance in a line. One that is silent for half a minute is marked: it may be gone."""
    return [_line(one) for one in sorted(instances, key=lambda one: one.name)]


def _line(one: InstanceLine) -> str:
    silent = at_least(one.age)
    heard = f"not heard of for {silent}" if silent else "running"
    mark = ":warning:" if silent else ":white_check_mark:"
    crews = ", ".join(clean(plain(crew, 60)) for crew in one.crews)
    busy = f" · {format_count(one.busy, 'attempt')} under way" if one.busy else ""
    return f"{mark} `{clean(plain(one.name, 60))}` · {heard}{f' · {crews}' if crews else ''}{busy}"
