"""Stand-in jobs: workers that sleep for computing and send a ring all-reduce for real (ring_worker.cpp).

Jobs, arrivals and learning curves are drawn as the generator `learning` draws them (docs/generators.md); their
places are those of `trainyard sim` under place=spread, which also predicts each run.
"""
import csv
import dataclasses
import json
import pathlib
import random
import subprocess
import time

from daemon import Daemon, wait_until
from policies import CODE_POINTS, POLICIES, SIMULATED

WORKERS = 4
COMPUTE_S, JITTER, NOISE = 0.1, 0.05, 0.05
STEPS = 2 * (WORKERS - 1)  # of the ring
START_S, LIMIT_S = 0.5, 900
TOO_BUSY = 1.3  # times as long as alone: the machine did not keep up


@dataclasses.dataclass
class Cell:
    phi: float    # communication over computing of a job alone
    early: float  # share of its work to 95% of the converged accuracy
    omega: float  # span of arrivals over the length of a job alone
    jobs: int = 12
    hosts: int = 13
    iterations: int = 150


CELLS = {"A": Cell(1, .1, 2), "B": Cell(2, .1, 1), "C": Cell(1, .3, 0),
         # No part of the study: whether all of it works, and the least case of sharing.
         "smoke": Cell(1, .1, .2, jobs=3, hosts=4, iterations=20),
         "two jobs": Cell(1, .1, 0, jobs=2, hosts=4, iterations=80)}


class Curve:
    """accuracy(x) = limit - 1 / (a x + b) at the share x of the work, as in docs/generators.md."""

    def __init__(self, limit, start, to_95):
        self.limit, self.start, self.to_95 = limit, start, to_95
        self.b = 1 / (limit - start)
        low, high = 1e-6, 1e6
        for _ in range(200):
            self.a = (low * high) ** .5
            low, high = (self.a, high) if self.at(to_95) < .95 * self.at(1) else (low, self.a)

    def at(self, share):
        return self.limit - 1 / (self.a * share + self.b)

    def share_at(self, part):
        """Of the work, when it has this part of its accuracy at the end."""
        return max(0.0, (1 / (self.limit - part * self.at(1)) - self.b) / self.a)


class Scenario:
    def __init__(self, cell, seed, payload_per_s):
        self.cell, self.seed, self.payload_per_s = cell, seed, payload_per_s
        terms = CELLS[cell]
        self.hosts = terms.hosts
        self.gradient = terms.phi * COMPUTE_S * payload_per_s * WORKERS / (2 * (WORKERS - 1))
        self.alone_s = COMPUTE_S * (1 + terms.phi)
        draw = random.Random(f"{cell}{seed}")
        span = terms.omega * self.alone_s * terms.iterations
        arrivals = sorted(draw.uniform(0, span) for _ in range(terms.jobs))
        self.jobs = []
        for arrival in arrivals:
            iterations = round(terms.iterations * min(1.8, max(.2, draw.gauss(1, .2))))
            limit = draw.uniform(.7, .95)
            curve = Curve(limit, limit * draw.uniform(.05, .3), terms.early * draw.uniform(.8, 1.2))
            self.jobs.append({"arrival": arrival - arrivals[0], "iterations": iterations, "curve": curve})


class Simulated:
    """The scenario in `trainyard sim`; its files are in `folder`."""

    def __init__(self, program, scenario, folder):
        self.program, self.folder = program, pathlib.Path(folder)
        nic = scenario.payload_per_s * 8e-9
        rows = ["id,submit,iterations,iteration_time,workers,gpus,model,grace,save,load"]
        models = []
        for number, job in enumerate(scenario.jobs):
            curve = job["curve"]
            rows.append(f"{number},{job['arrival']:.6f},{job['iterations']},{COMPUTE_S},{WORKERS},1,net{number},0,0,0")
            models.append(
                f'[[model]]\nname = "net{number}"\nparameters = {scenario.gradient / 4}\n'
                f'gradient_mb = {scenario.gradient / 1e6}\nbatch = 1\noverlap = 0\nsource = "assumed: this study\'s"\n'
                f"curve = {{limit = {curve.limit}, start = {curve.start}, to_95 = {curve.to_95}}}\n"
                f'[[model.speed]]\nkind = "V100"\nsamples_per_s = {1 / COMPUTE_S}\n')
        (self.folder / "jobs.csv").write_text("\n".join(rows) + "\n")
        (self.folder / "models.toml").write_text("\n".join(models))
        (self.folder / "cluster.toml").write_text(
            f'[network.rack]\ngbps = 1\nlatency_us = 0\n[[rack]]\n[[rack.machine]]\ncount = {scenario.hosts}\ngpus = {len(scenario.jobs)}\n'
            f'kind = "V100"\nnic_gbps = {nic}\n')

    def run(self, policy, steps=0):
        """The mean times to 90% and 95%, and by job the time to its end."""
        line, settings = SIMULATED[policy]
        words = [self.program, "sim", "--workload", "jobs.csv", "--models", "models.toml", "--cluster", "cluster.toml",
                 "--network", f"shared,model=iteration,jitter={JITTER},steps={steps}", "--policy",
                 " ".join([f"order=fifo place=spread {line}", *settings]), "--jobs-csv", "out.csv", "--json", "out.json",
                 "--timeline", "out.timeline"]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"trainyard sim: {done.stderr}")
        learning = json.loads((self.folder / "out.json").read_text())["learning"]
        with open(self.folder / "out.csv") as rows:
            ends = {int(row["id"]): float(row["jct_s"]) for row in csv.DictReader(rows)}
        return {"t90": learning["to_90_s"]["mean"], "t95": learning["to_95_s"]["mean"],
                "jct": [ends[job] for job in range(len(ends))]}

    def places(self):
        """Of the last run: by job, the hosts of its workers."""
        where = {}
        for event in json.loads((self.folder / "out.timeline").read_text())["traceEvents"]:
            if event.get("ph") == "X" and str(event.get("name", "")).isdigit():
                where.setdefault(int(event["name"]), set()).add(event["pid"])
        first = min(min(hosts) for hosts in where.values())
        return [sorted(host - first for host in where[job]) for job in range(len(where))]


