"""How soon Trainyard sees what Slurm has, and how soon Slurm has what Trainyard decides:

    ./yard slurm latency

By slurmctld's own log, which has milliseconds, and the daemon's."""
import datetime
import re

from jobs import draw, percentile, submit_all, until_all_end
from many_test import until_seen
from steered import steered

JOBS, SPAN, SEED = 200, 40, 7


def logged(text, pattern):
    """{Slurm's number: when}, of lines that match."""
    found = re.findall(rf"^\[(\S+)\] .*{pattern}", text, re.M)
    return {int(number): datetime.datetime.fromisoformat(at).timestamp() for at, number in found}


def started_within(said, since):
    """Seconds until Slurm had the order to start a job, by the daemon's log."""
    found = re.findall(rf"Slurm has the start of its job \S+ ([\d.]+) ms after {since}", said)
    return [float(ms) / 1000 for ms in found]


def show(what, values):
    if not values:
        return
    print(f"{what:44} {len(values):5} {1000 * percentile(values, 0.5):8.1f} {1000 * percentile(values, 0.99):8.1f} "
          f"{1000 * max(values):8.1f}")


def main():
    jobs = draw(JOBS, SEED, SPAN, longest=5)
    with steered("fitgpp", options=["--log-level", "debug"]) as (cluster, yard):
        numbers = submit_all(cluster, jobs)
        until_all_end(cluster)
        until_seen(yard)
        submitted = logged(cluster.said(), r"_slurm_rpc_submit_batch_job: JobId=(\d+) ")
        ended = logged(cluster.said(), r"_job_complete: JobId=(\d+) done")
        known = yard.by_name()
        seen = {number: known[name] for name, (number, _) in numbers.items()}
        ordered = started_within(yard.said(), "it was ordered")
        again = started_within(yard.said(), "it might start again")
    print(f"{'milliseconds':44} {'':5} {'p50':>8} {'p99':>8} {'max':>8}")
    show("a submission, until Trainyard has seen it", [job["submitted"] - submitted[n] for n, job in seen.items()])
    show("an end, until Trainyard has seen it", [job["ended"] - ended[n] for n, job in seen.items()])
    show("a decision to start, until Slurm has it", ordered)
    show("the same, 2 s after the job was paused", again)


if __name__ == "__main__":
    main()
