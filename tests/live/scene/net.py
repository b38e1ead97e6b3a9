"""Two network namespaces that a link joins, jobs that send over it, and what arrives there."""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import threading

from . import IS_ROOT, Skip, wait_until

MBIT = 20
MEASURED = 1_500_000  # bytes: most of a second at that rate
SETTLED = 1_500_000   # what was in queues before a change has gone
NEWNET = 0x40000000

# Little of it is on its way at a time, so that what was sent before a change is soon gone.
SENDER = """
import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 17)
s.connect((sys.argv[1], int(sys.argv[2])))
while True: s.sendall(b"x" * 65536)
"""


def sh(*words, check=True):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60)
    assert not check or done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def cgroup2():
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        if line.split()[2] == "cgroup2":
            return line.split()[1]
    return None


class Link:
    """Two namespaces, 10.77.0.1 and 10.77.0.2, that nobody else has."""

    def __enter__(self):
        if not IS_ROOT:
            raise Skip("only root can make network namespaces")
        for tool in ("nft", "tc", "ip", "nsenter"):
            if shutil.which(tool, path="/usr/sbin:/sbin:/usr/bin:/bin") is None:
                raise Skip(f"there is no {tool} here")
        if cgroup2() is None:
            raise Skip("cgroup v2 is not mounted")
        self.a, self.b = f"ty{os.getpid()}a", f"ty{os.getpid()}b"
        self.stack = contextlib.ExitStack()
        for name in (self.a, self.b):
            if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode != 0:
                self.stack.close()
                raise Skip("no network namespace can be made here")
            self.stack.callback(sh, "ip", "netns", "del", name, check=False)
        sh("ip", "-n", self.a, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", self.b)
        for name, host in ((self.a, 1), (self.b, 2)):
            sh("ip", "-n", name, "link", "set", "lo", "up")
            sh("ip", "-n", name, "link", "set", "eth0", "gso_max_size", 9000)
            sh("ip", "-n", name, "addr", "add", f"10.77.0.{host}/24", "dev", "eth0")
            sh("ip", "-n", name, "link", "set", "eth0", "up")
            sh("ip", "-n", name, "route", "replace", "10.77.0.0/24", "dev", "eth0", "src", f"10.77.0.{host}",
               "congctl", "cubic")
        return self

    def __exit__(self, *problem):
        self.stack.close()

    def within(self, name=None):
        """Words before a command that is to run there. (ip netns exec would mount another /sys.)"""
        return ["nsenter", f"--net=/run/netns/{name or self.a}"]

    def socket_at(self, name, *kind):
        """A socket of ours, in that namespace."""
        made = []

        def make():
            with open(f"/run/netns/{name}") as there:
                assert ctypes.CDLL(None, use_errno=True).setns(there.fileno(), NEWNET) == 0
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
