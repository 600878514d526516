"""What a sample was seen to try that no honest program needs: told with its verdict, and never a reason for it."""

from __future__ import annotations

from passcurve.sandbox.job import Outcome
from passcurve.types import Status

SEEN_ITEMS = 16

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
_TRIED = {name: f"tried to {what} ({name})" for what, names in _GROUPS.items() for name in names.split()}


def seen(outcome: Outcome, status: Status, said: str, exception: str, noticed: tuple[str, ...]) -> tuple[str, ...]:
    """Return what was seen of one sample.

    ``status`` is its verdict's, ``said`` the report's, ``exception`` the type that ended the check, ``noticed`` what
    the harness saw in its own process, in shared mode.
    """
    found = [_TRIED.get(name, f"tried a refused system call ({name})") for name in outcome.refused]
    if exception == "SystemExit":
        found.append("left by SystemExit before the tests ended")
    elif status == "crash" and outcome.exit_code is not None and said in ("", "gone"):
        found.append(f"ended its process before the tests ended (exit code {outcome.exit_code})")
    if said == "protocol" or outcome.garbage:
        found.append("wrote on the line to the tests")
    return (*found, *noticed)[:SEEN_ITEMS]
