"""The daemon under study and the agents of its hosts, from the program that is beside this folder.

There is one daemon with the local engine: all hosts are namespaces of this machine, and have the jobs'
control groups in common. So each host's agent asks for the flow classes of this machine, and marks what leaves
its own namespace. Where a job's workers are is the study's choice, not the daemon's.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

PRIORITY = 5  # of SCHED_RR: below the workers of stand-in jobs
PATIENCE = 60
MACHINE = socket.gethostname().split(".")[0]


def wait_until(condition, what, limit=PATIENCE):
    until = time.monotonic() + limit
    while not (found := condition()):
        if time.monotonic() > until:
            raise RuntimeError(f"waited {limit} s for {what}")
        time.sleep(0.02)
    return found


def run_in_real_time(pid):
    """All threads that it and its children have now. Those that it starts later are as usual: with a cpu
    controller of version 1, no process in real time may enter the group of a job."""
    tasks = pathlib.Path(f"/proc/{pid}/task")
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):  # one that has ended meanwhile
        for thread in os.listdir(tasks):
            os.sched_setscheduler(int(thread), os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY))
            for child in (tasks / thread / "children").read_text().split():
                run_in_real_time(int(child))


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=PATIENCE):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class Daemon:
    """`trainyard serve` under a policy line, and an agent in each host of the network."""

    def __init__(self, program, network, policy, code_points, slots):
        self.program, self.network, self.policy = program, network, policy
        self.code_points, self.slots = code_points, slots
        self.stack = contextlib.ExitStack()
        self.processes = []
        self.classes = []  # (time, {job: class}), as agents hear it

    def __enter__(self):
        try:
            # In memory: how long a disk takes that others use is not under study.
            folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
            self.root = pathlib.Path(tempfile.mkdtemp(prefix="trainyard-live-", dir=folder))
            self.stack.callback(shutil.rmtree, self.root, ignore_errors=True)
            self.state = self.root / "state"
            self.state.mkdir()
            line, settings = f"order=fifo backfill=greedy {self.policy[0]}", self.policy[1]
            words = ["serve", "--config", "/dev/null", "--state", self.state, "--slots", self.slots, "--policy", line,
                     "--load-time", "0"]
            for setting in settings:
                words += ["--set", setting]
            self.start("daemon", *words)
            wait_until(self.is_up, "the daemon")
            self.start_agents()
            threading.Thread(target=self.follow, daemon=True).start()
            wait_until(lambda: self.classes, "the first flow classes")
            for process in self.processes:
                run_in_real_time(process.pid)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *problem):
        self.close()

    def close(self):
        with contextlib.suppress(OSError, RuntimeError):
            for job in self.ask("GET", "/v1/jobs?limit=1000")["jobs"]:
                if job["state"] not in ("done", "failed", "cancelled"):
                    self.ask("DELETE", f"/v1/jobs/{job['job']}")
            wait_until(lambda: all(job["state"] in ("done", "failed", "cancelled")
                                   for job in self.ask("GET", "/v1/jobs?limit=1000")["jobs"]), "jobs to end")
        self.stack.close()

    def start(self, name, *words, within=None):
        log = self.root / f"{name}.log"
        command = [*(["nsenter", f"--net=/run/netns/{within}"] if within else []), self.program, *map(str, words)]
        with open(log, "wb") as out:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)

        def end():
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()
        self.stack.callback(end)
        self.processes.append(process)
        return log

    def start_agents(self):
        floor = next((float(s.split("=")[1]) for s in self.policy[1] if s.startswith("flow.floor=")), 0.2)
        self.network.set_switch(self.code_points, floor)
        logs = [self.start(f"agent{number}", "flow-agent", "--config", "/dev/null", "--interface", "eth0", "--queue",
                           f"htb {self.network.mbit}mbit", "--dscp", ",".join(map(str, self.code_points)), "--state",
                           self.state, "--machine", MACHINE, "--metrics", self.root / f"agent{number}.prom", within=host)
                for number, host in enumerate(self.network.hosts)]
        for log in logs:
            wait_until(lambda log=log: "connected to the daemon" in log.read_text(), f"an agent: {log.read_text()}")

    def is_up(self):
        with contextlib.suppress(OSError):
            return self.ask("GET", "/healthz", parse=False)
        return None

    def ask(self, method, path, body=None, parse=True):
        connection = UnixConnection(self.state / "socket")
        connection.request(method, path, body=None if body is None else json.dumps(body),
                           headers={} if body is None else {"Content-Type": "application/json"})
        reply = connection.getresponse()
        text = reply.read()
        if reply.status >= 300:
            raise RuntimeError(f"{method} {path}: {reply.status} {text.decode(errors='replace')}")
        return json.loads(text) if parse else text

    def follow(self):
        """As an agent does: each change of a class, and when it was told."""
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            connection = UnixConnection(self.state / "socket", timeout=None)
            connection.request("GET", f"/v1/flows?machine={MACHINE}&follow=true")
            for line in connection.getresponse():
                told = {job["job"]: job["class"] for job in json.loads(line)["jobs"]}
                if not self.classes or told != self.classes[-1][1]:
                    self.classes.append((time.monotonic(), told))

    def submit(self, name, command, workers, environment=None):
        spec = {"name": name, "command": list(map(str, command)), "workers": workers, "gpus": 1, "cpus": "0.01",
                "memory": "100M", "directory": str(self.root), "output": str(self.root / f"{name}.out"),
                "environment": {"PATH": "/usr/bin:/bin", **(environment or {})}}
        return self.ask("POST", "/v1/jobs", spec)["job"]

    def job(self, number):
        return self.ask("GET", f"/v1/jobs/{number}")

    def changes(self):
        """How often a job that ran on was told another class."""
        return sum(was.get(job, now) != now for (_, was), (_, told) in zip(self.classes, self.classes[1:])
                   for job, now in told.items())

    def bytes_marked(self):
        """By class, of all hosts; as the agents counted them when they wrote last."""
        total = {}
        for path in self.root.glob("agent*.prom"):
            for flow, count in re.findall(r'flow_bytes_total{class="(\d)"} (\d+)', path.read_text()):
                total[int(flow)] = total.get(int(flow), 0) + int(count)
        return total
