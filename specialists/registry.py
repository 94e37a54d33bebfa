"""Loads a crew from its files, and refuses a crew with faults, listing all of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from handoff.contracts import PATH_SEPARATOR, RESERVED_NAMES
from handoff.planning.adhoc import NAME_PATTERN
from handoff.planning.routing import RoutingRule
from specialists import specialist
from specialists.crew import Crew, CrewDescription
from specialists.files.frontmatter import CrewFault, MarkdownPage
from specialists.loading import crew_checks, crew_file, crew_folders, crew_prompts, crew_toolkits, specialist_keys
from specialists.loading.approval_keys import NO_APPROVAL_RULES, ApprovalRules
from specialists.loading.crew_context import CrewContext
from specialists.loading.crew_file import CrewFile
from specialists.loading.crew_layers import find_layers
from specialists.specialist import Specialist
from specialists.tools.tool import Tool
from specialists.tools.toolkit import Toolkit, ToolSettings

CREWS_FOLDER = Path(__file__).parent / "crews"
MAX_LEVELS = 3
"""Most levels of crews inside each other, the outermost counted."""
_NO_SETTINGS = ToolSettings()

_EXAMPLE_FILE = """\
A specialist is one Markdown file in the crew's folder, named after it. For example translator.md:

---
name: translator
description: Translates given text and keeps its layout.
cannot: [look anything up]   # or in the description: "Cannot look anything up."
tools: []              # of those that `leadhand check` lists
model: balanced        # fast, balanced or deep
fallback: writer       # optional: who takes over where this one fails
max_turns: 5           # optional: 1 to 50
---
You are the translator. ..."""


class CrewError(Exception):
    """A crew cannot be used. `faults` are all of its faults, sorted, each with its file and line."""

    def __init__(self, folder: Path, faults: Iterable[CrewFault]) -> None:
        self.faults = tuple(sorted(set(faults)))
        lines = "\n".join(str(fault) for fault in self.faults)
        super().__init__(f"The crew in {folder} cannot be used:\n{lines}\n\n{_EXAMPLE_FILE}")


def list_crew_names(folder: Path = CREWS_FOLDER) -> tuple[str, ...]:
    """Return the names of the crews in a folder, sorted. Names that begin with `.` or `_` are left out."""
    return tuple(sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name[0] not in "._"))


def list_member_names(folder: Path) -> frozenset[str]:
    """Return the names of a crew's own specialists and inner crews, read from its folders; empty without a folder."""
    if not folder.is_dir():
        return frozenset()
    layers = find_layers(folder, CREWS_FOLDER, [])
    crews = layers.merge_paths(crew_folders.list_inner_crews)
    pages = layers.merge_paths(lambda one: crew_folders.list_specialist_files(one, crew_folders.list_inner_crews(one)))
    return frozenset(path.stem for path in (*crews, *pages))


def load_crew(
    folder: Path,
    tools: Mapping[str, Tool],
    settings: ToolSettings = _NO_SETTINGS,
    *,
    further_toolkits: tuple[Toolkit, ...] = (),
    members: Sequence[Path] = (),
) -> Crew:
    """Load and check a crew, with the crews inside it.

    Args:
        folder: The crew's folder. Files may lie in folders inside it, three levels in all. An inner folder with a
            `crew.yml` is a crew itself, and a member of this crew under the folder's name.
        tools: All available tools by name, besides those of the crew's own toolkits.
        settings: The settings for its own toolkits.
        members: Folders of crews elsewhere, which become crews inside this one.
        further_toolkits: Toolkits of Leadhand and of packages. The crew may name their tools, and closes them.

    Raises:
        CrewError: The crew has faults. The error lists all of them.
    """
    if not folder.is_dir():
        others = ", ".join(list_crew_names(folder.parent)) if folder.parent.is_dir() else ""
        hint = f"; there are: {others}" if others else ""
        raise CrewError(folder, [CrewFault(folder, 1, f"there is no such folder{hint}")])
    faults: list[CrewFault] = []
    tools = {**tools, **{tool.name: tool for toolkit in further_toolkits for tool in toolkit.tools}}
    crew, _ = _read_crew(folder, CrewContext(tools, settings), faults, members)
    crew = replace(crew, toolkits=(*further_toolkits, *crew.toolkits))
    crew = _add_contact(_add_approval_terms(crew, NO_APPROVAL_RULES, faults), "")
    if faults:
        raise CrewError(folder, faults)
    return crew


