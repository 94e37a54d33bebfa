"""Tools and where they work. A tool has a name, a schema, the word that it reads or writes, and a coroutine.

A tool that writes is called at most once for a model's wish: its intent is
kept before the call and its outcome after it. If the outcome is not known
(the bot died, the time was up, the tool raised), the tool says what it can:
`look_up` finds out, a `key` can make it safe to repeat. Without either, a
person is asked.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from pydantic import BaseModel

from handoff.contracts import Artifact, ChartShape
from handoff.state.state_values import Provenance
from specialists.tools.messenger import Messenger, Readers
from specialists.tools.tool_sign_in import KeptSignIns, SignIn

Access = Literal["read", "write"]
Key = Literal["none", "marks", "drops_repeats"]
SQL = "sql"
"""The name of the argument with a query in SQL, of tools that run one."""
CODE = "code"
"""The name of the argument with a program, of tools that run one."""


class WorkbenchLost(Exception):
    """The place where a workbench keeps its files is away. `reason` is the error that said so.

    The tool that needed a file is not at fault: its attempt is interrupted, and goes on from its last checkpoint.
    """

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


class NotKept(KeyError):
    """A file is no longer kept: its time is over, or it was deleted. A tool lets it pass; the model is told."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Workbench(Protocol):
    """A tool's place of work: the files of its handoff, and room for new ones.

    `path` and `keep` raise WorkbenchLost while the place that keeps the files is away. `path` raises NotKept for a file
    that is there no more. A tool lets them pass.
    """

    @property
    def provenance(self) -> Provenance:
        """The words of people that the brief is made of, and if it holds more than those."""

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The files of the handoff and those made since, by this specialist."""

    async def path(self, artifact: Artifact) -> Path:
        """Give a local read-only copy of the file, valid until the attempt ends."""

    async def keep(
        self,
        name: str,
        data: bytes,
        *,
        media_type: str,
        about: str,
        publish_as: str,
        chart: ChartShape | None = None,
    ) -> Artifact:
        """Store a new file and give back its reference; `chart` is what it shows, if a chart of these numbers."""

    async def may_follow(self, url: str, target: str) -> bool:
        """Say if a call that asked for `url` may go on to where that redirects; see `turns.egress`."""

    @property
    def messenger(self) -> Messenger | None:
        """The way to people outside of the job's thread; None where nobody is connected."""

    @property
    def sign_ins(self) -> KeptSignIns | None:
        """Where the bot keeps the sign-ins to servers; None where it keeps none."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """A tool's outcome: text for the model, the files it made, and the gaps it knows of.

    `failed` is an expected failure (bad argument, page not found), said in
    words that let the model mend its call. A bug raises instead. From a tool that writes it says
    that for certain nothing was done; if that is not certain (no answer came, say), the tool raises.
    `gaps` go into the specialist's `Result` whatever the model says, for instance a parse report. So do `notes`:
    what readers of figures should know though nothing is missing, such as a row of totals that was not counted.
    `sources` are addresses or file names that the answer can cite. `private` and `target` (where the call went to) are
    for the runner, which knows the tool.
    """

    text: str
    artifacts: tuple[Artifact, ...] = ()
    gaps: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    failed: bool = False
    notes: tuple[str, ...] = ()
    private: bool = True
    target: str = ""


@dataclass(frozen=True, slots=True)
class OutgoingData:
    """What a call sends out: `to` a host or a service, as people know it, and the request as it goes on the `wire`.

    `clear` is the same as people read it; empty: as the wire has it, decoded. `in_arguments`: all that leaves stands in
    the call's arguments, so that whoever is asked reads it there, at any length, and not twice.
    """

    to: str
    wire: str
    clear: str = ""
    in_arguments: bool = False


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call as it would be made: `arguments` with its names resolved into what they stand for.

    `why` tells people what they should know of it. `readers` are those of whom one has to approve it, whatever the crew
    says; None: as the crew says. Preparing a prepared call changes nothing.
    """

    arguments: BaseModel
    why: str = ""
    readers: Readers | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as models see it: `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the registry knows it. Its `description` is a prompt: the docstring of `run`.

    Attributes:
        name: What models call it.
        access: `write` for whatever changes something outside of the job.
        arguments: The model of its arguments.
        run: Does it: `run(arguments, workbench)`, and if there is a key, `run(arguments, workbench, key)`.
        key: For `write`: whether it is handed a key, and what for. With `drops_repeats` it is safe to repeat,
            because its far side does nothing for a key that it has seen; with `marks` it only leaves the
            key where `look_up` finds it. The key is random: it is drawn when the intent of a call is kept,
            and kept with it, so that it is the same after a restart and another for every other call.
        look_up: For `write`: takes what `run` takes, and finds out whether that call was carried out. Gives
            its outcome if it was, None if it certainly was not and no longer will be; raises, or gives a
            failed outcome, if it cannot tell.
        what: For `write`: a few words for people on what a call does. Without, the tool's name and arguments.
        target: For `write`: says where a call goes to, for people who approve it: a channel, a board, a repository.
            Who approves similar calls approves them for the same target only.
        prepare: For `write`: takes the arguments and the workbench, and gives the call as it would be made
            (`PreparedCall`), or a failed outcome. It is asked before people are, and again before the call: what they
            approve is what is made.
        url: The name of the argument that holds the URL that a call asks for; empty: it asks for none. Which may be
            asked for, and in which spelling, is decided in `turns.egress`.
        sends: Says what a call with these arguments sends out, if that is more than a request for its `url`. Once
            something private is in view, such a call waits for a person.
        sent_words: The name of the argument with the words that it sends, if it sends nothing else of the model's.
        public: True if its replies bring nothing private into view: only what the public web gave, what the call
            itself said, or material, which has labels of its own.
        query: The name of the argument that holds a query, if there is one: people may look at what was asked.
        finds_urls: True if its replies hold URLs that the web gave, and none of the model's own making.
        cites: True if the addresses in its replies may be links in answers, as documents of the house gave them. That
            makes them neither public nor known to tools that ask for a `url`.
        endings: The endings of attached files that it reads, such as `.csv`. It is offered only where there is such a
            file, which need not be read as text then. A result for which none was read is sent back once.
        previews: For a tool that only describes a file: lists what a reply of it names, such as columns and their
            values. A result that stands on descriptions alone is sent back once. So is a result if the task mentions
            one of those names and no other call asked for it or brought it.
        origin: Where it comes from, for people: that of its toolkit; empty: it is one of Leadhand's own.
        description: What models are told of it, where that is not the docstring of `run`.
        parameters: The JSON Schema object of its arguments as models see it, where that is not the one of `arguments`:
            a tool of a server brings its own, and `arguments` checks by it.
        signs_in: How people sign in to where it goes, if they have to: it is called once somebody has.
    """

    name: str
    access: Access
    arguments: type[BaseModel]
    run: Callable[..., Awaitable[ToolOutcome]]
    key: Key = "none"
    look_up: Callable[..., Awaitable[ToolOutcome | None]] | None = None
    what: Callable[[Any], str] | None = None
    target: Callable[[Any], str] | None = None
    prepare: Callable[..., Awaitable[PreparedCall | ToolOutcome]] | None = None
    url: str = ""
    sends: Callable[[Any], OutgoingData] | None = None
    sent_words: str = ""
    public: bool = False
    finds_urls: bool = False
    cites: bool = False
    query: str = ""
    endings: frozenset[str] = frozenset()
    previews: Callable[[str], tuple[str, ...]] | None = None
    origin: str = ""
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    signs_in: SignIn | None = None

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        if self.parameters is not None:
            return ToolSpec(self.name, self._model_description, dict(self.parameters))
        schema = self.arguments.model_json_schema()
        for name in _NOT_TOLD:
            schema.pop(name, None)
        for parameter in schema.get("properties", {}).values():
            for name in _NOT_TOLD_OF_ONE:
                parameter.pop(name, None)
            if not parameter.get("default", True):
                del parameter["default"]
        return ToolSpec(self.name, self._model_description, schema)

    @property
    def only_queries(self) -> bool:
        """True if a query in SQL is all that it takes."""
        return self.query == SQL and list(self.arguments.model_fields) == [SQL]

    @property
    def _model_description(self) -> str:
        return self.description or inspect.cleandoc(self.run.__doc__ or "")

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults of its declaration, each in words that follow its name."""
        found = []
        if self.access not in get_args(Access):
            found.append(f"has the access {self.access!r}; it is read or write")
        elif self.access == "read":
            extras = {"a key": self.key != "none", "look_up": self.look_up, "what": self.what, "target": self.target}
            extras |= {"prepare": self.prepare is not None}
            found += [f"only reads, so {name} does nothing; leave it out" for name, has in extras.items() if has]
        if self.key not in get_args(Key):
            found.append(f"has the key {self.key!r}; it is one of {', '.join(get_args(Key))}")
        elif self.key == "marks" and self.look_up is None:
            found.append("has a key that marks, and no look_up to find it with")
        for role, name in (("url", self.url), ("sent_words", self.sent_words)):
            if name and name not in self.arguments.model_fields:
                found.append(f"names {name} as its {role}, and has no such argument")
        if self.sent_words and self.sends is None:
            found.append("has sent_words and no sends: say whom the words go to")
        given = ("arguments", "workbench") if self.key == "none" else ("arguments", "workbench", "key")
        for name, work in (("run", self.run), ("look_up", self.look_up)):
            if work is not None and not _takes_arguments(work, len(given)):
                found.append(f"must have a {name} that takes {', '.join(given)}")
        return tuple(found)

    def describe_call(self, arguments: BaseModel) -> str:
        """Word what a call does, in a few words for people."""
        if self.what is not None:
            return _shorten_line(self.what(arguments), _WORDS)
        values = (f"{name}={_shorten_line(repr(value), _VALUE)}" for name, value in arguments)
        return _shorten_line(f"{self.name}({', '.join(values)})", _WORDS)


_NOT_TOLD = ("title", "description", "additionalProperties")
_NOT_TOLD_OF_ONE = ("title", "minLength", "maxLength")
"""Parts of a schema that no model needs: every call carries it, and a wrong call is told its exact fault."""
_WORDS = 200
_VALUE = 60


def _takes_arguments(work: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(work).bind(*range(count))
    except TypeError:
        return False
    return True


def _shorten_line(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


# ---------------------------------------------------------------- a workbench backed by a folder

_UNSAFE = re.compile(r"[^\w.\- ]+")
_LONGEST_NAME = 120
PEOPLE = Provenance()
"""A brief that holds nothing but what people said."""


class FolderWorkbench:
    """A `Workbench` for one attempt: files come from a store when a tool asks, new ones go back to it.

    Args:
        artifacts: the files of the handoff.
        fetch: gives the bytes for an artifact's id. What it raises passes through `path`.
        store: keeps bytes and gives back their id (the sha256, in hex). What it raises passes through `keep`.
        folder: for local copies; made, for us alone, when the first is asked for. Whoever named it
            removes it when the attempt ends.
        provenance: where the words of the brief come from.
        messenger: the way to people outside of the job's thread, if somebody is connected.
        sign_ins: where sign-ins to servers are kept, if they are.
    """

    def __init__(
        self,
        artifacts: tuple[Artifact, ...],
        fetch: Callable[[str], Awaitable[bytes]],
        store: Callable[[bytes], Awaitable[str]],
        folder: Path,
        provenance: Provenance = PEOPLE,
        messenger: Messenger | None = None,
        sign_ins: KeptSignIns | None = None,
    ) -> None:
        self.provenance = provenance
        self.messenger = messenger
        self.sign_ins = sign_ins
        self._given = artifacts
        self._made: list[Artifact] = []
        self._fetch = fetch
        self._store = store
        self._folder = folder
        self._fetching: dict[str, asyncio.Lock] = {}

    @classmethod
    def in_memory(cls, files: Iterable[tuple[str, str, bytes]], folder: Path) -> FolderWorkbench:
        """Make a workbench that keeps its files in memory. `files` are name, media type and bytes of each."""
        kept: dict[str, bytes] = {}

        async def fetch(digest: str) -> bytes:
            return kept[digest]

        async def store(data: bytes) -> str:
            digest = hashlib.sha256(data).hexdigest()
            kept[digest] = data
            return digest

        artifacts = []
        for name, media_type, data in files:
            digest = hashlib.sha256(data).hexdigest()
            kept[digest] = data
            artifacts.append(Artifact(id=digest, name=name, media_type=media_type, size=len(data)))
        return cls(tuple(artifacts), fetch, store, folder)

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The files of the handoff, then those made since."""
        return self._given + tuple(self._made)

    @property
    def made_artifacts(self) -> tuple[Artifact, ...]:
        """The files that tools made here, in order."""
        return tuple(self._made)

    async def path(self, artifact: Artifact) -> Path:
        """Give a local read-only copy of the file, fetched once, named like the file but safe as a path."""
        local = self._folder / _safe_file_name(artifact.id)[:32] / _safe_file_name(artifact.name)
        async with self._fetching.setdefault(artifact.id, asyncio.Lock()):
            if not local.exists():
                try:
                    data = await self._fetch(artifact.id)
                except KeyError:
                    raise NotKept(artifact.name) from None
                await asyncio.to_thread(self._write, local, data)
        return local

    async def keep(
        self,
        name: str,
        data: bytes,
        *,
        media_type: str,
        about: str,
        publish_as: str,
        chart: ChartShape | None = None,
    ) -> Artifact:
        """Store a new file and give back its reference. A name already taken gets a number.

        Raises:
            pydantic.ValidationError: `publish_as` is not one of the ways that `Artifact` knows.
        """
        fields: dict[str, Any] = {"name": self._free_name(name), "media_type": media_type, "size": len(data)}
        fields |= {"about": about, "publish_as": publish_as, "chart": chart}
        artifact = Artifact.model_validate({"id": await self._store(data), **fields})
        self._made.append(artifact)
        return artifact

    async def may_follow(self, _url: str, _target: str) -> bool:
        """Follow no redirect: that is for whoever knows what is in view (`turns.guarded_bench`)."""
        return False

    def _write(self, local: Path, data: bytes) -> None:
        """Write under another name first, so that a copy that is there is always whole."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        local.parent.mkdir(exist_ok=True)
        part = local.with_name(local.name + ".part")
        part.write_bytes(data)
        part.chmod(0o400)
        part.replace(local)

    def _free_name(self, name: str) -> str:
        taken = {artifact.name for artifact in self.artifacts}
        stem, suffix = Path(name).stem, Path(name).suffix
        number = 1
        while name in taken:
            number += 1
            name = f"{stem}-{number}{suffix}"
        return name


def _safe_file_name(name: str) -> str:
    """Make a name one part of a path: a name comes from whoever attached the file."""
    plain = _UNSAFE.sub("_", name.replace("\\", "/").rsplit("/", 1)[-1]).strip(". ")
    return plain[-_LONGEST_NAME:].encode()[-_LONGEST_NAME:].decode(errors="ignore") or "file"
