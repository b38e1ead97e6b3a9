"""`trainyard serve` with a state directory of its own, for one test: what is asked of it, what is
waited for, and the end of every process that came of it.

    with Scene(slots=2) as scene:
        job = scene.submit("--gpus", 2, "--", "sleep", 1)
        scene.until(job, "done")
"""
import atexit
import contextlib
import functools
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from .http import ask, ask_tcp

TRAINYARD = os.path.abspath(os.environ.get("TRAINYARD", "build/trainyard"))


def others_run_here():
    """Root can run programs as other users, unless '/' itself is closed to them."""
    try:
        return os.geteuid() == 0 and subprocess.run(["/bin/true"], user=65534, group=65534).returncode == 0
    except OSError:
        return False


IS_ROOT = os.geteuid() == 0
OTHERS_RUN_HERE = others_run_here()
PATIENCE = 120  # seconds for anything that is waited for: far more than it takes
ENDS = ("done", "failed", "cancelled")


class Skip(Exception):
    """This test cannot be done here."""


@functools.cache
def program():
    """trainyard where every user whom root can be may run it: a copy if its folder is root's alone."""
    if not IS_ROOT or all(folder.stat().st_mode & 0o001 for folder in pathlib.Path(TRAINYARD).parents):
        return TRAINYARD
    folder = pathlib.Path(tempfile.mkdtemp(prefix="trainyard-program-"))
    atexit.register(shutil.rmtree, folder)
    folder.chmod(0o755)
    for name in ("trainyard", "trainyard-supervisor"):
        shutil.copy(pathlib.Path(TRAINYARD).with_name(name), folder)
    return str(folder / "trainyard")


def wait_until(condition, what, limit=PATIENCE):
    """What the condition gave when it was first true; `what` may be a function that tells."""
    deadline = time.monotonic() + limit
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {limit} s for {what() if callable(what) else what}")
        time.sleep(0.02)


class Watched:
    """A process of a job, held by a descriptor: its number may become another's, this does not."""

    def __init__(self, pid):
        self.pid = pid
        self.descriptor = os.pidfd_open(pid)

    def is_gone(self):
        return bool(select.select([self.descriptor], [], [], 0)[0])

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.descriptor, signal.SIGKILL)
        os.close(self.descriptor)


def as_user(uid):
    """For subprocess: as this user; None: as whoever runs the test."""
    return {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}


