"""Reads the files of a crew of specialists, and refuses a crew with all of its faults at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from handoff.approval_values import ADMINS
from handoff.contracts import ANYONE, REQUESTER, RESERVED, Tier
from handoff.engine.nested import SLASH
from handoff.planning.adhoc import NAME, Allowance
from handoff.planning.pipeline import Pipeline
from handoff.planning.routing import Rule
from specialists import specialist
from specialists.loading import crew_checks, crew_file, crew_toolkits, frontmatter
from specialists.loading.approval_keys import NOTHING_SAID, ApprovalRules
from specialists.loading.crew_file import CrewFile
from specialists.loading.crew_words import NO_WORDS, CrewWords
from specialists.loading.frontmatter import CrewFault, Page
from specialists.specialist import Specialist
from specialists.toolkits.tool import Tool
from specialists.toolkits.toolkit import Toolkit, ToolSettings

CREWS = Path(__file__).parent / "crews"
DEPTH_LIMIT = 3
LEVELS = 3
"""Crews that lie in each other, the outermost counted."""
BESIDE = ("demo", "evaluation", "knowledge", "skills", "toolkits")
"""Folders of a crew, beside its specialists, in which no specialist is looked for."""
NO_SPECIALISTS = ("AGENTS.md", "CLAUDE.md", "README.md")
"""Markdown files of a crew that are no specialists: its house rules, and what its readers read."""
_TAKEN = f"folders called {', '.join(BESIDE)} hold other things than crews; call this one something else"
_NO_SETTINGS = ToolSettings()

_EXAMPLE = """\
A specialist is one Markdown file in the crew's folder, named after it. For example translator.md:

---
name: translator
description: Translates given text and keeps its layout.
cannot: [look anything up]   # or in the description: "Cannot look anything up."
tools: []              # of those that no other specialist has
model: balanced        # fast, balanced or deep
fallback: writer       # optional: who takes over where this one fails
max_turns: 5           # optional: 1 to 50
---
You are the translator. ..."""


class CrewError(Exception):
    """A crew that cannot be used. `faults` are all of its faults, each with its file and line."""

    def __init__(self, folder: Path, faults: Iterable[CrewFault]) -> None:
        self.faults = tuple(sorted(set(faults)))
        lines = "\n".join(str(fault) for fault in self.faults)
        super().__init__(f"The crew in {folder} cannot be used:\n{lines}\n\n{_EXAMPLE}")


@dataclass(frozen=True)
class About:
    """A crew's description of itself for the crew around it: see `Specialist`."""

    description: str = ""
    cannot: tuple[str, ...] = ()
    fallback: str = ""


