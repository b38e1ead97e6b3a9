"""Real training: DistributedDataParallel over gloo of small networks on scikit-learn's digits.

A job's command is `training.py join SOCKET JOB`: it asks the nursery, a process that has imported torch once, for
a worker. The worker is forked there, goes into the control group of the command that asked before it opens
a socket, and into the namespace of its host. The GPU is not here: a sleep stands for it, and each step computes the rest.
Real time (SCHED_RR) keeps other load out.
"""
import ctypes
import datetime
import json
import os
import pathlib
import random
import signal
import socket
import sys
import time
import traceback

HOSTS, WORKERS, JOBS = 6, 3, 6
SPAN_S, ITERATIONS, GPU_S, BATCH = 40, 140, 0.1, 32
HIDDEN, RATES = (768, 1024, 1280), (.1, .2, .3)
PRIORITY = 4
PR_SET_PDEATHSIG = 1
NEEDS = ("torch", "sklearn")
LAST_POINTS = 5  # their mean is the converged accuracy


class Jobs:
    """Of one seed: what is trained, where, and when it arrives."""

    def __init__(self, seed):
        draw = random.Random(f"training{seed}")
        load = [0] * HOSTS
        arrivals = sorted(draw.uniform(0, SPAN_S) for _ in range(JOBS))
        self.jobs = []
        for number, arrival in enumerate(arrivals):
            hosts = sorted(sorted(range(HOSTS), key=lambda host: (load[host], host))[:WORKERS])
            for host in hosts:
                load[host] += 1
            self.jobs.append({"arrival": arrival - arrivals[0], "hosts": hosts, "hidden": draw.choice(HIDDEN),
                              "rate": draw.choice(RATES), "iterations": round(ITERATIONS * draw.uniform(.8, 1.2)),
                              "seed": 100 * seed + number})


def gradient_bytes(hidden):
    return 4 * (64 * hidden + hidden + hidden * 10 + 10)


class Nursery:
    """Has torch and the data; forks a worker for each command that joins."""

    def __init__(self, path, network_addresses, namespaces):
        import torch
        from sklearn.datasets import load_digits
        self.addresses, self.namespaces = network_addresses, namespaces
        torch.set_num_threads(1)
        images, digits = load_digits(return_X_y=True)
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
        images = torch.tensor(images / 16, dtype=torch.float32)[order]
        digits = torch.tensor(digits)[order]
        self.train, self.held_out = (images[:1400], digits[:1400]), (images[1400:], digits[1400:])
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen(64)

    def serve(self):
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))
        while True:
            asked, _ = self.listener.accept()
            if os.fork() == 0:
                self.listener.close()
                self.work(asked)
            asked.close()

    def work(self, asked):
        """In the worker, which ends with the nursery; whoever asked hears "done", or nothing."""
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        told = json.loads(asked.makefile().readline())
        for group in told["groups"]:
            pathlib.Path(group).write_text(str(os.getpid()))
        job, rank = told["job"], told["rank"]
        from network import enter
        enter(self.namespaces[job["hosts"][rank]])
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))
        os.environ.update(told["environment"], GLOO_SOCKET_IFNAME="eth0", OMP_NUM_THREADS="1",
                          MASTER_ADDR=self.addresses[job["hosts"][0]], MASTER_PORT=str(told["port"]))
        try:
            self.learn(job, rank, told["log"])
            asked.sendall(b"done\n")
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(0)

    def learn(self, job, rank, log):
        import torch
        from torch import distributed, nn
        sys.path.insert(0, os.environ["TRAINYARD_PYTHON"])
        import trainyard
        distributed.init_process_group("gloo", rank=rank, world_size=WORKERS, timeout=datetime.timedelta(minutes=10))
        torch.manual_seed(job["seed"])
        net = nn.parallel.DistributedDataParallel(
            nn.Sequential(nn.Linear(64, job["hidden"]), nn.ReLU(), nn.Linear(job["hidden"], 10)))
        optimizer, loss = torch.optim.SGD(net.parameters(), lr=job["rate"]), nn.CrossEntropyLoss()
        draw = torch.Generator().manual_seed(job["seed"] * 10 + rank)
        images, digits = self.train
        distributed.barrier()
        lines = [(0, time.monotonic(), None)]
        for step in range(1, job["iterations"] + 1):
            time.sleep(GPU_S)
            some = torch.randint(len(images), (BATCH,), generator=draw)
            optimizer.zero_grad()
            loss(net(images[some]), digits[some]).backward()
            optimizer.step()
            if rank != 0:
                continue
            at, accuracy = time.monotonic(), None
            if step % 2 == 0 or step == job["iterations"]:
                with torch.no_grad():
                    right = net.module(self.held_out[0]).argmax(1) == self.held_out[1]
                accuracy = right.float().mean().item()
            trainyard.progress(step, total=job["iterations"], accuracy=accuracy)
            lines.append((step, at, accuracy))
        if rank == 0:
            pathlib.Path(log).write_text(json.dumps(lines))
        distributed.barrier()


