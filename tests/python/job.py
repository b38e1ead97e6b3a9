"""A job as its processes find it, without the daemon: directories, environment, runs.

Workers are forked from this process, which has imported torch once and done nothing with it; each
is then the only thing in its process, in a process group of its own.
"""

import atexit
import multiprocessing.util
import os
import random
import runpy
import signal
import socket
import sys
import tempfile
import time
import traceback
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRAIN = ROOT / "examples" / "live" / "train.py"
PAUSED = 128 + signal.SIGTERM
DEADLINE_S = 60
SEED = int(os.environ.get("TRAINYARD_TEST_SEED", random.SystemRandom().randrange(10**6)))


def wait_until(condition, what):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {DEADLINE_S} s: {what}")
        time.sleep(0.005)


class SeededTest(unittest.TestCase):
    """With a folder and random numbers of its own, which the seed that it prints gives again."""

    @classmethod
    def setUpClass(cls):
        print(f"TRAINYARD_TEST_SEED={SEED}", file=sys.stderr)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.random = random.Random(f"{SEED} {self.id()}")


class Job:
    """Number 7 of its kind: one directory of state, as many runs as are started."""

    def __init__(self, directory, script, arguments=(), workers=1):
        self.state = Path(directory)
        self.script = script
        self.arguments = [str(argument) for argument in arguments]
        self.workers = workers
        self.runs = 0
        self.checkpoints = self.state / "checkpoints" / "7"
        self.checkpoints.mkdir(parents=True)

    @property
    def run_directory(self):
        return self.state / "runs" / f"7.{self.runs}"

    @property
    def report(self):
        return self.run_directory / "job" / "report.json"

    def ask_to_leave(self):
        (self.run_directory / "stop").touch()

    def begin(self):
        """The directories of the next run."""
        self.runs += 1
        (self.run_directory / "job").mkdir(parents=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]

    def environment(self, rank):
        restarts = {"TRAINYARD_RESTART": str(self.runs - 1)} if self.runs > 1 else {}
        return restarts | {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "python"),
            "OMP_NUM_THREADS": "1",
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(self.workers),
            "LOCAL_WORLD_SIZE": str(self.workers),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(self._port),
            "TRAINYARD_JOB_ID": "7",
            "TRAINYARD_RUN": str(self.runs),
            "TRAINYARD_CHECKPOINT_DIR": str(self.checkpoints),
            "TRAINYARD_REPORT": str(self.report),
            "TRAINYARD_STOP_FILE": str(self.run_directory / "stop"),
            "TRAINYARD_REQUEUE_FILE": str(self.run_directory / "job" / "requeue"),
            "TRAINYARD_SAVED": str(self.run_directory / "job" / "saved"),
        }

    def output(self, rank=0):
        return (self.run_directory / f"out.{rank}").read_text()

    def run(self, prepare=None):
        """One run to its end: how each worker ended, by rank. `prepare(rank)` runs in the worker
        before the script does."""
        self.begin()
        return self.wait([self._fork(rank, prepare) for rank in range(self.workers)])

    def start(self, prepare=None):
        self.begin()
        return [self._fork(rank, prepare) for rank in range(self.workers)]

    def wait(self, pids):
        statuses = {}
        try:
            def all_ended():
                for pid in pids:
                    if pid not in statuses:
                        done, status = os.waitpid(pid, os.WNOHANG)
                        if done:
                            statuses[pid] = os.waitstatus_to_exitcode(status)
                return len(statuses) == len(pids)

            wait_until(all_ended, f"the end of run {self.runs} of {self.script}")
        finally:
            for pid in pids:
                if pid not in statuses:
                    os.killpg(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
        return [statuses[pid] for pid in pids]

    def _fork(self, rank, prepare):
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            self._be_worker(rank, prepare)
        try:
            os.setpgid(pid, pid)  # also in the child: whoever comes first
        except OSError:
            pass
        return pid

    def _be_worker(self, rank, prepare):
        status = 1
        try:
            os.setpgid(0, 0)
            atexit._clear()  # the tests' own: they remove the directories
            atexit.register(multiprocessing.util._exit_function)
            output = os.open(self.run_directory / f"out.{rank}",
                             os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(output, 1)
            os.dup2(output, 2)
            environment = self.environment(rank)
            os.environ.clear()
            os.environ.update(environment)
            sys.path.insert(0, str(ROOT / "python"))
            sys.argv = [str(self.script), *self.arguments]
            if prepare is not None:
                prepare(rank)
            runpy.run_path(str(self.script), run_name="__main__")
            status = 0
        except SystemExit as leaving:
            status = leaving.code if isinstance(leaving.code, int) else 1
            if isinstance(leaving.code, str):
                print(leaving.code, file=sys.stderr)
        except BaseException:
            traceback.print_exc()
        finally:
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
