#!/usr/bin/env python3
"""The figures by which the policy of `trainyard serve` was chosen (docs/policies.md), as a Markdown table.

Small machines and a cluster, two loads, users who declare time limits or nothing; means over the seeds, and the
longest wait of all. Takes some minutes: bench/live_default.py [PROGRAM] [SEEDS]
"""
import json
import subprocess
import sys

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "build/trainyard"
SEEDS = sys.argv[2] if len(sys.argv) > 2 else "3"
CLUSTERS = {"1x4xV100": "4 GPUs", "1x8xV100": "8 GPUs", "16x8xV100": "16 x 8 GPUs"}
LOADS = ("0.75", "0.9")
DECLARED = ("limits", "none")
BACKFILLING = "order=trial-first backfill=greedy preempt=fitgpp"
POLICIES = {"fitgpp": "`fitgpp`", BACKFILLING: "`fitgpp`, `backfill=greedy`", "fifo-easy": "`fifo-easy`", "las": "`las`",
            "fitgpp+xion": "`fitgpp+xion`", "live": "`live`", "trainyard": "`trainyard`"}


def outcomes(cluster, load, declared):
    """Of each policy: p95 slowdown of trial jobs, p99 of batch jobs, mean completion time and longest wait in hours."""
    workload = f"philly-like:jobs=3000,load={load},trial=0.5,users=8,pause=helios,declared={declared}"
    command = [PROGRAM, "compare", "--workload", workload, "--cluster", cluster, "--policy", ",".join(POLICIES),
               "--seeds", SEEDS, "--json", "-"]
    comparison = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    for policy in POLICIES:
        mean = comparison["intervals"][policy]
        longest = max(run["wait_s"]["max"] for run in comparison["results"] if run["policy"] == policy)
        yield " / ".join(short(value) for value in (
            mean["by_class.trial.slowdown.p95"]["mean"], mean["by_class.batch.slowdown.p99"]["mean"],
            mean["jct_s.mean"]["mean"] / 3600, longest / 3600))


def short(value):
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"


print("| machine | load | declared | " + " | ".join(POLICIES.values()) + " |")
print("|---" * (3 + len(POLICIES)) + "|")
for cluster, name in CLUSTERS.items():
    for load in LOADS:
        for declared in DECLARED:
            print(f"| {name} | {load} | {declared} | " + " | ".join(outcomes(cluster, load, declared)) + " |", flush=True)
