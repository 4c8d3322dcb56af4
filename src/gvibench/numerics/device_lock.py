"""Distinct devices for jobs that run beside each other on one machine.

Slurm gives every job its own devices. Without it, a job takes the first device whose lock file in
the cache folder nobody holds, and keeps it until its process ends. The lock is the operating
system's (flock), so a job that is killed leaves none behind.
"""

import fcntl
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import IO

__all__ = ["claim"]


def claim(devices: Sequence[str], folder: Path) -> tuple[int, IO[str] | None]:
    """Return the index of the first device that is free, and its lock.

    Parameters
    ----------
    devices
        A name for each device that no other device of the machine has, such as its PCI bus id.
    folder
        Where the lock files are. Hosts may share it; their names are part of the files' names.

    Returns
    -------
    index
        The first free device; if all are taken, one of them, spread by process id.
    lock
        An open file: the claim ends when it is closed. None if the device is shared.
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
    except OSError:  # a folder that cannot be written, a file system without locks: share
        pass
    return os.getpid() % len(devices), None
