"""A filter of system calls for this process (seccomp).

It forbids sockets, programs, access to other processes, and changes of a file's mode, owner, times or attributes. The
filter is a program for the kernel's BPF machine: it checks the number of a call and a few of its arguments.
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
_X32_BIT = 0x40000000
"""The bit that marks a call of the x32 ABI: on x86_64 each call can also be made under such a number."""
_CLONE_THREAD = 0x10000
_KIND_OF_SOCKET, _STREAM = 0xF, 1


class _CallNumbers(NamedTuple):
    """The numbers of system calls on one kind of machine, and the kernel's id of that machine.

    Attributes:
        network: socket, connect, accept, bind, listen, sendmsg, sendmmsg, accept4.
        pairs: socketpair, sendto.
        programs: execve, execveat and, on x86_64, fork, vfork.
        others: Calls that no child needs, listed in the comment below.
    """

    machine: int
    network: tuple[int, ...]
    pairs: tuple[int, int]
    programs: tuple[int, ...]
    clone: int
    others: tuple[int, ...]
    tgkill: int
    prlimit: int
    fcntl: int
    ioctl: int
    prctl: int


# `others`, one group a line; calls in <angle brackets> exist on x86_64 alone:
# - other processes: ptrace, process_vm_readv and _writev, kcmp, kill, tkill, rt_sigqueueinfo, rt_tgsigqueueinfo,
#   migrate_pages, move_pages, setpgid, setsid;
# - scheduling: sched_setaffinity, sched_setparam, sched_setscheduler, sched_setattr, setpriority, ioprio_set;
# - files, where Landlock does not apply: <chmod>, fchmod, fchmodat, <chown>, <lchown>, fchown, fchownat,
#   <utime>, <utimes>, <futimesat>, utimensat, setxattr, lsetxattr, fsetxattr, removexattr, lremovexattr,
#   fremovexattr, truncate, flock; inotify_add_watch, fanotify_init, fanotify_mark, quotactl, <mknod>, mknodat,
#   <link>, linkat;
# - mounts and namespaces: unshare, setns, mount, umount2, pivot_root, chroot, open_by_handle_at;
# - the kernel: bpf, perf_event_open, userfaultfd, keyctl, add_key, request_key, io_setup, personality, syslog, acct,
#   lookup_dcookie, vhangup, reboot, swapon, swapoff, init_module, delete_module, finit_module, kexec_load, and
#   kexec_file_load, sethostname, setdomainname, settimeofday, clock_settime, adjtimex, clock_adjtime, nfsservctl,
#   <modify_ldt>, <iopl>, <ioperm>, <uselib>;
# - shared memory and messages: shmget, shmat, shmctl, msgget, msgctl, msgrcv, msgsnd, semget, semctl, semtimedop,
#   semop, mq_open, mq_unlink.
_X86_64 = _CallNumbers(
    0xC000003E,
    (41, 42, 43, 49, 50, 46, 307, 288),
    (53, 44),
    (59, 322, 57, 58),
    56,
    (
        *(101, 310, 311, 312, 62, 200, 129, 297, 256, 279, 109, 112),
        *(203, 142, 144, 314, 141, 251),
        *(90, 91, 268, 92, 94, 93, 260, 132, 235, 261, 280, 188, 189, 190, 197, 198, 199, 76, 73),
        *(254, 300, 301, 179, 133, 259, 86, 265),
        *(272, 308, 165, 166, 155, 161, 304),
        *(321, 298, 323, 250, 248, 249, 206, 135, 103, 163, 212, 153, 169, 167, 168, 175, 176, 313, 246),
        *(320, 170, 171, 164, 227, 159, 305, 180, 154, 172, 173, 134),
        *(29, 30, 31, 68, 71, 70, 69, 64, 66, 220, 65, 240, 241),
    ),
    234,
    302,
    72,
    16,
    157,
)
_AARCH64 = _CallNumbers(
    0xC00000B7,
    (198, 203, 202, 200, 201, 211, 269, 242),
    (199, 206),
    (221, 281),
    220,
    (
        *(117, 270, 271, 272, 129, 130, 138, 240, 238, 239, 154, 157),
        *(122, 118, 119, 274, 140, 30),
        *(52, 53, 55, 54, 88, 5, 6, 7, 14, 15, 16, 45, 32),
        *(27, 262, 263, 60, 33, 37),
        *(97, 268, 40, 39, 41, 51, 265),
        *(280, 241, 282, 219, 217, 218, 0, 92, 116, 89, 18, 58, 142, 224, 225, 105, 106, 273, 104),
        *(294, 161, 162, 170, 112, 171, 266, 42),
        *(194, 196, 195, 186, 187, 188, 189, 190, 191, 192, 193, 180, 181),
    ),
    131,
    261,
    25,
    29,
    167,
)
# pidfd_send_signal, io_uring_setup, io_uring_enter, io_uring_register, open_tree, move_mount, fsopen, fsconfig,
# fsmount, fspick, pidfd_open, pidfd_getfd, process_madvise, mount_setattr, quotactl_fd, process_mrelease, fchmodat2:
# newer calls have one number everywhere.
_SHARED_NUMBERS = (424, 425, 426, 427, 428, 429, 430, 431, 432, 433, 434, 438, 440, 442, 443, 448, 452)
_CLONE3 = 435
_FIRST_UNKNOWN = 457
"""Calls from this number on (statmount, setxattrat, file_setattr and all future ones) are refused as unknown."""
_NUMBERS_BY_MACHINE = {"x86_64": _X86_64, "aarch64": _AARCH64}
_FCNTL_COMMANDS = (*range(8), 36, 37, 38, *range(1030, 1035))
"""Allowed commands of fcntl: copies, flags, locks, pipes and seals. Not F_SETOWN, F_SETSIG, F_SETLEASE, F_NOTIFY."""
_IOCTL_COMMANDS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x802C542A)
"""Allowed commands of ioctl: TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, TCGETS2.

