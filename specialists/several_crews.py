"""The crews of one bot by name, of which the first is the usual one."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from handoff.contracts import RESERVED
from handoff.planning.adhoc import NAME
from specialists.crew import Crew
from specialists.registry import LEVELS


def missing_settings(crew: Crew, env: Mapping[str, str]) -> list[str]:
    """Return the settings that a crew needs and that are not set."""
    return [name for name in crew.needs if not env.get(name)]


def explain_no_member(crew: Crew, taken: Container[str], env: Mapping[str, str]) -> str:
    """Return why a crew cannot be a member of the bot's usual crew; "" if it can.

    `taken` are the names of that crew's members.
    """
    if missing := missing_settings(crew, env):
        return f"without {', '.join(missing)}"
    if not crew.about.description:
        return "its crew.yml has no description"
    if not NAME.fullmatch(crew.name) or crew.name in {*RESERVED}:
        return "its name is reserved or not allowed"
    if crew.name in taken:
        return f"{crew.name} is a member already"
    return "too many crews are nested in it" if crew.levels >= LEVELS else ""


@dataclass(frozen=True)
class Crews:
    """Crews by name, at least one, in the order of the settings.

    Jobs do not store the name of a single crew, so its folder may be renamed.
    """

    by_name: Mapping[str, Crew]

    @classmethod
    def from_crews(cls, crews: Iterable[Crew]) -> Crews:
        """Collect crews by name. Raises ValueError if two have the same name, or if there are none."""
        by_name: dict[str, Crew] = {}
        for crew in crews:
            if crew.name in by_name:
                message = f"two crews are called {crew.name}; each needs a folder of another name"
                raise ValueError(message)
            by_name[crew.name] = crew
        if not by_name:
            message = "there is no crew"
            raise ValueError(message)
        return cls(by_name)

    @property
    def usual(self) -> Crew:
        """The crew for requests and channels that name none."""
        return next(iter(self.by_name.values()))

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which people and channels choose a crew; none if there is only one."""
        return tuple(self.by_name) if len(self.by_name) > 1 else ()

    @property
    def described(self) -> Mapping[str, str]:
        """Each crew's description in its file, by name; empty if there is only one."""
        return {name: self.by_name[name].about.description for name in self.names}

    def find(self, name: str) -> Crew | None:
        """Find a crew by name; the usual crew for "", None if there is none of that name."""
        return self.by_name.get(name) if name else self.usual

    @property
    def addressees(self) -> frozenset[str]:
        """The Slack ids that the crews' files name for questions and approvals."""
        return frozenset(one for crew in self.by_name.values() for one in crew.addressees)

    @property
    def every_name(self) -> frozenset[str]:
        """The names of all specialists, inner crews and tools."""
        found: set[str] = set()
        for crew in self.by_name.values():
            found |= {part for path in (*crew.all_specialists, *crew.crews) for part in path.split("/")}
            found |= {tool.name for one in crew.all_specialists.values() for tool in one.tools} | set(crew.lent)
        return frozenset(found)

    async def close(self) -> None:
        """Close what the crews' toolkits hold open."""
        for crew in self.by_name.values():
            await crew.close()
