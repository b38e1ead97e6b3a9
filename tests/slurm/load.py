"""A large queue on a large cluster:

    ./yard slurm load [NODES [JOBS]]      # 1000 and 10000, as far as this machine's memory goes

Every node is a real slurmd; jobs are gangs on a hundredth of the nodes, so that about a hundred run at a
time. Measured for a minute once all jobs are queued."""
import concurrent.futures
import os
import pathlib
import re
import sys
import time

from latency import logged, show, started_within
from scene import wait_until
from steered import steered

NODES, JOBS = (int(word) for word in (sys.argv[1:] + ["1000", "10000"][len(sys.argv) - 1:])[:2])
WATCHED = 60  # seconds


def used(pid):
    """CPU seconds and resident MiB of a process."""
    ticks = sum(map(int, pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def taken(yard):
    """How many jobs Trainyard has, by its metrics."""
    found = re.search(r'^trainyard_jobs_total\{what="submitted"\} (\d+)', yard.http("GET", "/metrics").body.decode(), re.M)
    return int(found.group(1)) if found else 0


def main():
    begin = time.time()
    with steered("fifo-easy", nodes=NODES, racks=max(2, NODES // 40), options=["--log-level", "debug"]) as (cluster, yard):
        print(f"{NODES} nodes are up after {time.time() - begin:.0f} s", flush=True)
        submitting = time.time()

        def submit(_):
            return cluster.sbatch("sleep 5", gpus=4, nodes=NODES // 100, comment="trainyard: class=batch time=5s")

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            numbers = set(pool.map(submit, range(JOBS)))
        print(f"{JOBS} jobs are submitted after {time.time() - submitting:.0f} s", flush=True)
        wait_until(lambda: taken(yard) >= JOBS, lambda: f"{taken(yard)} of {JOBS} jobs are taken", 300)
        print(f"Trainyard has them all after {time.time() - submitting:.0f} s", flush=True)
        already, (cpu_before, _) = len(yard.said()), used(yard.daemon.pid)
        since = time.time()
        time.sleep(WATCHED)
        cpu, memory = used(yard.daemon.pid)
        said = yard.said()[already:]
        done = {int(job["born_as"].split("@")[0].removeprefix("slurm-")): job["ended"] for job in
                yard.http("GET", "/v1/jobs?state=done&limit=1000").json()["jobs"]}
        ended = {number: at for number, at in logged(cluster.said(), r"_job_complete: JobId=(\d+) done").items()
                 if at > since and number in numbers and number in done}
    ordered = started_within(said, "it was ordered")
    print(f"in {WATCHED} s: {len(ended)} jobs ended; Trainyard used {(cpu - cpu_before) / WATCHED:.2f} of a core, "
          f"{memory:.0f} MiB")
    print(f"{'milliseconds':44} {'':5} {'p50':>8} {'p99':>8} {'max':>8}")
    show("an end, until Trainyard has seen it", [done[number] - at for number, at in ended.items()])
    show("a decision to start, until Slurm has it", ordered)


if __name__ == "__main__":
    main()