Not FIOSETOWN, SIOCSPGRP, FIOASYNC, TIOCSTI, nor changes of a file's flags (FS_IOC_SETFLAGS).
"""
_PRCTL_COMMANDS = (3, 15, 16, 21, 23, 38, 39, 0x53564D41)
"""Allowed commands of prctl: PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_GET_SECCOMP, PR_CAPBSET_READ and others.

The others are both of NO_NEW_PRIVS, and names of memory. PR_SET_PDEATHSIG is not allowed: with it, a child could
outlive the bot.
"""


def apply_call_filter(libc: ctypes.CDLL, *, allow_programs: bool) -> bool:
    """Apply the filter to this process for good; False if this system cannot.

    Args:
        libc: the C library. `PR_SET_NO_NEW_PRIVS` has to be set already.
        allow_programs: True if the process may start a program, which then has this filter too.
    """
    numbers = _NUMBERS_BY_MACHINE.get(platform.machine())
    if numbers is None or struct.calcsize("P") != 8:
        return False
    code = _assemble_filter(numbers, allow_programs=allow_programs)
    filter_buffer = ctypes.create_string_buffer(code, len(code))
    filter_program = ctypes.create_string_buffer(
        struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(filter_buffer))
    )
    return bool(libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, filter_program, 0, 0) == 0)


def _assemble_filter(numbers: _CallNumbers, *, allow_programs: bool) -> bytes:
    """Assemble the filter's instructions. A call that no instruction refuses is allowed at the end."""
    steps = [
        _assemble_step(_LOAD, _MACHINE_AT),
        _assemble_step(_EQUAL, numbers.machine, skip_if_true=1),
        _assemble_step(_RETURN, _KILL),
        _assemble_step(_LOAD, _NUMBER_AT),
    ]
    if numbers is _X86_64:
        steps += [_assemble_step(_AT_LEAST, _X32_BIT, skip_if_false=1), _assemble_refusal(errno.EPERM)]
    refused_numbers = numbers.network + numbers.others + _SHARED_NUMBERS
    refused_numbers += () if allow_programs else numbers.programs + numbers.pairs
    steps += [_assemble_step(_AT_LEAST, _FIRST_UNKNOWN, skip_if_false=1), _assemble_refusal(errno.ENOSYS)]
    for number in refused_numbers:
        steps += [_assemble_step(_EQUAL, number, skip_if_false=1), _assemble_refusal(errno.EPERM)]
    steps += _assemble_test(numbers.tgkill, _EQUAL, os.getpid())
    steps += _assemble_test(numbers.prlimit, _EQUAL, 0)
    steps += _assemble_test(numbers.fcntl, _EQUAL, *_FCNTL_COMMANDS, offset=_SECOND_ARGUMENT_AT)
    steps += _assemble_test(numbers.ioctl, _EQUAL, *_IOCTL_COMMANDS, offset=_SECOND_ARGUMENT_AT)
    steps += _assemble_test(numbers.prctl, _EQUAL, *_PRCTL_COMMANDS)
    if allow_programs:
        # Starting a program takes a socket pair. Only stream sockets are allowed: others could send to any address.
        steps += _assemble_test(numbers.pairs[0], _EQUAL, _STREAM, offset=_SECOND_ARGUMENT_AT, bits=_KIND_OF_SOCKET)
    else:
        # clone3 is refused as unknown, so that the C library starts threads with clone, whose flags can be checked.
        steps += [_assemble_step(_EQUAL, _CLONE3, skip_if_false=1), _assemble_refusal(errno.ENOSYS)]
        steps += _assemble_test(numbers.clone, _HAS_BIT, _CLONE_THREAD)
    return b"".join([*steps, _assemble_step(_RETURN, _ALLOW)])


def _assemble_test(
    number: int, test: int, *values: int, offset: int = _FIRST_ARGUMENT_AT, bits: int = 0xFFFFFFFF
) -> list[bytes]:
    """Return the steps that refuse a call unless these bits of an argument pass the test with one of the values."""
    passes = [
        step
        for value in values
        for step in (_assemble_step(test, value, skip_if_false=1), _assemble_step(_RETURN, _ALLOW))
    ]
    test_steps = [_assemble_step(_LOAD, offset), _assemble_step(_AND, bits), *passes, _assemble_refusal(errno.EPERM)]
    return [_assemble_step(_EQUAL, number, skip_if_false=len(test_steps)), *test_steps]


def _assemble_refusal(code: int) -> bytes:
    return _assemble_step(_RETURN, _ERRNO | code)


def _assemble_step(code: int, value: int, *, skip_if_true: int = 0, skip_if_false: int = 0) -> bytes:
    """Return one instruction.

    `skip_if_true` and `skip_if_false` are how many instructions to skip after a passed or failed test.
    """
    return struct.pack("HBBI", code, skip_if_true, skip_if_false, value)
