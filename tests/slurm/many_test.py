"""200 jobs of real processes under several policies, with daemons killed in the middle: none is lost, none is
started twice by us, every GPU is given once."""
import concurrent.futures
import contextlib
import random
import re
import sys
import time

from jobs import check_all_done, check_gpus, draw, read_runs, repeated, submit_all, until_all_end
from scene import run_tests, wait_until
from steered import steered

JOBS, SPAN = 200, 15
SAVE_INTERVAL = 5  # of slurmctld
SEED = time.time_ns() % 1_000_000


def until_seen(yard):
    """All ends have come to Trainyard too."""
    def nothing_is_left():
        return not yard.http("GET", "/v1/jobs?state=held,queued,reserved,starting,running,draining&limit=1").json()["jobs"]

    wait_until(nothing_is_left, lambda: yard.command("queue").stdout)


def check(cluster, yard, jobs):
    """What Slurm itself repeats, because slurmctld has forgotten it, is noticed, and recorded with the job."""
    runs, known = read_runs(cluster), yard.by_name()
    noted = {int(number) for number, _ in yard.notes()}
    for earlier, later in repeated(runs):
        assert known[later.job]["job"] in noted, f"Slurm ran {earlier} again as {later}, and nobody noticed"
    check_gpus(runs)
    check_all_done(jobs, runs, {later.job for _, later in repeated(runs)})
    undone = [job for name, job in known.items() if name in runs and job["state"] != "done"]
    assert not undone, undone
    print(f"{len(repeated(runs))} runs were repeated by Slurm", flush=True)
    return runs


def story(cluster, yard, name, job):
    """All that is known of one job: what it wrote, what Slurm shows, and what both daemons said of it."""
    slurm_id = job["born_as"].split("@")[0].removeprefix("slurm-")
    lines = [line for line in yard.said().splitlines() if re.search(rf"\bjob {job['job']}\b", line)]
    lines += [line for line in cluster.said().splitlines() if re.search(rf"JobId={slurm_id}\b", line)]
    wrote = [path.read_text() for path in sorted(cluster.work.glob(f"*.{name}"))]
    shown = cluster.run("scontrol", "--oneliner", "--details", "show", "job", slurm_id, check=False)
    return "\n".join([f"--- {name}: {job}", *wrote, shown.stdout or shown.stderr, *lines[-60:]])


@contextlib.contextmanager
def stories_of_stuck_jobs(cluster, yard, at_most=3):
    """A failure tells of the jobs that have not ended, or not as they should."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError, AssertionError, ValueError, KeyError):
            runs = read_runs(cluster)
            stuck = [(name, job) for name, job in yard.by_name().items() if job["state"] != "done" or
                     name.startswith("j") and [run.last_word for run in runs.get(name, [])].count("end") != 1]
            print(f"--- {len(stuck)} jobs are stuck", file=sys.stderr)
            for name, job in stuck[:at_most]:
                print(story(cluster, yard, name, job), file=sys.stderr)
        raise


def run_200(policy, disturb, finish=lambda cluster, yard: None, meanwhile=lambda cluster, yard: None):
    """`disturb`: what happens when half of the jobs are there, and `meanwhile` until then; `finish`: when all are."""
    print(f"{policy}: seed {SEED}", flush=True)
    with steered(policy) as (cluster, yard), stories_of_stuck_jobs(cluster, yard):
        jobs = draw(JOBS, SEED, SPAN, longest=3)
        half = len(jobs) // 2
        with concurrent.futures.ThreadPoolExecutor(1) as beside:
            coming = beside.submit(submit_all, cluster, jobs[:half])
            meanwhile(cluster, yard)
            coming.result()
        disturb(cluster, yard)
        submit_all(cluster, [job._replace(submit=job.submit - jobs[half].submit) for job in jobs[half:]])
        finish(cluster, yard)
        until_all_end(cluster, limit=400)
        until_seen(yard)
        runs = check(cluster, yard, jobs)
        print(f"{policy}: {sum(map(len, runs.values()))} runs", flush=True)
        return runs


def test_fifo_and_what_slurm_takes_a_minute_for():
    """The shortest time limit; and a dependency of a held job, which Slurm looks at once a minute."""
    others = {}

    def disturb(cluster, _):
        others["limited"] = cluster.sbatch("sleep 1000", "--time=1")
        others["first"] = cluster.sbatch("true")
        others["after"] = cluster.sbatch("true", f"--dependency=afterok:{others['first']}")
        others["never"] = cluster.sbatch("true", f"--dependency=afternotok:{others['first']}")

    def finish(cluster, yard):
        cluster.until(others["after"], "COMPLETED")
        cluster.until(others["limited"], "TIMEOUT")
        assert "time" in yard.until(yard.number(others["limited"]), "failed")["reason"].lower()
        assert cluster.job(others["never"])["JobState"] == "PENDING", cluster.job(others["never"])
        cluster.run("scancel", others["never"])

    runs = run_200("fifo", disturb, finish)
    assert all(len(of_job) == 1 for of_job in runs.values()), "fifo pauses nothing"


def test_fitgpp_and_trainyard_is_killed():
    def away(yard):
        yard.kill()
        time.sleep(1)
        yard.start()

    def at_any_time(_, yard):
        for pause in (0.3, 2, 0.1):
            time.sleep(pause)
            away(yard)

    def while_jobs_leave(cluster, yard):
        """Those that have begun hear the signal, and mostly have left when the daemon is back."""
        def one_leaves():
            leaving = [job["name"] for job in yard.http("GET", "/v1/jobs?state=draining").json()["jobs"]]
            runs = read_runs(cluster)
            return any(name in runs and runs[name][-1].last_word == "" for name in leaving)

        for _ in range(2):
            with contextlib.suppress(AssertionError):
                wait_until(one_leaves, "a job to leave", limit=10)
            away(yard)

    run_200("fitgpp", at_any_time, meanwhile=while_jobs_leave)


def test_xion_and_slurmctld_is_killed():
    def disturb(cluster, _):
        cluster.until_saved(f"j{JOBS // 2 - 1}")  # jobs that slurmctld has not saved are lost with it
        time.sleep(random.Random(SEED).uniform(0, SAVE_INTERVAL))  # what has begun since is forgotten
        cluster.kill("slurmctld")
        time.sleep(1)
        cluster.start("slurmctld")
        cluster.until_controller_answers()

    run_200("xion", disturb)


def test_dally_and_a_slurmd_is_killed():
    def disturb(cluster, _):
        cluster.kill("r1n1")
        time.sleep(2)
        cluster.start("r1n1")

    run_200("dally", disturb)


if __name__ == "__main__":
    run_tests(globals(), limit=900)
