"""Deeds that no reader of files needs: each is tried, by the C library, and its outcome told.

In: `{"file", "parent"}`: a file of the bot's user, and a process id. Out: by deed, 0 or the error's number.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import platform
import struct
import sys
from collections.abc import Callable
from typing import Any

from specialists.sandbox.confine import claim_stdout, make_input_path

X86 = platform.machine() == "x86_64"
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long


def main() -> None:
    request = json.load(sys.stdin)
    reply = claim_stdout()
    with reply:
        reply.write(json.dumps(outcomes(request["file"], request["parent"], make_input_path("own"))).encode())


def outcomes(file: str, parent: int, own: str) -> dict[str, int]:
    """Try them all. `own` is a file that this process may read; it works in the folder that it may write to."""
    return {name: _outcome(deed) for name, deed in _deeds(os.fsencode(file), parent, own).items()}


def _outcome(deed: Callable[[], Any]) -> int:
    try:
        deed()
    except OSError as error:
        return error.errno or -1
    return 0


def _call(x86: int, other: int, *arguments: Any) -> Callable[[], None]:
    """A system call by its number on each kind of machine."""

    def call() -> None:
        if LIBC.syscall(x86 if X86 else other, *arguments) < 0:
            raise OSError(ctypes.get_errno(), "refused")

    return call


def _deeds(file: bytes, parent: int, own: str) -> dict[str, Callable[[], Any]]:
    end, _ = os.pipe()
    opened = os.open(own, os.O_RDONLY)
    here = os.open(".", os.O_RDONLY)
    with open("mine", "wb") as mine:  # noqa: PTH123 - the shortest way
        mine.write(b"mine")
    value, at = b"x", -100
    deeds: dict[str, Callable[[], Any]] = {
        "fchmod": lambda: os.fchmod(opened, 0o777),
        "fchmodat": _call(268, 53, at, file, 0o777),
        "fchmodat2": _call(452, 452, at, file, 0o777, 0),
        "fchown": lambda: os.fchown(opened, -1, -1),
        "fchownat": _call(260, 54, at, file, -1, -1, 0),
        "utimensat": _call(280, 88, at, file, None, 0),
        "utimensat of a descriptor": _call(280, 88, opened, None, None, 0),
        "setxattr": _call(188, 5, file, b"user.a", value, 1, 0),
        "lsetxattr": _call(189, 6, file, b"user.a", value, 1, 0),
        "fsetxattr": _call(190, 7, opened, b"user.a", value, 1, 0),
        "removexattr": _call(197, 14, file, b"user.a"),
        "truncate": _call(76, 45, b"mine", 2),
        "linkat": _call(265, 37, at, os.fsencode(own), at, b"link", 0),
        "mknodat": _call(259, 33, at, b"pipe", 0o010600, 0),
        "flock": lambda: fcntl.flock(opened, fcntl.LOCK_SH),
        "F_SETOWN": lambda: fcntl.fcntl(end, 8, parent),
        "F_SETOWN_EX": lambda: fcntl.fcntl(end, 15, struct.pack("ii", 1, parent)),
        "F_SETSIG": lambda: fcntl.fcntl(end, 10, 23),
        "F_NOTIFY": lambda: fcntl.fcntl(here, 1026, 2),
        "F_SETLEASE": lambda: fcntl.fcntl(os.open("mine", os.O_RDONLY), 1024, 0),
        "FIOSETOWN": lambda: fcntl.ioctl(end, 0x8901, struct.pack("i", parent)),
        "FIOASYNC": lambda: fcntl.ioctl(end, 0x5452, struct.pack("i", 0)),
        "FS_IOC_SETFLAGS": lambda: fcntl.ioctl(here, 0x40086602, fcntl.ioctl(here, 0x80086601, bytes(8))),
        "inotify": _call(254, 27, LIBC.inotify_init1(0), b"/tmp", 2),
        "PR_SET_PDEATHSIG": _call(157, 167, 1, 0, 0, 0, 0),
        "PR_SET_DUMPABLE": _call(157, 167, 4, 1, 0, 0, 0),
        "setpriority": _call(141, 140, 0, 0, 5),
        "sched_setscheduler": _call(144, 119, 0, 3, struct.pack("i", 0)),
        "sched_setaffinity": lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)),
        "ioprio_set": _call(251, 30, 1, 0, 3 << 13),
        "prlimit of the bot": _call(302, 261, parent, 7, None, ctypes.create_string_buffer(16)),
        "kill": lambda: os.kill(parent, 0),
        "pidfd_open": _call(434, 434, parent, 0),
        "personality": _call(135, 92, 0xFFFFFFFF),
        "shmget": _call(29, 194, 0, 4096, 0o1600),
        "io_setup": _call(206, 0, 1, ctypes.create_string_buffer(8)),
        "io_uring_setup": _call(425, 425, 4, ctypes.create_string_buffer(120)),
        "socket": _call(41, 198, 1, 1, 0),
    }
    if X86:
        deeds |= {
            "chmod": _call(90, 0, file, 0o777),
            "chown": _call(92, 0, file, -1, -1),
            "lchown": _call(94, 0, file, -1, -1),
            "utime": _call(132, 0, file, None),
            "utimes": _call(235, 0, file, None),
            "futimesat": _call(261, 0, at, file, None),
            "mknod": _call(133, 0, b"pipe2", 0o010600, 0),
            "link": _call(86, 0, os.fsencode(own), b"link2"),
        }
    return deeds


if __name__ == "__main__":
    print(json.dumps(outcomes(*json.loads(sys.argv[1]))))  # noqa: T201 - told to the test