@dataclass(frozen=True)
class Crew:
    """A named set of specialists, in the order of their names, and of crews inside it.

    Specialists of a crew inside another have its `path` before their names, `legal/writer`, and so on inside of it.
    The outermost crew has none.

    `rules` say which requests go to whom without a planner, `equals` which specialists do the same work, and
    `terms` what its requests are worked on under, where its file says so: fields of `handoff.contracts.Terms`.
    `roles` the tiers of its supervisor's roles that its file names, and `asking` what it says on questions to people:
    fields of `handoff.contracts.Asking`. `default` is who gets a request for which no plan
    could be made; empty: the member that comes first. `pipeline` is its fixed plan, None if the planner plans.
    `make` is what a plan may have made (None: nothing), and `lent` are the tools for that. `approvals` is what its
    file, and those of the crews around it, say on approvals. `allow_out` are the tools and the hosts to which something
    private may go without asking anybody. `toolkits` are those that lie in its folder, and for the outermost crew also
    those that it was loaded with. `house_rules` is the text of `AGENTS.md` and `CLAUDE.md` in its folder, bounded, or
    of the crew around it; `warnings` are what people should know of its files though it can be used.
    """

    name: str
    specialists: Mapping[str, Specialist]
    rules: tuple[Rule, ...] = ()
    equals: tuple[tuple[str, ...], ...] = ()
    terms: Mapping[str, Any] = field(default_factory=dict)
    roles: Mapping[str, Tier] = field(default_factory=dict)
    asking: Mapping[str, Any] = field(default_factory=dict)
    default: str = ""
    pipeline: Pipeline | None = None
    make: Allowance | None = None
    lent: Mapping[str, Tool] = field(default_factory=dict)
    path: str = ""
    crews: Mapping[str, Crew] = field(default_factory=dict)
    about: About = About()
    allow_out: frozenset[str] = frozenset()
    approvals: ApprovalRules = NOTHING_SAID
    toolkits: tuple[Toolkit, ...] = ()
    words: CrewWords = NO_WORDS
    """What its file says to its supervisor."""
    house_rules: str = ""
    warnings: tuple[CrewFault, ...] = ()

    def within(self, name: str) -> Crew | None:
        """Find the crew with that path, at whatever level; None if there is none."""
        if name == self.path:
            return self
        return next((found for crew in self.crews.values() if (found := crew.within(name))), None)

    @property
    def asked(self) -> frozenset[str]:
        """The Slack ids of those whom this crew and the crews inside it name for questions and approvals."""
        own = {*self.asking.get("whom", ()), *self.asking.get("then", ()), *self.approvals.usual.approvers}
        terms = (each for one in self.specialists.values() for each in (one.usual, *one.approvals.values()))
        theirs = (one for each in self.specialists.values() for one in each.asks)
        approvers = (who for each in terms if each is not None for who in each.approvers)
        inside = (crew.asked for crew in self.crews.values())
        return frozenset(own).union(theirs, approvers, *inside) - {REQUESTER, ANYONE, ADMINS}

    @property
    def everyone(self) -> dict[str, Specialist]:
        """The specialists of this crew and of all inside it."""
        inside = {name: one for crew in self.crews.values() for name, one in crew.everyone.items()}
        return {**self.specialists, **inside}

    @property
    def finders(self) -> tuple[Toolkit, ...]:
        """The toolkits that fetch what a request names, and of which somebody in this crew holds a tool."""
        held = {tool.name for one in self.everyone.values() for tool in one.tools}
        there = (*self.toolkits, *(each for crew in self.crews.values() for each in crew.finders))
        return tuple(one for one in there if one.finds is not None and held & {tool.name for tool in one.tools})

    async def close(self) -> None:
        """End what the toolkits of this crew and of the crews inside it hold open."""
        for toolkit in self.toolkits:
            if toolkit.close is not None:
                await toolkit.close()
        for crew in self.crews.values():
            await crew.close()


def available_crews(folder: Path = CREWS) -> tuple[str, ...]:
    """List the names of the crews in a folder, in order."""
    return tuple(sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name[0] not in "._"))


def load_crew(
    folder: Path,
    tools: Mapping[str, Tool],
    settings: ToolSettings = _NO_SETTINGS,
    *,
    around: tuple[Toolkit, ...] = (),
) -> Crew:
    """Read and check a crew, with the crews inside it.

    Args:
        folder: The crew's folder. Files may lie in folders inside it, `DEPTH_LIMIT` levels in all. One of those that
            has a `crew.yml` is a crew of its own, and a member of this one under the folder's name.
        tools: All tools there are besides those of the crew's own toolkits, by name.
        settings: What its toolkits are set up with.
        around: Further toolkits, whose tools it may name and which it closes: those of Leadhand and of packages.

    Raises:
        CrewError: Anything at all is wrong; it names every fault.
    """
    if not folder.is_dir():
        others = ", ".join(available_crews(folder.parent)) if folder.parent.is_dir() else ""
        hint = f"; there are: {others}" if others else ""
        raise CrewError(folder, [CrewFault(folder, 1, f"there is no such folder{hint}")])
    faults: list[CrewFault] = []
    tools = {**tools, **{tool.name: tool for toolkit in around for tool in toolkit.tools}}
    crew, _ = _read_crew(folder, tools, (), faults, settings)
    crew = replace(crew, toolkits=(*around, *crew.toolkits))
    crew = _with_approvals(crew, NOTHING_SAID, faults)
    if faults:
        raise CrewError(folder, faults)
    return crew


