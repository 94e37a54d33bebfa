"""Tools and workbenches. A tool has a name, a schema, an access (it reads or it writes), and a coroutine.

A tool that writes is called at most once for each call of a model: the intent is
stored before the call and the outcome after it. If the outcome is not known
(the bot died, the time was up, the tool raised), the tool can still help:
`look_up` finds out, and a `key` can make the call safe to repeat. Without
either, a person is asked.
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
from specialists.tools.messenger import CommonReaders, Messenger
from specialists.tools.tool_sign_in import SignIn, SignInStore

Access = Literal["read", "write"]
KeyUse = Literal["none", "marks", "drops_repeats"]
SQL_ARGUMENT = "sql"
"""The name of the argument that holds the query, in tools that run SQL."""
CODE_ARGUMENT = "code"
"""The name of the argument that holds the program, in tools that run code."""


class WorkbenchLost(Exception):
    """The store is unavailable, or the job has another owner by now. `reason` is the error that said so.

    The tool that needed a file did not fail: its attempt is interrupted, and goes on from its last checkpoint.
    """

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


class FileNotKept(KeyError):
    """A file is no longer stored: it expired, or was deleted. Tools do not catch this error; the model is told."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Workbench(Protocol):
    """The files of an attempt, for its tools: those of the handoff, and new ones that tools make.

    `path` and `keep` raise WorkbenchLost while the store of the files is unavailable. `path` raises FileNotKept for a
    file that is no longer stored. Tools do not catch these errors.
    """

    @property
    def provenance(self) -> Provenance:
        """Whose words the brief is made of, and whether it holds anything else."""

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The files of the handoff, and those that this specialist has made since."""

    async def path(self, artifact: Artifact) -> Path:
        """Return the path of a local read-only copy of the file, which is valid until the attempt ends."""

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
        """Store a new file and return its reference; `chart` has the numbers of a picture that is a chart."""

    async def may_follow(self, url: str, target: str) -> bool:
        """Return whether a call that requested `url` may follow its redirect to `target`, as `turns.egress` rules."""

    @property
    def messenger(self) -> Messenger | None:
        """The messenger to people outside of the job's thread; None without Slack."""

    @property
    def sign_ins(self) -> SignInStore | None:
        """The store of the sign-ins to servers; None if the bot stores none."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The outcome of a tool's call.

    Attributes:
        text: What the model is told.
        artifacts: The files that the call made.
        gaps: What is missing, such as rows that could not be read. Gaps go into the specialist's `Result`, whatever the
            model says.
        sources: Addresses or file names that the answer can cite.
        failed: True for an expected failure (bad argument, page not found), with a text by which the model can correct
            its call. A bug raises instead. From a tool that writes, `failed` says that certainly nothing was done; if
            that is not certain, for instance because no answer came, the tool raises.
        notes: What readers of figures should know though nothing is missing, such as a row of totals that was not
            counted. Notes go into the `Result` too.
        private: True if the text may hold something private; set by the runner, which knows the tool.
        target: The place that the call went to, such as a channel; set by the runner, too.
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
    """The data that a call sends out.

    Attributes:
        to: The host or service that gets it, as people know it.
        wire: The request as it is sent.
        clear: The same for people to read; if "", they read `wire`, decoded.
        in_arguments: True if all the data is in the call's arguments, where people read it in full before they approve.
    """

    to: str
    wire: str
    clear: str = ""
    in_arguments: bool = False


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call as it would be made. Preparing a prepared call changes nothing.

    Attributes:
        arguments: The arguments, with names resolved, such as `#ops` to `#ops (C0123)`.
        why: What people should know before they approve the call.
        readers: The people of whom one has to approve it, whatever the crew's rules say; None if only these apply.
    """

    arguments: BaseModel
    why: str = ""
    readers: CommonReaders | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as models see it: `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the registry knows it. Models read the docstring of `run` as its description.

    Attributes:
        name: What models call it.
        access: `write` if it changes anything outside of the job.
        arguments: The pydantic model of its arguments.
        run: Carries out a call: `run(arguments, workbench)` or, if there is a key, `run(arguments, workbench, key)`.
        key: For `write`: whether `run` gets a key, and what for. With `drops_repeats` a call is safe to repeat,
            because the service ignores a key that it has seen; with `marks` the call only leaves the key where
            `look_up` finds it. The key is random. It is drawn and stored with the intent of a call, so that it is
            the same after a restart, and different for every other call.
        look_up: For `write`: takes the arguments of `run`, and finds out whether that call was carried out. Returns
            its outcome if it was, and None if it certainly was not and will not be; raises, or returns a failed
            outcome, if that is unknown.
        what: For `write`: describes a call in a few words for people. Without it, the tool's name and arguments do.
        target: For `write`: names the place that a call goes to, for people who approve it: a channel, a board, a
            repository. An approval of similar calls holds for the same target only.
        prepare: For `write`: takes the arguments and the workbench, and returns the call as it would be made
            (`PreparedCall`), or a failed outcome. It runs before people are asked, and again before the call, so that
            the call that is made is the one that they approved.
        url: The name of the argument with the URL that a call requests; "" if it requests none. `turns.egress` decides
            which URLs may be requested.
        sends: Returns the data that a call with these arguments sends out, if that is more than a request for its
            `url`. Once something private is in view, such a call waits for a person.
        sent_words: The name of the argument with the words that a call sends, if it sends no other words of the model.
        public: True if its replies bring nothing private into view: only text of the public web, the call's own
            arguments, or material, which has labels of its own.
        query: The name of the argument that holds a query, which people may look at; "" if there is none.
        finds_urls: True if the URLs in its replies come from the web and not from the model.
        cites: True if the addresses in its replies may be links in answers, as they come from the team's own documents.
            They are still not public, and other tools may not request them as a `url`.
        endings: The endings of the attached files that it reads, such as `.csv`. The tool is offered only if there is
            such a file, which need not be read as text then. A result is sent back once if no such file was read.
        previews: For a tool that only describes a file: lists the names in a reply, such as columns and their values.
            A result that is based on descriptions alone is sent back once. So is a result if the task mentions one of
            those names, and no other call asked for the name or returned it.
        origin: Where it comes from, for people: the `origin` of its toolkit; "" for a tool of Leadhand's own.
        description: What models are told about it, if that is not the docstring of `run`.
        parameters: The JSON Schema object of its arguments for models, if that is not the schema of `arguments`: a tool
            of a server brings its own schema, and its `arguments` validate by it.
        signs_in: How people sign in to its server, if they have to. The call is made once somebody has.
    """

    name: str
    access: Access
    arguments: type[BaseModel]
    run: Callable[..., Awaitable[ToolOutcome]]
    key: KeyUse = "none"
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
        for name in _UNUSED_SCHEMA_KEYS:
            schema.pop(name, None)
        for parameter in schema.get("properties", {}).values():
            for name in _UNUSED_PARAMETER_KEYS:
                parameter.pop(name, None)
            if not parameter.get("default", True):
                del parameter["default"]
        return ToolSpec(self.name, self._model_description, schema)

    @property
    def is_query_only(self) -> bool:
        """True if its only argument is a query in SQL."""
        return self.query == SQL_ARGUMENT and list(self.arguments.model_fields) == [SQL_ARGUMENT]

    @property
    def _model_description(self) -> str:
        return self.description or inspect.cleandoc(self.run.__doc__ or "")

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults of its declaration, each in words that follow the tool's name."""
        faults = []
        if self.access not in get_args(Access):
            faults.append(f"has the access {self.access!r}; it is read or write")
        elif self.access == "read":
            extras = {"a key": self.key != "none", "look_up": self.look_up, "what": self.what, "target": self.target}
            extras |= {"prepare": self.prepare is not None}
            faults += [f"only reads, so {name} does nothing; leave it out" for name, has in extras.items() if has]
        if self.key not in get_args(KeyUse):
            faults.append(f"has the key {self.key!r}; it is one of {', '.join(get_args(KeyUse))}")
        elif self.key == "marks" and self.look_up is None:
            faults.append("has a key that marks, and no look_up to find it with")
        for role, name in (("url", self.url), ("sent_words", self.sent_words)):
            if name and name not in self.arguments.model_fields:
                faults.append(f"names {name} as its {role}, and has no such argument")
        if self.sent_words and self.sends is None:
            faults.append("has sent_words and no sends: say whom the words go to")
        parameter_names = ("arguments", "workbench") if self.key == "none" else ("arguments", "workbench", "key")
        for name, work in (("run", self.run), ("look_up", self.look_up)):
            if work is not None and not _takes_arguments(work, len(parameter_names)):
                faults.append(f"must have a {name} that takes {', '.join(parameter_names)}")
        return tuple(faults)

    def describe_call(self, arguments: BaseModel) -> str:
        """Describe a call in a few words for people."""
        if self.what is not None:
            return _shorten_line(self.what(arguments), _MAX_DESCRIPTION_CHARS)
        values = (f"{name}={_shorten_line(repr(value), _MAX_VALUE_CHARS)}" for name, value in arguments)
        return _shorten_line(f"{self.name}({', '.join(values)})", _MAX_DESCRIPTION_CHARS)


_UNUSED_SCHEMA_KEYS = ("title", "description", "additionalProperties")
_UNUSED_PARAMETER_KEYS = ("title", "minLength", "maxLength")
"""Parts of a schema that are left out for models, as every call to a model contains it.

A model that makes a wrong call is told the exact fault.
"""
_MAX_DESCRIPTION_CHARS = 200
_MAX_VALUE_CHARS = 60


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

_UNSAFE_CHARACTERS = re.compile(r"[^\w.\- ]+")
_MAX_NAME_BYTES = 120
PEOPLE_PROVENANCE = Provenance()
"""The provenance of a brief that holds only words of people."""


class FolderWorkbench:
    """A `Workbench` for one attempt: fetches files from a store when a tool needs them, and stores new ones there.

    Args:
        artifacts: The files of the handoff.
        fetch: Returns the bytes for an artifact's id. Its errors pass through `path`; KeyError becomes FileNotKept.
        store: Stores bytes and returns their id (the sha256, in hex). Its errors pass through `keep`.
        folder: The folder for local copies; it is made, readable by us alone, for the first copy. The caller removes it
            when the attempt ends.
        provenance: Whose words the brief is made of.
        messenger: The messenger to people outside of the job's thread, if there is one.
        sign_ins: The store of sign-ins to servers, if there is one.
    """

    def __init__(
        self,
        artifacts: tuple[Artifact, ...],
        fetch: Callable[[str], Awaitable[bytes]],
        store: Callable[[bytes], Awaitable[str]],
        folder: Path,
        provenance: Provenance = PEOPLE_PROVENANCE,
        messenger: Messenger | None = None,
        sign_ins: SignInStore | None = None,
    ) -> None:
        self.provenance = provenance
        self.messenger = messenger
        self.sign_ins = sign_ins
        self._handoff_artifacts = artifacts
        self._new_artifacts: list[Artifact] = []
        self._fetch = fetch
        self._store = store
        self._folder = folder
        self._fetch_locks: dict[str, asyncio.Lock] = {}

    @classmethod
    def make_in_memory(cls, files: Iterable[tuple[str, str, bytes]], folder: Path) -> FolderWorkbench:
        """Make a workbench that keeps its files in memory. `files` are (name, media type, bytes)."""
        stored_files: dict[str, bytes] = {}

        async def fetch(digest: str) -> bytes:
            return stored_files[digest]

        async def store(data: bytes) -> str:
            digest = hashlib.sha256(data).hexdigest()
            stored_files[digest] = data
            return digest

        artifacts = []
        for name, media_type, data in files:
            digest = hashlib.sha256(data).hexdigest()
            stored_files[digest] = data
            artifacts.append(Artifact(id=digest, name=name, media_type=media_type, size=len(data)))
        return cls(tuple(artifacts), fetch, store, folder)

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The files of the handoff, then those made since."""
        return self._handoff_artifacts + tuple(self._new_artifacts)

    @property
    def new_artifacts(self) -> tuple[Artifact, ...]:
        """The files that tools have made here, in order."""
        return tuple(self._new_artifacts)

    async def path(self, artifact: Artifact) -> Path:
        """Return the path of a local read-only copy of the file, fetched once, with a name that is safe as a path."""
        local = self._folder / _make_safe_name(artifact.id)[:32] / _make_safe_name(artifact.name)
        async with self._fetch_locks.setdefault(artifact.id, asyncio.Lock()):
            if not local.exists():
                try:
                    data = await self._fetch(artifact.id)
                except KeyError:
                    raise FileNotKept(artifact.name) from None
                await asyncio.to_thread(self._write_copy, local, data)
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
        """Store a new file and return its reference. A name that is already taken gets a number.

        Raises:
            pydantic.ValidationError: `publish_as` is no value that `Artifact` allows.
        """
        fields: dict[str, Any] = {"name": self._find_free_name(name), "media_type": media_type, "size": len(data)}
        fields |= {"about": about, "publish_as": publish_as, "chart": chart}
        artifact = Artifact.model_validate({"id": await self._store(data), **fields})
        self._new_artifacts.append(artifact)
        return artifact

    async def may_follow(self, _url: str, _target: str) -> bool:
        """Allow no redirect; `turns.guarded_bench`, which knows what is in view, decides instead."""
        return False

    def _write_copy(self, local: Path, data: bytes) -> None:
        """Write the file under another name and rename it, so that a copy that exists is always complete."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        local.parent.mkdir(exist_ok=True)
        partial_file = local.with_name(local.name + ".part")
        partial_file.write_bytes(data)
        partial_file.chmod(0o400)
        partial_file.replace(local)

    def _find_free_name(self, name: str) -> str:
        used_names = {artifact.name for artifact in self.artifacts}
        stem, suffix = Path(name).stem, Path(name).suffix
        number = 1
        while name in used_names:
            number += 1
            name = f"{stem}-{number}{suffix}"
        return name


def _make_safe_name(name: str) -> str:
    """Make a name safe as one part of a path, since people choose the names of the files that they attach."""
    plain = _UNSAFE_CHARACTERS.sub("_", name.replace("\\", "/").rsplit("/", 1)[-1]).strip(". ")
    return plain[-_MAX_NAME_BYTES:].encode()[-_MAX_NAME_BYTES:].decode(errors="ignore") or "file"
