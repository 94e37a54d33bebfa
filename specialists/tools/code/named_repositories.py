"""Reads the repositories that the operator names: NAME=PATH, NAME=https://..., NAME=git@host:path, with commas."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from specialists.service_url import BadUrl, parse_service_url
from specialists.tools.code import ssh_remote
from specialists.tools.code.ssh_remote import SshRemote

REPOSITORIES_SETTING = "LEADHAND_REPOSITORIES"
ForgeKind = Literal["github", "gitlab"]
_ENTRY_FORMS = "NAME=PATH, NAME=https://host/owner/repository or NAME=git@host:path"
_NAME_PATTERN = re.compile(r"[A-Za-z0-9][\w.-]{0,59}")
_GITHUB, _GITLAB = "https://api.github.com", "https://gitlab.com"
_LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository that the operator names.

    Attributes:
        name: Its name for people and models.
        address: A folder of this machine, or an https address without its `.git`. A repository reached over ssh has its
            page at its forge here, or its ssh address if the forge is unknown.
        forge: The service that has its pull or merge requests; None if it is unknown or there is none.
        api: The base address of the forge's API.
        path: The repository's path at the forge: `acme/shop`.
        ssh: How to reach it over ssh; None if it is reached otherwise.
    """

    name: str
    address: str
    forge: ForgeKind | None = None
    api: str = ""
    path: str = ""
    ssh: SshRemote | None = None

    @property
    def is_local(self) -> bool:
        """True if it is a folder of this machine."""
        return self.ssh is None and "://" not in self.address

    def make_line_url_template(self, revision: str) -> str:
        """Return the web address of a line at a revision, with {path} and {line} to fill in; "" if there is none."""
        return self.make_line_url(revision, "{path}", "{line}") if revision else ""

    def make_line_url(self, revision: str, path: str, line: int | str) -> str:
        """Return the web address of a line; "" if the repository has no forge."""
        if self.forge is None:
            return ""
        path_prefix = "/-/blob/" if self.forge == "gitlab" else "/blob/"
        return f"{self.address}{path_prefix}{revision}/{path}#L{line}"


@dataclass(frozen=True, slots=True)
class NamedRepositories:
    """The repositories by name, and the faults of the setting: one line each, which says what to do."""

    repositories: Mapping[str, Repository]
    faults: tuple[str, ...] = ()


def read_repositories(env: Mapping[str, str]) -> NamedRepositories:
    """Read `LEADHAND_REPOSITORIES`. A wrong entry becomes a fault, and the others are used."""
    repositories: dict[str, Repository] = {}
    faults = []
    entries = filter(None, map(str.strip, re.split(r"[,\n]", env.get(REPOSITORIES_SETTING, ""))))
    for number, entry in enumerate(entries, 1):
        name, separator, address = (part.strip() for part in entry.partition("="))
        if not separator or not address or not _NAME_PATTERN.fullmatch(name):
            faults.append(f"{REPOSITORIES_SETTING}: entry {number} is not {_ENTRY_FORMS}.")
        elif name in repositories:
            faults.append(
                f"{REPOSITORIES_SETTING}: entry {number} has the name of another; give one of them another name."
            )
        elif isinstance(one := _read_entry(name, address, env), Repository):
            repositories[name] = one
        else:
            faults.append(f"{REPOSITORIES_SETTING}: entry {number}: {one}")
    return NamedRepositories(repositories, tuple(faults))


def _read_entry(name: str, address: str, env: Mapping[str, str]) -> Repository | str:
    """Return the repository at an address, or a line that says what is wrong with the address."""
    if ssh_remote.is_ssh_address(address):
        remote = ssh_remote.read_remote(address, env)
        if isinstance(remote, str):
            return remote
        page = _make_web_repository(name, f"https://{remote.host}/{remote.path}", env)
        return replace(page, ssh=remote) if page.forge is not None else Repository(name, address, ssh=remote)
    if fault := _find_address_fault(address):
        return fault
    return (
        _make_web_repository(name, address, env)
        if "://" in address
        else Repository(name, str(Path(address).expanduser()))
    )


def _make_web_repository(name: str, address: str, env: Mapping[str, str]) -> Repository:
    parts = urlsplit(address)
    path = parts.path.strip("/").removesuffix(".git")
    clean_address = f"{parts.scheme}://{parts.netloc}/{path}"
    github, gitlab = env.get("GITHUB_API_URL", _GITHUB).rstrip("/"), env.get("GITLAB_URL", _GITLAB).rstrip("/")
    hosts = {urlsplit(github).netloc, urlsplit(github).netloc.removeprefix("api.")}
    if parts.netloc in hosts:
        return Repository(name, clean_address, "github", github, path)
    if parts.netloc == urlsplit(gitlab).netloc:
        return Repository(name, clean_address, "gitlab", f"{gitlab}/api/v4", path)
    return Repository(name, clean_address)


def _find_address_fault(address: str) -> str:
    """Return what is wrong with an address; "" if nothing is."""
    if "://" not in address:
        return "" if Path(address).expanduser().is_absolute() else "the path must begin with / (or ~)."
    try:
        parts = parse_service_url(address, ("https", "http"))
    except BadUrl as error:
        return f"the address cannot be used: {error}; or give a path, or one for ssh."
    if parts.scheme != "https" and parts.host not in _LOOPBACK_HOSTS:
        return "http:// is not used here; give a path, an https address or one for ssh."
    if "@" in address or "?" in address or "#" in address:
        return "give the address without a user, a password or a query; tokens go into GITHUB_TOKEN or GITLAB_TOKEN."
    return "" if parts.host and len(parts.path.strip("/")) > 0 else "the address names no repository."