def _with_approvals(crew: Crew, around: ApprovalRules, faults: list[CrewFault]) -> Crew:
    """Return the crew with the terms on which calls are approved, each from the nearest file that says something."""
    rules = crew.approvals.inside(around)
    for one in (crew.approvals, *(one.rules for one in crew.specialists.values())):
        faults.extend(one.inside(rules).faults if one.says_who else ())
    usual = rules.usual
    who = {"approvers": usual.approvers, "quorum": usual.quorum, "own_approval": usual.own} if rules.says_who else {}
    return replace(
        crew,
        approvals=rules,
        terms={**crew.terms, **who},
        specialists={name: specialist.with_approvals(one, rules) for name, one in crew.specialists.items()},
        crews={path: _with_approvals(inner, rules, faults) for path, inner in crew.crews.items()},
    )


def _read_crew(
    folder: Path, tools: Mapping[str, Tool], names: tuple[str, ...], faults: list[CrewFault], settings: ToolSettings
) -> tuple[Crew, Page]:
    """Read a crew as far as it can be read, and what it says of itself, whose faults are not added yet.

    `names` are those of the folders that lead to it from the outermost crew's. What is wrong is added to `faults`.
    """
    path = SLASH.join(names)
    toolkits = crew_toolkits.read(folder, tools, settings, faults)
    tools = {**tools, **{tool.name: tool for toolkit in toolkits for tool in toolkit.tools}}
    folders = _crew_folders(folder)
    if len(names) == LEVELS - 1:
        text = f"more than {LEVELS} crews lie in each other; move this one up, or take its {crew_file.NAME} out"
        faults.extend(CrewFault(inner / crew_file.NAME, 1, text) for inner in folders)
        read = []
    else:
        read = [_read_crew(inner, tools, (*names, inner.name), faults, settings) for inner in folders]
    faults.extend(CrewFault(folder / name / crew_file.NAME, 1, _TAKEN) for name in _taken_names(folder))
    files = _pages(folder, folders)
    pages = [frontmatter.read(one) for one in files if _depth(folder, one) <= DEPTH_LIMIT]
    faults.extend(
        CrewFault(one, 1, f"the file lies more than {DEPTH_LIMIT} levels deep; move it up")
        for one in files
        if _depth(folder, one) > DEPTH_LIMIT
    )
    if not files and not folders:
        faults.append(CrewFault(folder, 1, "the crew is empty; add a specialist"))
    readable = [page for page in pages if not page.faults]
    found = [specialist.read(page, tools) for page in readable]
    about = {page.path.parent.name: page for _, page in read}
    crew_checks.check(readable, about, unread=[page.path.stem for page in pages if page not in readable], tools=tools)
    faults.extend(fault for page in (*pages, *about.values()) for fault in page.faults)
    own = crew_file.read(folder, [*(page.path.stem for page in pages), *about], tools)
    faults.extend(own.faults)
    crew = _crew(folder, path, found, [crew for crew, _ in read], own, tools)
    return replace(crew, toolkits=toolkits), _about(own, names)


def _crew(
    folder: Path, path: str, found: list[Specialist], inside: list[Crew], own: CrewFile, tools: Mapping[str, Tool]
) -> Crew:
    """Build the crew of what was read, all names as they are outside of it."""
    own = _renamed(own, path)
    named = [
        replace(
            one,
            name=_outside(path, one.name),
            fallback=_outside(path, one.fallback or "") or None,
            allow_out=own.allow_out,
        )
        for one in sorted(found, key=lambda one: one.name)
    ]
    return Crew(
        name=folder.name,
        path=path,
        specialists={one.name: one for one in named},
        rules=own.rules,
        equals=own.equals,
        terms=own.terms,
        asking=own.asking,
        approvals=own.approvals,
        roles=own.roles,
        default=own.default,
        pipeline=own.pipeline,
        make=own.make,
        allow_out=own.allow_out,
        words=own.words.outside(path),
        lent={name: tools[name] for name in own.make.tools if name in tools} if own.make else {},
        crews={crew.path: crew for crew in inside},
        about=About(
            *crew_checks.read(own.about, specialist.read_description(own.about)),
            _outside(path.rpartition(SLASH)[0], str(own.about.values.get("fallback") or "")),
        ),
    )


