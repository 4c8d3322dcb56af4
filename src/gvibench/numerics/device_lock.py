"""Assign distinct devices to jobs that run at the same time on one machine.

Slurm gives each job its own devices. Without Slurm, a job claims the first device whose lock file
in the cache folder is free, and keeps it until its process ends. The operating system releases the
lock (flock) when a process is killed.
"""

import fcntl
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import IO

__all__ = ["claim"]


def claim(devices: Sequence[str], folder: Path) -> tuple[int, IO[str] | None]:
    """Claim the first free device, and return its index and its lock.

    Parameters
    ----------
    devices
        A unique name for each device of the machine, e.g. its PCI bus id.
    folder
        Folder of the lock files. Hosts may share it, because file names contain the host name.

    Returns
    -------
    index
        The first free device. If all are claimed, one of them, chosen by process id.
    lock
        An open file. Closing it ends the claim. None if the device is shared.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for index, device in enumerate(devices):
            name = f"{platform.node()}-{device.replace(':', '-')}.lock"
            lock = (folder / name).open("a")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                continue
            except BaseException:
                lock.close()
                raise
            return index, lock
    except OSError:  # The folder is not writable or has no locks, so jobs share the devices.
        pass
    return os.getpid() % len(devices), None