class Scene:
    def __init__(self, slots=2, settings=("yard.min_run=0",), space=None, options=(), tcp=False,
                 policy="fitgpp", uid=None, within=(), load_time="0"):
        """space: the state directory is a file system of this size ("8m"); options: more of serve's;
        tcp: it listens on a port of the loopback too; uid: the daemon is this user's; within: words
        before its command, as of nsenter; load_time: how long a job that tells nothing counts as
        loading."""
        self.uid, self.within = uid, within
        self.slots, self.settings, self.space, self.policy = slots, settings, space, policy
        self.options = ["--load-time", load_time, *options, *(["--tcp", "127.0.0.1:0"] if tcp else [])]
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="trainyard-live-"))
        self.root.chmod(0o755)
        self.state, self.work = self.root / "state", self.root / "work"
        self.daemon = None
        self.watched = []

    # --- The daemon ------------------------------------------------------------------------------

    def __enter__(self):
        self.state.mkdir()
        self.work.mkdir()
        self.work.chmod(0o777)  # jobs of any user write here
        if self.uid is not None:
            os.chown(self.state, self.uid, self.uid)
        try:
            if self.space:
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.space},mode=0711",
                                "trainyard-test", self.state], check=True, timeout=20)
            if "--tcp" in self.options:
                self.command("token", "add", "scene", "--role", "viewer")  # or it would not listen
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind, problem, trace):
        if problem is not None:
            print(f"--- the daemon said at last:\n{self.said()[-8000:]}", file=sys.stderr)
        self.close()

    def serve(self):
        command = [*self.within, program(), "serve", "--state", self.state, "--policy", self.policy]
        if self.slots is not None:
            command += ["--slots", self.slots]
        for setting in self.settings:
            command += ["--set", setting]
        command += self.options
        with open(self.root / "daemon.log", "ab") as log:
            return subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=log, start_new_session=True, **as_user(self.uid))

    def said(self):
        log = self.root / "daemon.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def start(self, asked="/healthz"):
        self.daemon = self.serve()

        def answers():
            assert self.daemon.poll() is None, f"the daemon ended: {self.said()[-8000:]}"
            with contextlib.suppress(OSError):
                return self.http("GET", asked).status == 200

        wait_until(answers, "the daemon to answer")

    def kill(self):
        """As a crash: nothing is written down any more."""
        self.daemon.kill()
        self.daemon.wait(PATIENCE)

    # --- What is asked of it ---------------------------------------------------------------------

    def command(self, *words, check=True, variables=None, directory=None, uid=None):
        """A command of trainyard, as a person would type it; `uid`: as that user."""
        environment = {"PATH": "/usr/bin:/bin", "HOME": "/", "LC_ALL": "C.UTF-8",
                       "TRAINYARD_STATE": str(self.state), **(variables or {})}
        done = subprocess.run([program(), *map(str, words)], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=PATIENCE, env=environment,
                              cwd=directory or self.work, **as_user(uid))
        done.stdout, done.stderr = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
        assert not check or done.returncode == 0, f"{words}: {done.returncode} {done.stderr}"
        return done

    def answer(self, name, *words, **how):
        return json.loads(self.command(name, "--json", *words, **how).stdout)

    def submit(self, *words, **how):
        return self.answer("submit", *words, **how)["job"]

    def http(self, method, path, body=None, headers=None, uid=None):
        """A request on the socket; `uid`: by a process of that user."""
        return ask(self.state, method, path, body, headers or {}, uid)

    def tcp(self, method, path, token):
        """The same over TCP, as the token's user."""
        port = int(re.search(r"TCP port (\d+)", self.said()).group(1))
        return ask_tcp(port, method, path, token)

    def job(self, number):
        reply = self.http("GET", f"/v1/jobs/{number}")
        assert reply.status == 200, f"job {number}: {reply}"
        return reply.json()

    def logs(self, number, *options):
        return self.command("logs", number, *options).stdout

    def until(self, number, *states, limit=PATIENCE):
        """Waits for one of these states; any other end is a failure at once."""
        def arrived():
            job = self.job(number)
            if job["state"] in states:
                return job
            assert job["state"] not in ENDS, f"expected {states}: {job}\n{self.logs(number)}"

        return wait_until(arrived, lambda: f"job {number} to be {states}: {self.job(number)}", limit)

    def script(self, name, text):
        """A program in the jobs' working directory."""
        path = self.work / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def text(self, name):
        """What a job has written into a file there, once it is there."""
        path = self.work / name
        wait_until(lambda: path.exists() and path.stat().st_size, f"{name} to be written")
        return path.read_text()

    def touch(self, name):
        (self.work / name).touch()

    # --- Its processes ---------------------------------------------------------------------------

    def processes(self, part=None):
        """Those that carry the state directory in their command or environment; `part`: only
        with this text in the command."""
        mark = os.fsencode(self.state)
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                command = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
                if not command or int(entry.name) == os.getpid():
                    continue
                if part is not None and part.encode() not in command:
                    continue
                if mark in command or mark + b"/" in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
        return [pid for pid in found if self.daemon is None or pid != self.daemon.pid]

    def until_nothing_is_left(self, limit=PATIENCE):
        wait_until(lambda: not self.processes(), lambda: f"no process: {self.processes()} are left", limit)

    def watch(self, pid):
        """One that may have shed all that would tell that it is the scene's."""
        self.watched.append(Watched(int(pid)))
        return self.watched[-1]

    def run_directory(self, job, run=1, uid=None):
        return self.state / f"runs/u{os.geteuid() if uid is None else uid}/jobs/{job}.{run}"

    def checkpoints(self, job, uid=None):
        return self.state / f"checkpoints/u{os.geteuid() if uid is None else uid}/jobs/{job}"

    def supervisor(self, number, run=1):
        found = self.processes(f"/jobs/{number}.{run}\0")
        assert len(found) == 1, f"supervisors of job {number}: {found}"
        return found[0]

    def close(self):
        """Every job is cancelled and its workers are killed: their supervisors and the daemon then
        end by themselves and leave no control group. Who does not is killed."""
        with contextlib.suppress(OSError, ValueError, AssertionError):
            for job in self.http("GET", "/v1/jobs?limit=1000").json()["jobs"]:
                if job["state"] not in ENDS:
                    self.http("DELETE", f"/v1/jobs/{job['job']}")
        give_up = time.monotonic() + 10
        while left := self.processes():
            is_late = time.monotonic() > give_up
            if is_late and self.daemon is not None:
                self.kill()
            supervisors = self.processes("trainyard-supervisor")
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    if is_late or pid not in supervisors:
                        os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        for process in self.watched:
            process.kill()
        if self.daemon is not None:
            self.daemon.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.daemon.wait(10)
            self.kill()
        if self.space and os.path.ismount(self.state):
            subprocess.run(["umount", self.state], check=False, timeout=20)
        shutil.rmtree(self.root, ignore_errors=True)


def run_tests(module, limit):
    """All functions test_... of the module, or those named on the command line. Ends with 77 if
    none could be done here. After `limit` seconds it is over, and everything is cleaned up."""
    def stop(number, _frame):
        raise AssertionError(f"not done within {limit} s" if number == signal.SIGALRM else "told to end")

    signal.signal(signal.SIGALRM, stop)
    signal.signal(signal.SIGTERM, stop)
    signal.alarm(limit)
    tests = {name[5:]: test for name, test in module.items() if name.startswith("test_")}
    done = 0
    for name in sys.argv[1:] or tests:
        begin = time.monotonic()
        try:
            tests[name]()
            done += 1
            print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)
        except Skip as reason:
            print(f"{name}: skipped: {reason}", flush=True)
        except BaseException:
            print(f"{name}: FAILED after {time.monotonic() - begin:.1f} s", flush=True)
            raise
    sys.exit(0 if done else 77)