def join(path, job, port, log):
    """The command of a job's worker."""
    mounts = [line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines()
              if line.split()[2] == "cgroup2"]
    name = next(line.split(":", 2)[2] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()
                if line.startswith("0::"))
    kept = ("RANK", "WORLD_SIZE", "TRAINYARD_")
    asking = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    asking.connect(path)
    asking.sendall(json.dumps({
        "groups": [f"{mounts[0]}{name}/cgroup.procs"], "rank": int(os.environ["RANK"]), "job": json.loads(job),
        "port": int(port), "log": log, "environment": {k: v for k, v in os.environ.items() if k.startswith(kept)}
    }).encode() + b"\n")
    return 0 if asking.makefile().readline() == "done\n" else 1


def times_of(lines):
    """Of a job's log: when it first had 90% and 95% of its converged accuracy."""
    begin = lines[0][1]
    points = [(step, at - begin, accuracy) for step, at, accuracy in lines if accuracy is not None]
    final = sum(accuracy for *_, accuracy in points[-LAST_POINTS:]) / LAST_POINTS
    (_, t90), (k95, t95) = (next((step, at) for step, at, accuracy in points if accuracy >= part * final)
                            for part in (.9, .95))
    return {"t90": t90, "t95": t95, "jct": lines[-1][1] - begin, "final": final, "k95": k95}


def live_run(program, network, jobs, policy):
    """One run on the network, with a daemon, agents and a nursery of its own."""
    import subprocess
    from daemon import Daemon, wait_until
    from policies import CODE_POINTS, POLICIES
    folder = pathlib.Path(__file__).resolve().parent
    with Daemon(program, network, POLICIES[policy], CODE_POINTS[policy], slots=JOBS * WORKERS) as daemon:
        path = daemon.root / "nursery"
        nursery = subprocess.Popen(["/usr/bin/python3", "-B", __file__, "nursery", path, json.dumps(network.addresses),
                                    json.dumps(network.hosts)])
        daemon.stack.callback(nursery.wait)
        daemon.stack.callback(nursery.kill)
        wait_until(path.exists, "torch to be imported", 300)
        begin = time.monotonic() + 1
        python = next(str(place) for place in (folder.parent / "python", pathlib.Path("/usr/lib/python3/dist-packages"))
                      if (place / "trainyard").is_dir())
        numbers = []
        for number, job in enumerate(jobs.jobs):
            time.sleep(max(0.0, begin + job["arrival"] - time.monotonic()))
            numbers.append(daemon.submit(
                f"job{number}", ["/usr/bin/python3", "-B", __file__, "join", path, json.dumps(job), 29500 + number,
                                 daemon.root / f"job{number}.log"], WORKERS, {"TRAINYARD_PYTHON": python}))
        for number in numbers:
            wait_until(lambda number=number: daemon.job(number)["state"] in ("done", "failed", "cancelled"),
                       "a training", 600)
            if (ended := daemon.job(number))["state"] != "done":
                raise RuntimeError(f"a training is {ended['state']}: {ended['reason']}")
        logs = [json.loads((daemon.root / f"job{number}.log").read_text()) for number in range(len(numbers))]
        return {"jobs": [times_of(log) for log in logs],
                "late_s": [log[0][1] - begin - job["arrival"] for log, job in zip(logs, jobs.jobs)],
                "changes": daemon.changes(), "bytes": daemon.bytes_marked()}


if __name__ == "__main__":
    if sys.argv[1] == "join":
        sys.exit(join(*sys.argv[2:]))
    Nursery(sys.argv[2], *map(json.loads, sys.argv[3:])).serve()
