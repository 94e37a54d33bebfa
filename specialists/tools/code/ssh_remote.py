"""Repositories reached over ssh: reads their addresses, makes git call ssh for them, and explains errors of ssh.

ssh reads no configuration, asks neither an agent nor a person, and accepts only the host keys in the operator's file.
"""

from __future__ import annotations

import base64
import os
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from handoff.text.invisible_characters import remove_invisible

KEY_SETTING, KNOWN_HOSTS_SETTING = "LEADHAND_SSH_KEY", "LEADHAND_SSH_KNOWN_HOSTS"
NO_SSH = "ssh is not installed here; whoever runs the bot can install it (openssh-client)."
_USER = r"(?P<user>[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})"
_HOST_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?"
_PATH = r"(?P<path>[A-Za-z0-9_.~/][A-Za-z0-9_.~/+@-]{0,499})"
_SHORT_ADDRESS = re.compile(rf"{_USER}@(?P<host>{_HOST_NAME}):{_PATH}")
_URL_ADDRESS = re.compile(
    rf"ssh://{_USER}@(?P<host>{_HOST_NAME}|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[1-9]\d{{0,4}}))?/{_PATH}"
)
_LITERAL_PATH = re.compile(r"/[\w./+@-]*")
"""Paths that ssh takes literally. In others, ssh splits at spaces and expands what follows % or $."""
_OPTIONS = (
    *("BatchMode=yes", "StrictHostKeyChecking=yes", "GlobalKnownHostsFile=/dev/null", "UpdateHostKeys=no"),
    *("IdentitiesOnly=yes", "IdentityAgent=none", "PreferredAuthentications=publickey", "ForwardAgent=no"),
    *("ClearAllForwardings=yes", "ControlPath=none", "PermitLocalCommand=no", "ProxyCommand=none"),
    *("ConnectTimeout=20", "ServerAliveInterval=30", "LogLevel=ERROR"),
)
_LONGEST_REASON, _LARGEST_KEY_BYTES = 200, 64_000
_KEY_BODY = re.compile(rb"-----BEGIN OPENSSH PRIVATE KEY-----(.+?)-----END", re.DOTALL)
_KEY_MAGIC = b"openssh-key-v1\0"
"""The first bytes of a key in OpenSSH's own format. The length and the name of its cipher follow."""


@dataclass(frozen=True, slots=True)
class SshRemote:
    """The address of a repository that is reached over ssh, and the files with the keys.

    Attributes:
        address: The address as git takes it.
        user: The user to log in as.
        host: The host.
        port: The port of the host; "" for port 22.
        path: The repository's path on the host, without its `.git`.
        key: The file of the private key, or a folder that has one for each repository, by its name.
        known_hosts: The file of the host keys that are accepted.
    """

    address: str
    user: str
    host: str
    port: str
    path: str
    key: Path
    known_hosts: Path

    def find_key(self, name: str) -> Path:
        """Return the file of the private key for the repository of that name."""
        return self.key / name if self.key.is_dir() else self.key

    def make_git_environment(self, name: str) -> Mapping[str, str]:
        """Return the environment variables that make git call ssh with our options."""
        file_options = (f"IdentityFile={self.find_key(name)}", f"UserKnownHostsFile={self.known_hosts}")
        options = (part for option in (*file_options, *_OPTIONS) for part in ("-o", option))
        command = shlex.join((shutil.which("ssh") or "ssh", "-F", "none", *options))
        return {"GIT_ALLOW_PROTOCOL": "ssh", "GIT_SSH_COMMAND": command, "GIT_SSH_VARIANT": "ssh"}

    def find_obstacle(self, name: str) -> str:
        """Return why ssh cannot work here, such as a missing key file; "" if nothing is wrong."""
        if shutil.which("ssh") is None:
            return NO_SSH
        key = self.find_key(name)
        for variable, file in ((KEY_SETTING, key), (KNOWN_HOSTS_SETTING, self.known_hosts)):
            if not file.is_file():
                return f"there is no file {file}; correct {variable}, or mount it."
            if not os.access(file, os.R_OK):
                return f"{file} may not be read by this user; change its owner."
        key_status = key.stat()
        if key_status.st_uid == os.getuid() and key_status.st_mode & 0o077:  # ssh refuses such a key
            return f"other users may read the key {key}; keep them out (chmod 600)."
        has_passphrase = _has_passphrase(key.read_bytes()[:_LARGEST_KEY_BYTES])
        return f"the key {key} has a passphrase, and nobody can type it; give one without." if has_passphrase else ""

    def explain_error(self, name: str, message: str) -> str:
        """Return a line that explains an error message of ssh or the server, and says what to do."""
        host_words = f"{self.host}{f' (port {self.port})' if self.port else ''}"
        scan_command = f"ssh-keyscan{f' -p {self.port}' if self.port else ''} {self.host}"
        explanations = {
            "IDENTIFICATION HAS CHANGED": f"{host_words} shows another host key than {self.known_hosts} has: "
            "find out why before you change that file",
            "ost key": f"{self.known_hosts} has no key of {host_words}: add one ({scan_command}), and compare it with "
            "what its operator publishes",
            "Load key": f"{self.find_key(name)} cannot be read as a private key",
            "Permission denied": f"{host_words} does not take the key {self.find_key(name)} for {self.user}: add its "
            "public half there, as a deploy key that may only read",
        }
        lines = [
            line for line in map(str.strip, message.splitlines()) if line and not line.startswith("fatal: Could not")
        ]
        explanation = next((words for sign, words in explanations.items() if sign in message), "")
        return explanation or remove_invisible(" ".join((lines or ["no reason given"])[:1]))[:_LONGEST_REASON]


