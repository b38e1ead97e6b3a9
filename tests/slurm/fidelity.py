"""Jobs on a real Slurm, and the same jobs simulated with the delays that were measured there:

    ./yard slurm fidelity [POLICY...]

How far each job's completion time in the simulation is from the real one. The delays (see
src/sim/delays.h) are medians over all runs of other jobs on that cluster: from what the daemon decided, by
its events, to what the processes wrote down."""
import contextlib
import csv
import io
import json
import statistics
import subprocess
import sys

from jobs import check_all_done, check_gpus, draw, percentile, read_runs, submit_all, until_all_end
from many_test import until_seen
from scene import TRAINYARD
from scene.http import open_stream
from steered import steered

JOBS, SPAN, SAVE, GRACE = 100, 150, 1.0, 10
MEASURED, COMPARED = 103, 3  # seeds
FIELDS = ("id", "user", "class", "submit", "duration", "workers", "gpus", "cpus", "memory", "grace", "save",
          "declared_pause")


# The cluster of cluster.py.
MACHINES = """\
[[rack]]
count = 2
[[rack.machine]]
count = 4
gpus = 4
cpus = 16
memory = "64000MiB"
"""


def drawn(seed):
    """Trial jobs of 5 to 20 s, batch jobs of 20 to 90 s: beside that a poll is short."""
    return [job._replace(work=10 * job.work if job.is_trial else 10 * job.work + 10)
            for job in draw(JOBS, seed, SPAN, longest=8, save=SAVE)]


def read_events(yard):
    """{Trainyard's number: [(kind, when)]}."""
    found = {}
    with open_stream(yard.state, "/v1/events", {"Last-Event-ID": "0"}) as stream:
        # The stream goes on for ever: it is read until a job comes that was submitted last.
        marker = yard.submit("--after", "1", "--", "true")
        for line in stream:
            if not line.startswith(b"data: "):
                continue
            event = json.loads(line[6:])
            if event["job"] == marker:
                return found
            found.setdefault(event["job"], []).append((event["kind"], event["at"]))
    return found


def measure(yard, numbers, runs):
    """The delays of this engine, in seconds: {"start": ..., "leave": ...}, and all that they were made of."""
    events, known = read_events(yard), yard.by_name()
    seen, started, ended, left = [], [], [], []
    for name, (_, submitted) in numbers.items():
        of_job = events[known[name]["job"]]
        at = {kind: [when for found, when in of_job if found == kind] for kind, _ in of_job}
        seen.append(at["submitted"][0] - submitted)
        started += [run.begin - order for run, order in zip(runs[name], at["starting"])]
        left += [gone - order - SAVE for order, gone in zip(at.get("pausing", []), at.get("paused", []))]
        ended.append(at["done"][0] - runs[name][-1].end)
    parts = {"submission seen": seen, "order to start": started, "end seen": ended, "asked to left": left}
    for what, values in parts.items():
        if values:
            print(f"  {what:16} {len(values):4}  median {statistics.median(values):.2f} s  "
                  f"p95 {percentile(values, 0.95):.2f} s")
    # A job starts after a submission or an end was seen: that is part of what it takes.
    start = statistics.median(started) + statistics.median(ended + seen)
    return {"start": start, "leave": statistics.median(left) if left else 0}


def simulate(cluster, yard, jobs, numbers, delays, policy):
    """{name: completion time} of the same jobs in the simulator."""
    history = {row["id"]: row for row in csv.DictReader(io.StringIO(yard.http("GET", "/v1/history").body.decode()))}
    numbered, first = yard.by_name(), min(at for _, at in numbers.values())
    trace = cluster.root / "jobs.csv"
    with open(trace, "w", newline="") as file:
        out = csv.DictWriter(file, FIELDS)
        out.writeheader()
        for job in jobs:
            recorded = history[str(numbered[job.name]["job"])]
            out.writerow({**{key: recorded[key] for key in FIELDS if key in recorded},
                          "id": job.name, "submit": f"{numbers[job.name][1] - first:.6f}", "duration": f"{job.work:.6f}",
                          "grace": 0, "save": job.save, "declared_pause": GRACE})
    table, machines = cluster.root / "simulated.csv", cluster.root / "cluster.toml"
    machines.write_text(MACHINES)
    subprocess.run([TRAINYARD, "sim", "--workload", trace, "--cluster", machines, "--policy", policy,
                    "--set", "yard.min_run=0", "--jobs-csv", table,
                    "--delays", f"start={delays['start']:.3f}s,leave={delays['leave']:.3f}s"],
                   check=True, stdout=subprocess.DEVNULL)
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    print(f"  simulated: {sum(int(row['pauses']) for row in rows)} pauses")
    return {row["id"]: float(row["jct_s"]) for row in rows}


@contextlib.contextmanager
def done(policy, seed):
    """(cluster, yard, jobs, numbers, runs), when all jobs have ended."""
    jobs = drawn(seed)
    with steered(policy) as (cluster, yard):
        numbers = submit_all(cluster, jobs, grace=GRACE)
        until_all_end(cluster)
        until_seen(yard)
        runs = read_runs(cluster)
        check_gpus(runs)
        check_all_done(jobs, runs)
        print(f"{policy}: {JOBS} jobs, seed {seed}, {sum(map(len, runs.values())) - JOBS} pauses", flush=True)
        yield cluster, yard, jobs, numbers, runs


def compare(policy):
    """The delays come from a run of other jobs than those that are compared."""
    with done(policy, MEASURED) as (_, yard, _, numbers, runs):
        delays = measure(yard, numbers, runs)
    with done(policy, COMPARED) as (cluster, yard, jobs, numbers, runs):
        simulated = simulate(cluster, yard, jobs, numbers, delays, policy)
    real = {job.name: runs[job.name][-1].end - numbers[job.name][1] for job in jobs}
    errors = [abs(simulated[name] - took) / took for name, took in real.items()]
    print(f"  delays: start {delays['start']:.2f} s, leave {delays['leave']:.2f} s\n"
          f"  mean JCT: real {statistics.mean(real.values()):.1f} s, "
          f"simulated {statistics.mean(simulated.values()):.1f} s\n"
          f"  error of a job's completion time: median {100 * percentile(errors, 0.5):.1f}%, "
          f"p95 {100 * percentile(errors, 0.95):.1f}%, max {100 * max(errors):.1f}%", flush=True)


if __name__ == "__main__":
    for chosen in sys.argv[1:] or ["fifo", "fitgpp"]:
        compare(chosen)
