"""A network of namespaces: hosts, each with a link to one switch, a bridge in a namespace of its own. (The tests of
the agent have a smaller one of the same pieces, tests/live/scene/net.py.)

Both ends of every link carry a queue by DSCP: the switch's are made here, as an operator would configure
a switch, and those of the hosts by trainyard flow-agent. Nobody else has these namespaces, and they go
with the program that made them.
"""
import contextlib
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

NEWNET = 0x40000000
MTU, PAYLOAD, WIRE = 1500, 1448, 1514  # bytes of a full packet: its data, and what its link carries


class Unable(Exception):
    """The testbed cannot be had here; the reason."""


def inside(namespace):
    """Words before a command that is to run there. (ip netns exec would mount another /sys.)"""
    return ["nsenter", f"--net=/run/netns/{namespace}"]


def sh(*words, text=None, within=None, check=True):
    command = [*(inside(within) if within else []), *map(str, words)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def cgroup2():
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        if line.split()[2] == "cgroup2":
            return line.split()[1]
    return None


def check_machine():
    """Raises Unable if this machine cannot have the testbed."""
    if os.geteuid() != 0:
        raise Unable("only root can make network namespaces")
    for tool in ("ip", "tc", "nft", "nsenter"):
        if shutil.which(tool, path="/usr/sbin:/sbin:/usr/bin:/bin") is None:
            raise Unable(f"there is no {tool} here")
    if cgroup2() is None:
        raise Unable("cgroup v2 is not mounted")
    with contextlib.ExitStack() as stack:
        probe = f"tyjprobe{os.getpid()}"
        try:
            sh("ip", "netns", "add", probe)
            stack.callback(sh, "ip", "netns", "del", probe)
            sh("ip", "-n", probe, "link", "add", "br0", "type", "bridge")
            sh("ip", "-n", probe, "link", "add", "name", "tya", "type", "veth", "peer", "name", "tyb")
            sh("tc", "qdisc", "add", "dev", "tya", "root", "handle", "1:", "htb", within=probe)
            sh("tc", "class", "add", "dev", "tya", "parent", "1:", "classid", "1:1", "htb", "rate", "1mbit", "prio", "7",
               within=probe)
            sh("tc", "filter", "add", "dev", "tya", "parent", "1:", "protocol", "ip", "prio", "1", "u32", "match", "ip",
               "tos", "0xac", "0xfc", "flowid", "1:1", within=probe)
        except RuntimeError as problem:
            raise Unable(f"no such network can be made here: {problem}") from problem


def switch_queue(device, mbit, code_points, floor):
    """Lines for tc: strict priority by DSCP, the last class keeping `floor` of the link."""
    last = len(code_points) - 1
    lines = [f"qdisc replace dev {device} root handle 1: htb default {10 + last:x}",
             f"class replace dev {device} parent 1: classid 1:1 htb rate {mbit}mbit ceil {mbit}mbit burst 6k cburst 6k "
             "quantum 3000"]
    for number, code_point in enumerate(code_points):
        keeps = max(0.008, mbit * floor if number == last else 0)
        lines += [f"class replace dev {device} parent 1:1 classid 1:{10 + number:x} htb rate {keeps}mbit ceil {mbit}mbit "
                  f"prio {number} burst 2k cburst 6k quantum 3000",
                  f"qdisc replace dev {device} parent 1:{10 + number:x} pfifo limit 1000",
                  f"filter add dev {device} parent 1: protocol ip prio {number + 1} u32 match ip tos {code_point << 2:#x} "
                  f"0xfc flowid 1:{10 + number:x}"]
    return lines


class Namespaces:
    """Namespaces that go when this is left; make() makes them."""

    def __init__(self):
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *problem):
        self.stack.close()

    def add(self, name):
        sh("ip", "netns", "add", name)
        self.stack.callback(sh, "ip", "netns", "del", name)
        sh("ip", "-n", name, "link", "set", "lo", "up")

    def attach(self, name, address):
        """Its eth0 gets that address."""
        sh("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
        sh("ip", "-n", name, "link", "set", "eth0", "up")
        sh("ip", "-n", name, "route", "replace", "10.77.0.0/24", "dev", "eth0", "src", address, "congctl", "cubic")


class Network(Namespaces):
    """`hosts` namespaces, 10.77.0.1 and so on, whose links carry `mbit` each way."""

    def __init__(self, hosts, mbit):
        super().__init__()
        self.mbit = mbit
        self.prefix = f"tyj{os.getpid()}"
        self.switch = f"{self.prefix}-sw"
        self.hosts = [f"{self.prefix}-h{number}" for number in range(hosts)]
        self.addresses = [f"10.77.0.{number + 1}" for number in range(hosts)]

    def payload_per_s(self):
        """Bytes of TCP that a link carries in a second."""
        return self.mbit * 1e6 / 8 * PAYLOAD / WIRE

    def make(self):
        self.add(self.switch)
        sh("ip", "-n", self.switch, "link", "add", "br0", "type", "bridge", "forward_delay", "0")
        sh("ip", "-n", self.switch, "link", "set", "br0", "up")
        for number, host in enumerate(self.hosts):
            self.add(host)
            self.connect(number, host)

    def connect(self, number, host):
        port = f"p{number}"
        sh("ip", "-n", self.switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", host)
        for name, device in ((self.switch, port), (host, "eth0")):
            # A packet at a time, as they would be on a real link of this rate.
            sh("ip", "-n", name, "link", "set", device, "gso_max_segs", "1", "gso_max_size", str(MTU + 64))
        sh("ip", "-n", self.switch, "link", "set", port, "master", "br0")
        sh("ip", "-n", self.switch, "link", "set", port, "up")
        self.attach(host, self.addresses[number])
        sh("sysctl", "-qw", "net.ipv4.tcp_slow_start_after_idle=0", "net.ipv4.tcp_no_metrics_save=1", within=host)

    def set_switch(self, code_points, floor):
        for number in range(len(self.hosts)):
            with contextlib.suppress(RuntimeError):  # there was none
                sh("tc", "qdisc", "del", "dev", f"p{number}", "root", within=self.switch)
            sh("tc", "-b", "-", text="\n".join(switch_queue(f"p{number}", self.mbit, code_points, floor)) + "\n",
               within=self.switch)

    def foreign_rules(self):
        """Of nft, in any host: there must be none before a run."""
        return "".join(sh("nft", "list", "ruleset", within=host) for host in self.hosts)


def enter(name):
    """This process goes into that namespace."""
    with open(f"/run/netns/{name}") as there:
        if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), NEWNET) != 0:
            sys.exit(f"{name} cannot be entered")