def _has_passphrase(key: bytes) -> bool:
    """Return True if a private key has a passphrase; ssh would skip such a key without a message."""
    match = _KEY_BODY.search(key)
    try:
        body = base64.b64decode(match[1] if match else b"")
    except ValueError:
        return False
    return b"ENCRYPTED" in key or (body.startswith(_KEY_MAGIC) and not body.startswith(_KEY_MAGIC + b"\0\0\0\4none"))


def is_ssh_address(address: str) -> bool:
    """Return True if an address is meant for ssh: `ssh://...`, or `user@host:path`."""
    first_part = address.partition("/")[0]
    return address.startswith("ssh:") or ("://" not in address and ":" in first_part and "@" in first_part)


def read_remote(address: str, env: Mapping[str, str]) -> SshRemote | str:
    """Return the remote of an ssh address, with the keys from the settings in `env`; or a line on what to correct."""
    match = _URL_ADDRESS.fullmatch(address) or _SHORT_ADDRESS.fullmatch(address)
    parts: dict[str, str] = match.groupdict("") if match is not None else {}
    port = parts.get("port", "")
    if not parts or int(port or 22) > 65_535:
        return "the address cannot be read; write git@host:owner/repository.git or ssh://git@host:22/path."
    file_settings = {
        KEY_SETTING: env.get("LEADHAND_SSH_KEY", "").strip(),
        KNOWN_HOSTS_SETTING: env.get("LEADHAND_SSH_KNOWN_HOSTS", "").strip(),
    }
    if missing_hints := [_MISSING_SETTING_HINTS[name] for name, file in file_settings.items() if not file]:
        return f"for ssh, set {' and '.join(missing_hints)} (docs/documents.md)."
    files = {name: Path(file).expanduser() for name, file in file_settings.items()}
    for name, file in files.items():
        if not _LITERAL_PATH.fullmatch(str(file)):
            return f"{name} must be a path that begins with / (or ~), of letters, digits and ._-+@ alone."
    path = parts["path"].strip("/").removesuffix(".git")
    host = parts["host"]
    return SshRemote(address, parts["user"], host, port, path, files[KEY_SETTING], files[KNOWN_HOSTS_SETTING])


_MISSING_SETTING_HINTS = {
    KEY_SETTING: (
        f"{KEY_SETTING} to the file of a private key that may only read (or to a folder with one for each repository)"
    ),
    KNOWN_HOSTS_SETTING: f"{KNOWN_HOSTS_SETTING} to a file with the host's key",
}
