"""Two network namespaces that a link joins, a daemon with its agent in the first, jobs that send over the link, and
what arrives in the second. The namespaces are made as those of the testbed are (testbed/network.py).
"""
import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import threading

from . import Scene, Skip, program, wait_until

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "testbed"))
from network import Namespaces, Unable, cgroup2, check_machine, enter, inside, sh  # noqa: E402, F401

MBIT = 20
MEASURED = 1_500_000  # bytes: most of a second at that rate
SETTLED = 1_500_000   # what was in queues before a change has gone
FIFO, SRTF = (f"order=fifo backfill=greedy flow={name}" for name in ("fifo", "srtf"))

# Little of it is on its way at a time, so that what was sent before a change is soon gone.
SENDER = """
import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 17)
s.connect((sys.argv[1], int(sys.argv[2])))
while True: s.sendall(b"x" * 65536)
"""


class Link(Namespaces):
    """Two namespaces, 10.77.0.1 and 10.77.0.2, that nobody else has."""

    def make(self):
        try:
            check_machine()
        except Unable as reason:
            raise Skip(str(reason)) from None
        self.a, self.b = f"ty{os.getpid()}a", f"ty{os.getpid()}b"
        self.add(self.a)
        self.add(self.b)
        sh("ip", "-n", self.a, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", self.b)
        for name, host in ((self.a, 1), (self.b, 2)):
            sh("ip", "-n", name, "link", "set", "eth0", "gso_max_size", 9000)
            self.attach(name, f"10.77.0.{host}")

    def within(self, name=None):
        return inside(name or self.a)

    def socket_at(self, name, *kind):
        """A socket of ours, in that namespace."""
        made = []

        def make():
            enter(name)
            made.append(socket.socket(*kind))
        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        return made[0]

    def queue(self, name=None):
        return json.loads(sh(*self.within(name), "tc", "-json", "qdisc", "show", "dev", "eth0"))[0]

    def marked(self, name=None):
        """By job: its class, as the kernel has it."""
        text = sh(*self.within(name), "nft", "list", "table", "inet", "trainyard_flow", check=False)
        return {int(job): int(flow) for job, flow in
                re.findall(r"chain job_(\d+)_\d+ \{[^}]*goto class(\d)", text)}

    def tables(self):
        return sh(*self.within(), "nft", "list", "tables").split("\n")[:-1]


class Sink:
    """Takes all that is sent to it, and counts it by the port."""

    def __init__(self, link):
        self.listener = link.socket_at(link.b, socket.AF_INET, socket.SOCK_STREAM)
        self.listener.bind(("10.77.0.2", 0))
        self.listener.listen()
        self.port = self.listener.getsockname()[1]
        self.bytes = 0
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        with contextlib.suppress(OSError):
            taken = self.listener.accept()[0]
            while part := taken.recv(1 << 16):
                self.bytes += len(part)


def share(first, second):
    """The first's part of what arrives, when all that was on its way has gone."""
    for count in (SETTLED, MEASURED):
        begin = first.bytes, second.bytes
        wait_until(lambda: first.bytes + second.bytes - sum(begin) >= count, "bytes to arrive")
    return (first.bytes - begin[0]) / (first.bytes + second.bytes - sum(begin))


class NetScene(Scene):
    """`before`: words before the commands of daemon and agent."""

    def __init__(self, link, before=(), **more):
        super().__init__(slots=4, policy=FIFO, within=[*link.within(), *before], **more)
        self.link, self.before, self.agents = link, before, []

    def agent_words(self, *more, queue=f"htb {MBIT}mbit", where=None, before=None):
        words = [*self.link.within(where), *(self.before if before is None else before), program(), "flow-agent", "--config",
                 "/dev/null", "--interface", "eth0", "--queue", queue, "--state", self.state, "--machine",
                 socket.gethostname().split(".")[0], *more]
        return [str(word) for word in words]

    def agent(self, *more, **how):
        log = open(self.root / "agent.log", "ab")
        agent = subprocess.Popen(self.agent_words(*more, **how), stdout=log, stderr=log, start_new_session=True)
        self.agents.append(agent)
        return agent

    def agent_said(self):
        return (self.root / "agent.log").read_text(errors="replace")

    def close(self):
        for agent in self.agents:
            if agent.poll() is None:
                agent.kill()
                agent.wait()
        super().close()

    def send(self, sink, *options, uid=None):
        job = self.submit("--gpus", 1, *options, "--", "/usr/bin/python3", "-c", SENDER, "10.77.0.2", sink.port, uid=uid)
        self.until(job, "running")
        return job

    def flow_class(self, job):
        return self.job(job).get("flow_class")

    def marked(self):
        return self.link.marked()


def two_senders(scene):
    """Before there is an agent: the second could hardly connect while the first fills the link."""
    sinks = Sink(scene.link), Sink(scene.link)
    jobs = [scene.send(sinks[0], "--time", "10h"), scene.send(sinks[1], "--time", "1h")]
    wait_until(lambda: all(sink.bytes > 100_000 for sink in sinks), "both to send")
    return sinks, jobs
