"""Applies the Linux kernel's sandbox layers to a process: no network, no files but named ones, no other processes.

The layers ("walls" in the documentation) are independent, and an ordinary user may apply them. A layer that this system
or its container does not allow is left out: `apply_layers` returns the active ones, and `leadhand check` shows them.
Systems other than Linux have no layers.

Imports the standard library only, since it runs first in every child.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
from collections.abc import Sequence
from typing import Literal

from specialists.sandbox.syscall_filter import apply_call_filter

SandboxLayer = Literal["namespace", "landlock", "seccomp"]
SANDBOX_LAYERS: tuple[SandboxLayer, ...] = ("namespace", "landlock", "seccomp")

_NEW_USER, _NEW_NETWORK, _NEW_IPC = 0x10000000, 0x40000000, 0x08000000
_SET_DUMPABLE, _SET_PARENT_DEATH, _SET_NO_NEW_PRIVILEGES = 4, 1, 38
_CAPABILITIES_VERSION = 0x20080522
_SIGKILL = 9

# Landlock's system calls have the same numbers on all machines.
_CREATE_RULES, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _PATH_RULE = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_RIGHT_COUNT_BY_VERSION = {1: 13, 2: 14, 3: 15, 5: 16}
"""Version of Landlock -> the number of rights on files that it knows. Versions that added none are left out."""
_PLAIN_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_NETWORK_SINCE_VERSION = 4
SCOPES_SINCE_VERSION = 6
"""The version of Landlock from which it confines signals and abstract sockets."""
_TCP, _UNIX_NAMES_AND_SIGNALS = 0b11, 0b11
_SYSTEM_PATHS = (
    *("/usr", "/lib", "/lib64", "/nix/store", "/gnu/store"),
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types", "/etc/fonts", "/var/cache/fontconfig"),
    *("/dev/urandom", "/dev/zero", "/sys/fs/cgroup"),
)
_NULL_DEVICE = "/dev/null"
_CGROUP_FILE = "/proc/self/cgroup"
"""DuckDB aborts if this file, or the one it names in `/sys/fs/cgroup`, exists and cannot be read."""
_DYNAMIC_LOADERS = (
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
)
"""The dynamic loaders, which a program needs to start."""


def apply_layers(
    layers: Sequence[SandboxLayer] = SANDBOX_LAYERS,
    *,
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
    program: str = "",
) -> set[SandboxLayer]:
    """Apply sandbox layers to this process for good, and return the active ones. It must have only one thread.

    Args:
        layers: the layers that are wanted.
        reads: files and folders that it may read, besides Python and what the system's libraries need.
        writes: files and folders that it may read and write.
        program: one program that it may start; "" for none.
    """
    if sys.platform != "linux":
        return set()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    active: set[SandboxLayer] = set()
    if "namespace" in layers and libc.unshare(_NEW_USER | _NEW_NETWORK | _NEW_IPC) == 0:
        active.add("namespace")
    libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _drop_capabilities(libc)
    libc.prctl(_SET_PARENT_DEATH, _SIGKILL, 0, 0, 0)  # must come after changes of its rights, which reset this
    if "landlock" in layers and _restrict_files(libc, reads, writes, program):
        active.add("landlock")
    if "seccomp" in layers and apply_call_filter(libc, allow_programs=bool(program)):
        active.add("seccomp")
    return active


def read_landlock_version() -> int:
    """Return the version of Landlock on this system; 0 if it has none."""
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return max(0, int(libc.syscall(_CREATE_RULES, None, 0, _ASK_VERSION)))


def hide_process_memory() -> None:
    """Keep other processes of the same user from reading `/proc/PID/environ`, `mem` and the like. Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Drop all capabilities, which root and the owner of a namespace have."""
    head, none = struct.pack("Ii", _CAPABILITIES_VERSION, 0), struct.pack("6I", *[0] * 6)
    libc.capset(ctypes.create_string_buffer(head, 8), ctypes.create_string_buffer(none, 24))


def _restrict_files(libc: ctypes.CDLL, reads: Sequence[str], writes: Sequence[str], program: str) -> bool:
    version = read_landlock_version()
    if version < 1:
        return False
    file_rights = (1 << max(count for since, count in _RIGHT_COUNT_BY_VERSION.items() if since <= version)) - 1
    handled_rights = [file_rights]
    handled_rights += [_TCP] if version >= _NETWORK_SINCE_VERSION else []
    handled_rights += [_UNIX_NAMES_AND_SIGNALS] if version >= SCOPES_SINCE_VERSION else []
    packed_rights = struct.pack(f"{len(handled_rights)}Q", *handled_rights)
    rules = int(
        libc.syscall(
            _CREATE_RULES, ctypes.create_string_buffer(packed_rights, len(packed_rights)), len(packed_rights), 0
        )
    )
    if rules < 0:
        return False
    try:
        for path in (*_SYSTEM_PATHS, *reads):
            _add_path_rule(libc, rules, path, _READ_FILE | _READ_DIR)
        for path in writes:
            _add_path_rule(libc, rules, path, file_rights & ~_EXECUTE)
        _add_path_rule(libc, rules, _NULL_DEVICE, _READ_FILE | _WRITE_FILE)
        # A rule on such a file is lost once it is closed.
        _add_path_rule(libc, rules, _CGROUP_FILE, _READ_FILE, keep_open=True)
        for path in (program, *_DYNAMIC_LOADERS) if program else ():
            _add_path_rule(libc, rules, path, _READ_FILE | _EXECUTE)
        return bool(libc.syscall(_RESTRICT_SELF, rules, 0) == 0)
    finally:
        os.close(rules)


def _add_path_rule(libc: ctypes.CDLL, rules: int, path: str, rights: int, *, keep_open: bool = False) -> None:
    """Add a Landlock rule that allows these rights below a path; a missing path is skipped."""
    with contextlib.suppress(OSError):
        path_descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not os.path.isdir(path):  # noqa: PTH112 - pathlib takes milliseconds to import, in every child
                rights &= _PLAIN_FILE_RIGHTS
            rule = struct.pack("=Qi", rights, path_descriptor)
            libc.syscall(_ADD_RULE, rules, _PATH_RULE, ctypes.create_string_buffer(rule, len(rule)), 0)
        finally:
            if not keep_open:
                os.close(path_descriptor)