def _add_approval_terms(crew: Crew, outer_rules: ApprovalRules, faults: list[CrewFault]) -> Crew:
    """Return the crew with the terms of approvals set, each from the nearest file that has the key."""
    rules = crew.approvals.with_outer(outer_rules)
    for one in (crew.approvals, *(one.approval_rules for one in crew.specialists.values())):
        faults.extend(one.with_outer(rules).faults if one.names_approvers else ())
    usual_terms = rules.usual_terms
    approver_terms = (
        {"approvers": usual_terms.approvers, "quorum": usual_terms.quorum, "own_approval": usual_terms.own}
        if rules.names_approvers
        else {}
    )
    return replace(
        crew,
        approvals=rules,
        terms={**crew.terms, **approver_terms},
        specialists={name: specialist.add_approval_terms(one, rules) for name, one in crew.specialists.items()},
        crews={path: _add_approval_terms(inner, rules, faults) for path, inner in crew.crews.items()},
    )


def _add_contact(crew: Crew, outer_contact: str) -> Crew:
    """Return the crew and its inner crews with the contact set, also in prompts with a placeholder for it."""
    contact = crew.contact or outer_contact
    specialists = crew.specialists.items()
    return replace(
        crew,
        contact=contact,
        specialists={
            name: replace(one, prompt=crew_prompts.insert_contact(one.prompt, contact)) for name, one in specialists
        },
        crews={path: _add_contact(inner, contact) for path, inner in crew.crews.items()},
    )


def _read_crew(
    folder: Path, surroundings: CrewContext, faults: list[CrewFault], members: Sequence[Path] = ()
) -> tuple[Crew, MarkdownPage]:
    """Read a crew without its faulty parts. Returns (the crew, the page on which it describes itself).

    Faults are added to `faults`, except those of that page. `members` are the folders of inner crews that lie
    elsewhere.
    """
    names, first_fault = surroundings.folder_names, len(faults)
    path = PATH_SEPARATOR.join(names)
    layers = find_layers(folder, CREWS_FOLDER, faults)
    settings, first_toolkit_fault = surroundings.settings, len(faults)
    toolkits = layers.read_toolkits(
        lambda one, there: crew_toolkits.read_toolkits(one, there, settings, faults, path), surroundings.tools
    )
    toolkit_faults = faults[first_toolkit_fault:]
    surroundings, warnings = layers.add_crew_parts(surroundings, toolkits)
    tools = surroundings.tools
    folders = [*layers.merge_paths(crew_folders.list_inner_crews), *members]
    if len(names) == MAX_LEVELS - 1:
        text = f"crews are nested more than {MAX_LEVELS} deep; move this one up, or take its {crew_file.FILE_NAME} out"
        faults.extend(CrewFault(inner / crew_file.FILE_NAME, 1, text) for inner in folders)
        inner_results = []
    else:
        inner_results = [_read_crew(inner, surroundings.make_for_inner_crew(inner), faults) for inner in folders]
    pages = layers.read_pages(surroundings, faults)
    if not pages and not folders and len(faults) == first_fault:
        faults.append(CrewFault(folder, 1, "the crew is empty; add a specialist"))
    readable = [page for page in pages if not page.faults]
    specialist_keys.add_server_tools(readable, tools)
    specialists = [specialist.read_specialist(page, tools, surroundings.skills) for page in readable]
    pages_by_crew = {page.path.parent.name: page for _, page in inner_results}
    crew_checks.check_specialists(
        readable, pages_by_crew, faulty_names=[page.name for page in pages if page not in readable], tools=tools
    )
    page_faults = [fault for page in (*pages, *pages_by_crew.values()) for fault in page.faults]
    faults.extend(crew_toolkits.explain_unknown_tools(page_faults, toolkit_faults))
    warnings += [warning for page in pages for warning in page.warnings]
    file = crew_file.read_crew_file(folder, [*(page.name for page in pages), *pages_by_crew], tools, layers.lower_roots)
    faults.extend(file.faults)
    faults.extend(layers.find_without_faults())
    faults[first_fault:] = layers.add_extends_hint(faults[first_fault:])
    faults.extend(_find_first_responder_faults(file, specialists))
    crew = _build_crew(folder, path, specialists, [crew for crew, _ in inner_results], file, tools)
    prompts = replace(crew.prompts, house_rules=surroundings.house_rules)
    return replace(crew, toolkits=toolkits, warnings=tuple(warnings), prompts=prompts), _check_description(file, names)