def live_run(program, worker, network, scenario, places, policy):
    """One run on the network, with a daemon and agents of its own."""
    with Daemon(program, network, POLICIES[policy], CODE_POINTS[policy], slots=len(scenario.jobs) * WORKERS) as daemon:
        begin = time.monotonic() + START_S
        numbers = []
        for index, (job, hosts) in enumerate(zip(scenario.jobs, places)):
            plan = daemon.root / f"job{index}.plan"
            plan.write_text(json.dumps(plan_of(scenario, index, hosts, network, daemon.root / f"job{index}.log")))
            time.sleep(max(0.0, begin + job["arrival"] - time.monotonic()))
            numbers.append(daemon.submit(f"job{index}", [worker, plan], WORKERS))
        for index, number in enumerate(numbers):
            wait_until(lambda number=number: daemon.job(number)["state"] in ("done", "failed", "cancelled"),
                       f"job {index}", LIMIT_S)
            if (job := daemon.job(number))["state"] != "done":
                raise RuntimeError(f"job {index} is {job['state']}: {job['reason']}")
        logs = [[float(line) for line in (daemon.root / f"job{index}.log").read_text().split()]
                for index in range(len(numbers))]
        return {"jobs": [times_of(job, log) for job, log in zip(scenario.jobs, logs)],
                "late_s": [log[0] - begin - job["arrival"] for job, log in zip(scenario.jobs, logs)],
                "stretch": stretch(scenario, numbers, logs, daemon.classes),
                "changes": daemon.changes(), "bytes": daemon.bytes_marked()}


def plan_of(scenario, index, hosts, network, log):
    job = scenario.jobs[index]
    curve = job["curve"]
    return {"namespaces": [network.hosts[host] for host in hosts],
            "addresses": [network.addresses[host] for host in hosts], "port": 20000 + 10 * index,
            "iterations": job["iterations"], "compute_s": COMPUTE_S, "chunk_bytes": round(scenario.gradient / WORKERS),
            "jitter": JITTER, "seed": 1000 * scenario.seed + index,
            "curve": {"limit": curve.limit, "a": curve.a, "b": curve.b}, "noise": NOISE, "log": str(log)}


def times_of(job, log):
    """From its first iteration on; between the ends of two iterations, in proportion."""
    def after(share):
        iterations = share * job["iterations"]
        whole = int(iterations)
        part = iterations - whole
        return log[whole] + part * (log[min(whole + 1, len(log) - 1)] - log[whole]) - log[0]
    return {"t90": after(job["curve"].share_at(.9)), "t95": after(job["curve"].share_at(.95)), "jct": log[-1] - log[0]}


def stretch(scenario, numbers, logs, classes):
    """Median length of the iterations of a job that had the first class, or the network, to itself; alone it is
    1. None if there were none such."""
    lengths = []
    for number, log in zip(numbers, logs):
        for begin, end in zip(log, log[1:]):
            runs = sum(other[0] < end and other[-1] > begin for other in logs)
            during = [told.get(number) for at, told in classes if begin < at < end]
            before = [told.get(number) for at, told in classes if at <= begin][-1:]
            if runs == 1 or all(flow == 0 for flow in before + during):
                lengths.append((end - begin) / scenario.alone_s)
    return sorted(lengths)[len(lengths) // 2] if lengths else None
