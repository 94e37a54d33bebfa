"""A filter of system calls for this process (seccomp): no sockets, no programs, no hold on other processes.

The filter is a program for the kernel's BPF machine: it looks at the number of a call and a few of its arguments.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from typing import NamedTuple

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _HAS_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER_AT, _MACHINE_AT, _FIRST_ARGUMENT_AT, _SECOND_ARGUMENT_AT = 0, 4, 16, 24
_X32 = 0x40000000
"""Calls of x86_64 from this number on are the same calls once more, in their 32-bit form."""
_CLONE_THREAD = 0x10000
_KIND_OF_SOCKET, _STREAM = 0xF, 1


class _Numbers(NamedTuple):
    """The numbers of system calls on one kind of machine, and the kernel's name for the machine."""

    machine: int
    network: tuple[int, ...]
    pairs: tuple[int, int]
    programs: tuple[int, ...]
    clone: int
    others: tuple[int, ...]
    tgkill: int
    prlimit: int


# network: socket, connect, accept, bind, listen, sendmsg, sendmmsg, accept4.
# pairs: socketpair, sendto.
# programs: execve, execveat and, on x86_64, fork, vfork.
# others: ptrace, process_vm_readv, process_vm_writev, kcmp, kill, tkill, rt_sigqueueinfo, rt_tgsigqueueinfo,
#   sched_setaffinity, setpriority, unshare, setns, mount, umount2, pivot_root, chroot, bpf, perf_event_open,
#   userfaultfd, keyctl, add_key, request_key, open_by_handle_at, shmget, shmat, msgget, semget, mq_open.
_X86_64 = _Numbers(
    0xC000003E,
    (41, 42, 43, 49, 50, 46, 307, 288),
    (53, 44),
    (59, 322, 57, 58),
    56,
    (
        *(101, 310, 311, 312, 62, 200, 129, 297, 203, 141, 272, 308, 165, 166, 155, 161, 321, 298),
        *(323, 250, 248, 249, 304, 29, 30, 68, 64, 240),
    ),
    234,
    302,
)
_AARCH64 = _Numbers(
    0xC00000B7,
    (198, 203, 202, 200, 201, 211, 269, 242),
    (199, 206),
    (221, 281),
    220,
    (
        *(117, 270, 271, 272, 129, 130, 138, 240, 122, 140, 97, 268, 40, 39, 41, 51, 280, 241),
        *(282, 219, 217, 218, 265, 194, 196, 186, 190, 180),
    ),
    131,
    261,
)
# pidfd_send_signal, io_uring_setup, io_uring_enter, io_uring_register, open_tree, move_mount, fsopen, fsconfig,
# fsmount, fspick, pidfd_open, pidfd_getfd, mount_setattr: newer calls have one number everywhere.
_EVERYWHERE = (424, 425, 426, 427, 428, 429, 430, 431, 432, 433, 434, 438, 442)
_CLONE3 = 435
_MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}


def filter_calls(libc: ctypes.CDLL, *, programs: bool) -> bool:
    """Put the filter on this process for good; False if this system cannot.

    Args:
        libc: the C library. `PR_SET_NO_NEW_PRIVS` has to be set by now.
        programs: leave it the right to start a program, which then has this filter too.
    """
    numbers = _MACHINES.get(platform.machine())
    if numbers is None or struct.calcsize("P") != 8:
        return False
    code = _program(numbers, programs=programs)
    held = ctypes.create_string_buffer(code, len(code))
    told = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(held)))
    return bool(libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, told, 0, 0) == 0)


def _program(numbers: _Numbers, *, programs: bool) -> bytes:
    """Write the filter. Each step either ends with a verdict or falls through to the next."""
    steps = [
        _step(_LOAD, _MACHINE_AT),
        _step(_EQUAL, numbers.machine, yes=1),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER_AT),
    ]
    if numbers is _X86_64:
        steps += [_step(_AT_LEAST, _X32, no=1), _refused(errno.EPERM)]
    refused = numbers.network + numbers.others + _EVERYWHERE
    refused += () if programs else numbers.programs + numbers.pairs
    for number in refused:
        steps += [_step(_EQUAL, number, no=1), _refused(errno.EPERM)]
    steps += _only_if(numbers.tgkill, _EQUAL, os.getpid())
    steps += _only_if(numbers.prlimit, _EQUAL, 0)
    if programs:
        # Who watches a program has a pair of sockets that lead to each other alone. Of other kinds than a stream each
        # could send anywhere.
        steps += _only_if(numbers.pairs[0], _EQUAL, _STREAM, at=_SECOND_ARGUMENT_AT, bits=_KIND_OF_SOCKET)
    else:
        # With the answer that the call is unknown the C library makes its threads by the older one, whose flags show.
        steps += [_step(_EQUAL, _CLONE3, no=1), _refused(errno.ENOSYS)]
        steps += _only_if(numbers.clone, _HAS_BIT, _CLONE_THREAD)
    return b"".join([*steps, _step(_RETURN, _ALLOW)])


def _only_if(
    number: int, test: int, value: int, *, at: int = _FIRST_ARGUMENT_AT, bits: int = 0xFFFFFFFF
) -> list[bytes]:
    """Refuse a call unless these bits of an argument pass the test."""
    return [
        _step(_EQUAL, number, no=5),
        _step(_LOAD, at),
        _step(_AND, bits),
        _step(test, value, no=1),
        _step(_RETURN, _ALLOW),
        _refused(errno.EPERM),
    ]


def _refused(code: int) -> bytes:
    return _step(_RETURN, _ERRNO | code)


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """Write one instruction; `yes` and `no` are the instructions to leave out after a test."""
    return struct.pack("HBBI", code, yes, no, value)
