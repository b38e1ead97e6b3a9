"""A real Slurm on this host, on loopback, for one test: munged, slurmctld and several slurmd with fake
GPUs, all in a temporary folder, and the end of every process that came of it.

    with Cluster() as cluster:
        job = cluster.sbatch("sleep 1", gpus=2)
        cluster.until(job, "COMPLETED")

As a program it starts a cluster and a shell in it: /usr/bin/python3 -B tests/slurm/cluster.py [NODES]
"""
import contextlib
import ctypes
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))
from scene import OTHERS_RUN_HERE, PATIENCE, Skip, wait_until  # noqa: E402

PARTITION = "train"
USER, OTHER_USER = "nobody", "games"  # who are on every Debian
KINDS = ("v100", "a100")              # a feature of all nodes of a rack
SET_PDEATHSIG, SET_CHILD_SUBREAPER = 1, 36  # of prctl
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol")

SLURM_CONF = """\
ClusterName=trainyard-test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld_port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge/socket,cred_expire={credential_expires}
CredType=cred/munge
StateSaveLocation={root}/ctld
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd-%n.pid
SlurmdSpoolDir={root}/spool-%n
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd-%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
TopologyPlugin=topology/tree
GresTypes=gpu
ReturnToService=2
SlurmdTimeout={node_timeout}
KillWait=5
{more}
{nodes}
"""


def free_ports(count):
    """Of the loopback. Somebody may take one before it is used; that is as good as it gets."""
    with contextlib.ExitStack() as open_sockets:
        found = [open_sockets.enter_context(socket.socket()) for _ in range(count)]
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in found]


def die_with_parent():
    ctypes.CDLL(None).prctl(SET_PDEATHSIG, signal.SIGKILL)


