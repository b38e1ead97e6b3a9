"""Slurm's own scheduler and Trainyard, one after the other, with the same jobs on the same nodes:

    ./yard slurm beside [POLICY...]

Slurm's own is sched/backfill with a quality of service for trial jobs that pushes batch jobs out of the
way, by requeue, with two seconds to save; its knobs are set for the short times here (bf_interval=1, and
a requeued job may start again after 5 s instead of 120 s)."""
import statistics
import subprocess
import sys

from accounting import OWN_SCHEDULER, AccountedCluster
from jobs import check_all_done, check_gpus, draw, percentile, read_runs, submit_all, until_all_end
from scene import TRAINYARD
from steered import steered

SEED = 20
JOBS, SPAN, LONGEST = 240, 90, 40


def figures(jobs, submitted, runs):
    trials = [job for job in jobs if job.is_trial]
    batch = [job for job in jobs if not job.is_trial]
    waited = {job.name: runs[job.name][0].begin - submitted[job.name][1] for job in jobs}
    took = {job.name: runs[job.name][-1].end - submitted[job.name][1] for job in jobs}
    return {
        "trial p95 wait (s)": percentile([waited[job.name] for job in trials], 0.95),
        "trial mean wait (s)": statistics.mean(waited[job.name] for job in trials),
        "batch mean slowdown": statistics.mean(took[job.name] / job.work for job in batch),
        "mean JCT (s)": statistics.mean(took.values()),
        "makespan (s)": max(run[-1].end for run in runs.values()) - min(at for _, at in submitted.values()),
        "repeated runs": sum(len(run) - 1 for run in runs.values()),
    }


def run_jobs(cluster, jobs, options, repeats=()):
    submitted = submit_all(cluster, jobs, options)
    until_all_end(cluster)
    runs = read_runs(cluster)
    check_gpus(runs)
    check_all_done(jobs, runs, repeats)
    return figures(jobs, submitted, runs)


def slurms_own(jobs):
    with AccountedCluster(more=[OWN_SCHEDULER, "AccountingStoreFlags=job_comment"], credential_expires=5) as cluster:
        found = run_jobs(cluster, jobs, lambda job: (f"--qos={'trial' if job.is_trial else 'batch'}",
                                                     f"--time={int(job.work) // 60 + 2}"),
                         repeats={job.name for job in jobs})  # one that ends as it is pushed out runs once more
        history = cluster.root / "sacct.txt"
        history.write_text(cluster.run(
            "sacct", "--allusers", "--parsable2",
            "--format=JobID,User,Submit,Start,End,Elapsed,State,NNodes,ReqTRES,AllocTRES,Comment").stdout)
        print("what `whatif --sacct` made of that history beforehand:")
        subprocess.run([TRAINYARD, "whatif", "--sacct", history, "--cluster", "8x4xV100", "--policy",
                        ",".join(sys.argv[1:] or ["fifo-easy", "fitgpp"])], check=False)
        return found


def trainyards(jobs, policy):
    with steered(policy) as (cluster, _):
        return run_jobs(cluster, jobs, lambda job: (f"--time={int(job.work) // 60 + 2}",))


def main():
    jobs = draw(JOBS, SEED, SPAN, longest=LONGEST, save=0.5)
    print(f"{JOBS} jobs over {SPAN} s, seed {SEED}: {sum(job.is_trial for job in jobs)} trial jobs, "
          f"load {sum(job.work * job.gpus * job.nodes for job in jobs) / (32 * SPAN):.2f}", flush=True)
    found = {"Slurm's own": slurms_own(jobs)}
    for policy in sys.argv[1:] or ["fitgpp", "trainyard"]:
        found[policy] = trainyards(jobs, policy)
    own = found["Slurm's own"]
    print(f"{'':22}" + "".join(f"{name:>24}" for name in found))
    for figure, value in own.items():
        cells = [f"{other[figure]:.2f} ({other[figure] / value:.2f}x)" if value else f"{other[figure]:.2f}"
                 for other in found.values()]
        print(f"{figure:22}" + "".join(f"{cell:>24}" for cell in cells))


if __name__ == "__main__":
    main()