def _about(own: CrewFile, names: tuple[str, ...]) -> Page:
    """Check what a crew's file says of the crew; a crew inside another has to say something."""
    page = own.about
    if not names:
        return page
    if not {"description", "can"} & set(page.values):
        page.fault("the key description is missing; say in a line what the crew can do, for the crew around it")
    if not NAME.fullmatch(names[-1]) or names[-1] in RESERVED:
        page.fault(f"the folder's name {names[-1]!r} must be small letters, digits, - and _, a letter first")
    fallback = page.values.get("fallback")
    if fallback is not None and not isinstance(fallback, str):
        page.fault("fallback must be the name of a specialist or a crew beside this one", key="fallback")
    return page


def _depth(folder: Path, path: Path) -> int:
    return len(path.relative_to(folder).parts)


# ---------------------------------------------------------------- crews inside the crew


def _crew_folders(folder: Path) -> list[Path]:
    """List the folders inside a crew's that are crews of their own, those with a `crew.yml`, in order.

    Their files are their own. Other folders inside a crew are only there for order.
    """
    found: list[Path] = []
    for path in _ordering_folders(folder, top=True):
        found += [path] if (path / crew_file.NAME).exists() else _crew_folders(path)
    return found


def _pages(folder: Path, crews: list[Path], *, top: bool = True) -> list[Path]:
    """List the files of a crew's own specialists, in order, without those of the crews inside it."""
    own = [one for one in folder.glob("*.md") if one.name[0] != "." and not (top and one.name in NO_SPECIALISTS)]
    inside = [one for one in _ordering_folders(folder, top=top) if one not in crews]
    return sorted([*own, *(page for one in inside for page in _pages(one, crews, top=False))])


def _ordering_folders(folder: Path, *, top: bool) -> list[Path]:
    """List the folders in which specialists or crews may lie. Links count if they lead to crews."""
    return [
        path
        for path in sorted(folder.iterdir())
        if path.is_dir()
        and path.name[0] != "."
        and not (top and path.name in BESIDE)
        and (not path.is_symlink() or (path / crew_file.NAME).exists())
    ]


def _taken_names(folder: Path) -> list[str]:
    return [name for name in BESIDE if (folder / name / crew_file.NAME).exists()]


def _outside(path: str, name: str) -> str:
    """Name a member as the crews around its crew do; `path` is its crew's own, empty for the outermost."""
    return f"{path}{SLASH}{name}" if path and name else name


def _renamed(own: CrewFile, path: str) -> CrewFile:
    """Put the names that specialists have outside of their crew into what the crew's file says."""
    if not path:
        return own
    rules = tuple(_rule_renamed(rule, path) for rule in own.rules)
    equals = tuple(tuple(_outside(path, name) for name in group) for group in own.equals)
    make = own.make
    if make is not None:
        taken = frozenset(_outside(path, name) for name in make.taken)
        make = replace(make, fallback=_outside(path, make.fallback), taken=make.taken | taken)
    steps = own.pipeline.steps if own.pipeline else ()
    pipeline = own.pipeline and replace(
        own.pipeline, steps=tuple(replace(step, specialist=_outside(path, step.specialist)) for step in steps)
    )
    default = _outside(path, own.default)
    return replace(own, rules=rules, equals=equals, default=default, make=make, pipeline=pipeline)


def _rule_renamed(rule: Rule, path: str) -> Rule:
    return replace(rule, to=tuple(_outside(path, name) for name in rule.to))