def _find_first_responder_faults(file: CrewFile, members: Iterable[Specialist]) -> Iterable[CrewFault]:
    """Yield the faults of a crew's first responder: it must be one specialist with tools that only read."""
    first = next((one for one in members if one.name == file.first), None)
    if not file.first or file.first_place is None:
        return
    if first is None:
        yield replace(file.first_place, text=f"first must name a specialist of this crew, and {file.first} is none")
        return
    for tool in first.tools:
        if tool.access == "write":
            text = f"the first responder {file.first} has {tool.name}, which writes: it may only have tools that read"
            yield replace(file.first_place, text=text)


def _build_crew(
    folder: Path,
    path: str,
    members: list[Specialist],
    inner_crews: list[Crew],
    file: CrewFile,
    tools: Mapping[str, Tool],
) -> Crew:
    """Build the crew from the parts that were read, with its members under their names outside the crew."""
    file = _rename_specialists(file, path)
    renamed_members = [
        replace(
            one,
            name=_make_outer_name(path, one.name),
            fallback=_make_outer_name(path, one.fallback or "") or None,
            allow_out=file.allow_out,
        )
        for one in sorted(members, key=lambda one: one.name)
    ]
    return Crew(
        name=folder.name,
        path=path,
        specialists={one.name: one for one in renamed_members},
        rules=file.rules,
        equals=file.equals,
        terms=file.terms,
        asking_terms=file.asking_terms,
        approvals=file.approvals,
        roles=file.roles,
        default=file.default,
        first=file.first,
        needs=file.needs,
        pipeline=file.pipeline,
        contact=file.contact,
        make=file.make,
        allow_out=file.allow_out,
        prompts=file.prompts.with_outer_names(path),
        requests=file.requests,
        channel=file.channel,
        lent_tools={name: tools[name] for name in file.make.tools if name in tools} if file.make else {},
        crews={crew.path: crew for crew in inner_crews},
        about=CrewDescription(
            *crew_checks.read_abilities(file.about, specialist.read_description(file.about)),
            _make_outer_name(path.rpartition(PATH_SEPARATOR)[0], str(file.about.values.get("fallback") or "")),
        ),
    )


def _check_description(file: CrewFile, names: tuple[str, ...]) -> MarkdownPage:
    """Return the page on which a crew describes itself, with its faults.

    A crew inside another must have a description.
    """
    page = file.about
    if not names:
        return page
    if not {"description", "can"} & set(page.values):
        page.add_fault("the key description is missing; say in a line what the crew can do, for the crew around it")
    if not NAME_PATTERN.fullmatch(names[-1]) or names[-1] in RESERVED_NAMES:
        page.add_fault(f"the folder's name {names[-1]!r} must be small letters, digits, - and _, a letter first")
    fallback = page.values.get("fallback")
    if fallback is not None and not isinstance(fallback, str):
        page.add_fault("fallback must be the name of a specialist or a crew beside this one", key="fallback")
    return page


# ---------------------------------------------------------------- crews inside the crew


def _make_outer_name(path: str, name: str) -> str:
    """Return a member's name outside of its crew. `path` is the crew's, "" for the outermost."""
    return f"{path}{PATH_SEPARATOR}{name}" if path and name else name


def _rename_specialists(file: CrewFile, path: str) -> CrewFile:
    """Return the crew's file with its specialists under their names outside the crew, `path/name`."""
    if not path:
        return file
    rules = tuple(_rename_in_rule(rule, path) for rule in file.rules)
    equals = tuple(tuple(_make_outer_name(path, name) for name in group) for group in file.equals)
    make = file.make
    if make is not None:
        outer_names = frozenset(_make_outer_name(path, name) for name in make.reserved_names)
        make = replace(
            make, fallback=_make_outer_name(path, make.fallback), reserved_names=make.reserved_names | outer_names
        )
    steps = file.pipeline.steps if file.pipeline else ()
    pipeline = file.pipeline and replace(
        file.pipeline, steps=tuple(replace(step, specialist=_make_outer_name(path, step.specialist)) for step in steps)
    )
    default, first = _make_outer_name(path, file.default), _make_outer_name(path, file.first)
    return replace(file, rules=rules, equals=equals, default=default, first=first, make=make, pipeline=pipeline)


def _rename_in_rule(rule: RoutingRule, path: str) -> RoutingRule:
    return replace(rule, to=tuple(_make_outer_name(path, name) for name in rule.to))
