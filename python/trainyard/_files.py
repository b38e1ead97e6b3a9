"""Checkpoint files that survive a crash: the newest two, each whole or not there.

A file is written beside its place, synced, and renamed into it, so that a process killed at any
moment leaves the files before it as they were. Its name holds its step and the checksum of its
bytes (`step-0000000120.8d1f3c02.ckpt`): what a disk or a copy has damaged is found, and passed over
for the one before. The bytes are the writer's own, for any tool that reads such files.
"""

import os
import re
import sys
import zlib
from pathlib import Path
from typing import BinaryIO, Callable, Optional

_NAME = re.compile(r"step-(\d{10,})\.([0-9a-f]{8})\.ckpt")
_UNFINISHED = "step-*.unfinished"


class DamagedCheckpoints(Exception):
    """There are checkpoints, and none is whole. Starting over is the user's decision."""


class _Summed:
    """A file that is written from front to back, with the checksum of what was written. A failure
    is kept for sync(): one that passes through torch.save() aborts the process."""

    def __init__(self, file: BinaryIO):
        self._file = file
        self._failure: Optional[BaseException] = None
        self.sum = 0

    def write(self, data) -> int:
        size = memoryview(data).nbytes
        try:
            if self._failure is None:
                self.sum = zlib.crc32(data, self.sum)
                self._file.write(data)
        except BaseException as failure:
            self._failure = failure
        return size

    def flush(self) -> None:
        pass

    def sync(self) -> None:
        if self._failure is not None:
            raise self._failure
        self._file.flush()
        os.fsync(self._file.fileno())


def write(directory: Path, step: int, writer: Callable[[BinaryIO], None]) -> Path:
    """Calls `writer` with a file to write to. When this returns the checkpoint is on disk, and only
    it and the one before are kept."""
    directory.mkdir(parents=True, exist_ok=True)
    unfinished = directory / f"step-{step:010d}.unfinished"
    try:
        with open(unfinished, "wb") as file:
            summed = _Summed(file)
            writer(summed)
            summed.sync()
    except BaseException:
        unfinished.unlink(missing_ok=True)  # a full disk needs the room
        raise
    path = directory / f"step-{step:010d}.{summed.sum:08x}.ckpt"
    os.replace(unfinished, path)
    _sync(directory)
    _keep(directory, path)
    return path


def _keep(directory: Path, newest_path: Path) -> None:
    """This one and the one before. Later steps are of a damaged file that it was not read from."""
    others = [path for path in _found(directory) if path != newest_path]
    before = [path for path in others if _step(path) < _step(newest_path)]
    for path in others:
        if path not in before[:1]:
            path.unlink(missing_ok=True)


def newest(directory: Path) -> Optional[Path]:
    """The newest one that is whole; None if none was ever written."""
    found = _found(directory)
    for path in found:
        if _is_whole(path):
            return path
        print(f"trainyard: {path} is damaged, trying the one before", file=sys.stderr)
    if found:
        raise DamagedCheckpoints(
            f"none of the {len(found)} checkpoints in {directory} is whole; "
            "remove them to start from the beginning")
    return None


def remove_unfinished(directory: Path) -> None:
    """What a killed process left. Only while nobody writes."""
    for path in directory.glob(_UNFINISHED):
        path.unlink(missing_ok=True)


def _found(directory: Path) -> list:
    """Newest first."""
    paths = [path for path in directory.glob("step-*.ckpt") if _NAME.fullmatch(path.name)]
    return sorted(paths, key=_step, reverse=True)


def _step(path: Path) -> int:
    return int(_NAME.fullmatch(path.name)[1])


def _is_whole(path: Path) -> bool:
    """Whether its bytes are those that were written. One that cannot be read is not damaged for
    that: who went on from an earlier one would remove it with the next write. So that raises."""
    total = 0
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            total = zlib.crc32(block, total)
    return total == int(_NAME.fullmatch(path.name)[2], 16)


def _sync(directory: Path) -> None:
    """A rename is on disk when its directory is."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
