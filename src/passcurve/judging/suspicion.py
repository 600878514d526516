"""Suspicious acts of a sample, which no honest program needs: shown with its verdict, never a reason for it."""

from __future__ import annotations

from passcurve.sandbox.job import Outcome
from passcurve.types import Status

MAX_ACTS = 16

_GROUPS = {
    "start a process": "fork vfork clone",
    "run a program": "execve execveat",
    "signal another process": "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_getfd process_mrelease",
    "reach into another process": "ptrace process_vm_readv process_vm_writev process_madvise kcmp perf_event_open",
    "use the network": "socket connect bind listen accept accept4 sendmmsg recvmmsg",
    "change who it is": (
        "setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid keyctl add_key request_key"
    ),
    "leave its jail": (
        "unshare setns chroot pivot_root mount umount2 move_mount open_tree fsopen fsmount mount_setattr mknod "
        "mknodat name_to_handle_at open_by_handle_at setsid setpgid"
    ),
    "change the machine": (
        "bpf init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff settimeofday "
        "clock_settime clock_adjtime adjtimex sethostname setdomainname iopl ioperm modify_ldt acct quotactl syslog "
        "personality io_uring_setup userfaultfd fanotify_init"
    ),
    "share or hide memory": "memfd_create memfd_secret shmget shmat shmctl msgget msgsnd semget semop mq_open",
}
_HOSTILE = frozenset(" ".join(_GROUPS[name] for name in ("reach into another process", "leave its jail")).split()) - {
    "setsid",
    "setpgid",
}
"""Calls that no runtime of a language needs either."""

TRIED = {name: f"tried to {what} ({name})" for what, names in _GROUPS.items() for name in names.split()}
"""What a call is reported as, by its name."""


def list_suspicious_acts(
    outcome: Outcome, status: Status, report_status: str, exception: str, reported: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the suspicious acts of one sample.

    ``status`` is that of its verdict and ``report_status`` that of the report.  ``exception`` is the type that ended
    the check, and ``reported`` are the acts that the harness saw in its own process, in shared mode.
    """
    # The runtimes of other languages look for services of the system, set priorities, and share memory.
    refused = [name for name in outcome.refused if not outcome.steps or name in _HOSTILE]
    acts = [TRIED.get(name, f"tried a refused system call ({name})") for name in refused]
    if exception == "SystemExit":
        acts.append("left by SystemExit before the tests ended")
    elif status == "crash" and outcome.exit_code is not None and report_status in ("", "gone"):
        acts.append(f"ended its process before the tests ended (exit code {outcome.exit_code})")
    if report_status == "protocol" or outcome.garbage:
        acts.append("wrote on the line to the tests")
    return (*acts, *reported)[:MAX_ACTS]
