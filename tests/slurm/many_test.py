"""200 jobs of real processes under several policies, with daemons killed in the middle: none is lost, none is
started twice by us, every GPU is given once."""
import time

from jobs import check_all_done, check_gpus, draw, read_runs, repeated, submit_all, until_all_end
from scene import run_tests, wait_until
from steered import steered

JOBS, SPAN = 200, 15
SAVE_INTERVAL = 5  # of slurmctld: what is younger is lost with it
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


def run_200(policy, disturb, finish=lambda cluster, yard: None):
    """`disturb`: what happens when half of the jobs are there; `finish`: when all are."""
    print(f"{policy}: seed {SEED}", flush=True)
    with steered(policy) as (cluster, yard):
        jobs = draw(JOBS, SEED, SPAN, longest=3)
        half = len(jobs) // 2
        submit_all(cluster, jobs[:half])
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
    def disturb(_, yard):
        for pause in (0.3, 2, 0.1):
            time.sleep(pause)
            yard.kill()
            time.sleep(1)
            yard.start()

    run_200("fitgpp", disturb)


def test_xion_and_slurmctld_is_killed():
    def disturb(cluster, _):
        time.sleep(SAVE_INTERVAL + 1)
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
