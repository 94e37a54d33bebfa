"""The crews of one bot by name. The first one is the usual crew, for requests that name none."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from handoff.contracts import RESERVED_NAMES
from handoff.planning.adhoc import NAME_PATTERN
from specialists.crew import Crew
from specialists.registry import MAX_LEVELS


def list_missing_settings(crew: Crew, env: Mapping[str, str]) -> list[str]:
    """Return the names of the settings that a crew needs and that are not set."""
    return [name for name in crew.needs if not env.get(name)]


def find_member_fault(crew: Crew, member_names: Container[str], env: Mapping[str, str]) -> str:
    """Return why a crew cannot be a member of the bot's usual crew; "" if it can.

    `member_names` are the names of the usual crew's members.
    """
    if missing_settings := list_missing_settings(crew, env):
        return f"without {', '.join(missing_settings)}"
    if not crew.about.description:
        return "its crew.yml has no description"
    if not NAME_PATTERN.fullmatch(crew.name) or crew.name in {*RESERVED_NAMES}:
        return "its name is reserved or not allowed"
    if crew.name in member_names:
        return f"{crew.name} is a member already"
    return "too many crews are nested in it" if crew.level_count >= MAX_LEVELS else ""


@dataclass(frozen=True)
class CrewSet:
    """Crews by name, at least one, in the order of the settings.

    If there is only one crew, jobs do not store its name, so its folder may be renamed.
    """

    by_name: Mapping[str, Crew]

    @classmethod
    def from_crews(cls, crews: Iterable[Crew]) -> CrewSet:
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
    def usual_crew(self) -> Crew:
        """The crew for requests and channels that name none."""
        return next(iter(self.by_name.values()))

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which people and channels choose a crew; () if there is only one crew."""
        return tuple(self.by_name) if len(self.by_name) > 1 else ()

    @property
    def descriptions(self) -> Mapping[str, str]:
        """Each crew's description in its file, by name; empty if there is only one."""
        return {name: self.by_name[name].about.description for name in self.names}

    def find_crew(self, name: str) -> Crew | None:
        """Return the crew with a name; the usual crew for ""; None if there is no such crew."""
        return self.by_name.get(name) if name else self.usual_crew

    @property
    def addressees(self) -> frozenset[str]:
        """The Slack ids that the crews' files name for questions and approvals."""
        return frozenset(one for crew in self.by_name.values() for one in crew.addressee_ids)

    @property
    def all_names(self) -> frozenset[str]:
        """The names of all specialists, inner crews and tools."""
        names: set[str] = set()
        for crew in self.by_name.values():
            names |= {part for path in (*crew.all_specialists, *crew.crews) for part in path.split("/")}
            names |= {tool.name for one in crew.all_specialists.values() for tool in one.tools} | set(crew.lent_tools)
        return frozenset(names)

    async def close(self) -> None:
        """Close what the crews' toolkits hold open."""
        for crew in self.by_name.values():
            await crew.close()