def descendants(pid):
    """All processes below this one that have not ended; those of its own children that have are reaped."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                children.setdefault(int(parent), []).append(int(entry.name))
            elif int(parent) == os.getpid():
                os.waitpid(int(entry.name), os.WNOHANG)
    found = list(children.get(pid, []))
    for one in found:
        found += children.get(one, [])
    return found


class Cluster:
    """`more`: lines of slurm.conf beside those above; `lua`: the text of job_submit.lua;
    `credential_expires`: so many seconds Slurm itself waits before it starts a requeued job again;
    `node_timeout`: and so many before it gives up a node that does not answer;
    `special`: nodes that differ, as {"r2n1": {"gpus": 2, "cpus": 64, "features": "a100,ib"}}."""

    def __init__(self, nodes=8, gpus=4, racks=2, cpus=16, memory_mib=64000, more=(), lua=None,
                 credential_expires=120, node_timeout=20, special=None,
                 partitions=(f"PartitionName={PARTITION} Nodes=ALL Default=YES MaxTime=INFINITE State=UP",)):
        missing = [name for name in PROGRAMS if shutil.which(name, path="/usr/sbin:/usr/bin") is None]
        if missing:
            raise Skip(f"no Slurm here: {', '.join(missing)} are missing (./yard test installs them)")
        if not OTHERS_RUN_HERE:
            raise Skip("slurmd starts jobs of other users, which only root can")
        self.gpus, self.racks, self.cpus, self.memory_mib = gpus, racks, cpus, memory_mib
        self.names = [f"r{rack + 1}n{node + 1}" for rack in range(racks)
                      for node in range(nodes // racks)]
        self.more, self.lua, self.partitions = list(more), lua, partitions
        self.special = special or {}
        self.credential_expires, self.node_timeout = credential_expires, node_timeout
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="trainyard-slurm-"))
        self.root.chmod(0o755)
        self.conf, self.work = self.root / "slurm.conf", self.root / "work"
        self.daemons = {}
        self.environment_before = os.environ.get("SLURM_CONF")

    # --- Its files -------------------------------------------------------------------------------

    def rack_of(self, name):
        return int(name[1:name.index("n")]) - 1

    def of_node(self, name):
        return {"gpus": self.gpus, "cpus": self.cpus, "memory": self.memory_mib,
                "features": KINDS[self.rack_of(name) % len(KINDS)], **self.special.get(name, {})}

    def write_files(self):
        for folder in ("munge", "ctld", "dev"):
            (self.root / folder).mkdir(mode=0o755)
        self.work.mkdir()
        self.work.chmod(0o1777)  # jobs of any user write here
        key = self.root / "munge/key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        for gpu in range(self.gpus):  # only of character devices does Slurm set CUDA_VISIBLE_DEVICES
            os.mknod(self.root / f"dev/nvidia{gpu}", 0o20666, os.makedev(1, 3))
        (self.root / "gres.conf").write_text("AutoDetect=off\n" + "".join(
            f"NodeName={name} Name=gpu File={self.root}/dev/nvidia[0-{self.of_node(name)['gpus'] - 1}]\n"
            for name in self.names))
        # By itself slurmd looks which cgroups there are, and ends where there are none; none are used.
        (self.root / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        racks = [",".join(name for name in self.names if self.rack_of(name) == rack)
                 for rack in range(self.racks)]
        (self.root / "topology.conf").write_text(
            "".join(f"SwitchName=rack{rack + 1} Nodes={names}\n" for rack, names in enumerate(racks)) +
            f"SwitchName=spine Switches=rack[1-{self.racks}]\n")
        if self.lua is not None:
            (self.root / "job_submit.lua").write_text(self.lua)
            self.more.append("JobSubmitPlugins=lua")
        ports = free_ports(1 + len(self.names))
        nodes = ["NodeName={name} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory={memory} "
                 "Gres=gpu:{gpus} Feature={features}".format(name=name, port=port, **self.of_node(name))
                 for name, port in zip(self.names, ports[1:])]
        self.conf.write_text(SLURM_CONF.format(
            host=socket.gethostname(), root=self.root, ctld_port=ports[0], more="\n".join(self.more),
            credential_expires=self.credential_expires, node_timeout=self.node_timeout,
            nodes="\n".join([*nodes, *self.partitions])))

    # --- Its daemons: "munged", "slurmctld", and every node by its name ---------------------------

    def __enter__(self):
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1)  # what daemons leave behind is ours to end
        os.environ["SLURM_CONF"] = str(self.conf)
        try:
            self.write_files()
            self.start("munged")
            wait_until((self.root / "munge/socket").exists, "munged to listen")
            self.start_first()
            self.start("slurmctld")
            for name in self.names:
                self.start(name)
            self.until_nodes("idle", *self.names)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind, problem, trace):
        if problem is not None:
            print(f"--- slurmctld said:\n{self.said()[-6000:]}", file=sys.stderr)
        self.close()

    def start_first(self):
        """What slurmctld needs beside munged: for clusters that have more."""

    def said(self, name="slurmctld"):
        log = self.root / (f"{name}.log" if name == "slurmctld" else f"slurmd-{name}.log")
        return log.read_text(errors="replace") if log.exists() else ""

    def start(self, name):
        folder = self.root / "munge"
        command = {
            "munged": ["munged", "-F", f"--key-file={folder}/key", f"--socket={folder}/socket",
                       f"--pid-file={folder}/pid", f"--log-file={folder}/log",
                       f"--seed-file={folder}/seed", "--num-threads=2"],
            "slurmctld": ["slurmctld", "-D", "-f", str(self.conf)],
        }.get(name, ["slurmd", "-D", "-N", name, "-f", str(self.conf)])
        self.spawn(name, command)

    def spawn(self, name, command):
        with open(self.root / "daemons.log", "ab") as log:
            self.daemons[name] = subprocess.Popen(
                [shutil.which(command[0], path="/usr/sbin"), *command[1:]], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, cwd=self.root, start_new_session=True, preexec_fn=die_with_parent)

    def stop(self, name):
        """As an operator stops a service."""
        self.daemons[name].terminate()
        self.daemons.pop(name).wait(PATIENCE)

    def kill(self, name):
        """As a crash."""
        self.daemons[name].kill()
        self.daemons.pop(name).wait(PATIENCE)

    def until_controller_answers(self):
        wait_until(lambda: self.run("scontrol", "ping", check=False).returncode == 0,
                   "slurmctld to answer")

    def until_saved(self, job_name):
        """slurmctld writes its state every few seconds, here with this job and so with all before it."""
        state = self.root / "ctld/job_state"
        wait_until(lambda: state.exists() and job_name.encode() + b"\0" in state.read_bytes(),
                   f"slurmctld to save job {job_name}")

    def close(self):
        with contextlib.suppress(subprocess.SubprocessError, OSError):
            if "slurmctld" in self.daemons:
                self.run("scancel", "--signal=KILL", "--full", f"--partition={PARTITION}", check=False, limit=10)
        for daemon in self.daemons.values():
            daemon.kill()
        for daemon in self.daemons.values():
            daemon.wait(PATIENCE)
        self.daemons.clear()
        while left := descendants(os.getpid()):  # slurmstepd, and the jobs' own
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        if self.environment_before is None:
            os.environ.pop("SLURM_CONF", None)
        else:
            os.environ["SLURM_CONF"] = self.environment_before
        shutil.rmtree(self.root, ignore_errors=True)

    # --- What is asked of it ---------------------------------------------------------------------

    def run(self, *words, user=None, check=True, limit=PATIENCE, directory=None, text=None):
        """A command of Slurm's, as that user; what it printed is in .stdout and .stderr."""
        identity = {}
        if user is not None:
            entry = pwd.getpwnam(user)
            identity = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        environment = {"PATH": "/usr/bin:/bin", "HOME": "/", "LC_ALL": "C.UTF-8",
                       "SLURM_CONF": str(self.conf)}
        done = subprocess.run([str(word) for word in words], capture_output=True, timeout=limit, text=True,
                              input=text or "", env=environment, cwd=directory or self.work, **identity)
        assert not check or done.returncode == 0, f"{words}: {done.returncode} {done.stderr}"
        return done

    def sbatch(self, script, *options, gpus=1, nodes=1, comment=None, user=USER, **how):
        """Submits a shell script; the job's number, or (check=False) what sbatch printed."""
        words = ["sbatch", "--parsable", f"--partition={PARTITION}", f"--nodes={nodes}",
                 f"--gpus-per-node={gpus}", "--mem=100", "--output=/dev/null", *options]
        if comment is not None:
            words.append(f"--comment={comment}")
        text = script if script.startswith("#!") else f"#!/bin/sh\n{script}\n"
        done = self.run(*words, user=user, text=text, **how)
        return int(done.stdout.split(";")[0]) if done.returncode == 0 else done

    def job(self, number):
        """What scontrol says of it: {"JobState": "RUNNING", "NodeList": ...}."""
        shown = self.run("scontrol", "--oneliner", "--details", "show", "job", number).stdout
        return dict(word.split("=", 1) for word in shown.split() if "=" in word)

    def until(self, number, *states, limit=PATIENCE):
        def arrived():
            job = self.job(number)
            return job if job["JobState"] in states else None

        return wait_until(arrived, lambda: f"job {number} to be {states}: {self.job(number)}", limit)

    def node_states(self):
        shown = self.run("sinfo", "--noheader", "--Node", "--format=%n %T", check=False).stdout
        return dict(line.split() for line in shown.splitlines())

    def until_nodes(self, state, *names, limit=PATIENCE):
        def arrived():
            ended = [name for name, daemon in self.daemons.items() if daemon.poll() is not None]
            assert not ended, f"{ended} ended: {(self.root / 'daemons.log').read_text()[-2000:]}"
            found = self.node_states()
            return all(found.get(name) == state for name in names)

        wait_until(arrived, lambda: f"{names} to be {state}: {self.node_states()}", limit)


def shell(nodes):
    with Cluster(nodes=nodes) as cluster:
        print(f"SLURM_CONF={cluster.conf}; {len(cluster.names)} nodes of {cluster.gpus} GPUs; "
              "the end of this shell ends it")
        subprocess.run([os.environ.get("SHELL", "/bin/sh")], check=False, cwd=cluster.work)


if __name__ == "__main__":
    shell(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
