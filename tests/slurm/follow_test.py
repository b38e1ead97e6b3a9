"""`trainyard serve --engine slurm`, a behaviour at a time: what it starts, pauses and starts again, and how
it follows what Slurm and its users do."""
import pwd
import re
import shutil

from cluster import OTHER_USER, PARTITION, USER, Cluster
from scene import run_tests, wait_until
from steered import Yard, steered

FOREVER = "while :; do sleep 0.1; done"


def uid(user):
    return pwd.getpwnam(user).pw_uid


def test_the_cluster_comes_from_slurm():
    with steered(nodes=4) as (cluster, yard):
        view = yard.http("GET", "/v1/cluster").json()
        found = {machine["name"]: (machine["kind"], machine["capacity"]["gpus"], machine["state"])
                 for machine in view["machines"]}
        assert found == {"r1n1": ("v100", 4, "up"), "r1n2": ("v100", 4, "up"),
                         "r2n1": ("a100", 4, "up"), "r2n2": ("a100", 4, "up")}, found
        job = cluster.sbatch(FOREVER, "--constraint=a100")
        assert cluster.until(job, "RUNNING")["NodeList"].startswith("r2"), cluster.job(job)
        cluster.run("scontrol", "update", "NodeName=r1n1", "State=DRAIN", "Reason=cleaning")
        wait_until(lambda: "cleaning" in yard.command("nodes").stdout, "the drain to be seen")


def test_pauses_and_starts_again():
    """A gang on all nodes gives way to a trial job, and goes on where it was."""
    with steered("fitgpp", nodes=2) as (cluster, yard):
        gang = cluster.sbatch(UNTIL_ASKED, gpus=4, nodes=2, comment="trainyard: grace=100")
        wait_until(lambda: read(cluster) == ["start"], "the gang to start")
        trial = cluster.sbatch("true", gpus=2, user=USER, comment="trainyard: class=trial")
        wait_until(lambda: read(cluster) == ["start", "asked"], "it to be asked to leave")
        assert cluster.job(trial)["JobState"] == "PENDING", "its GPUs are in use"
        (cluster.work / "may_leave").touch()
        cluster.until(trial, "COMPLETED")
        assert cluster.until(gang, "COMPLETED")["Restarts"] == "1", cluster.job(gang)
        assert read(cluster) == ["start", "asked", "stop", "start", "end"], read(cluster)
        end = yard.until(yard.number(gang), "done")
        assert (end["runs"], end["pauses"]) == (2, 1), end


# Its first run works until it is asked to leave, and leaves when it may; its second run ends.
UNTIL_ASKED = """\
leave() { echo asked >>words; while [ ! -e may_leave ]; do sleep 0.1; done; echo stop >>words; exit 0; }
trap leave TERM
echo start >>words
[ -n "$SLURM_RESTART_COUNT" ] || while :; do sleep 0.1; done
echo end >>words
"""


def read(cluster):
    words = cluster.work / "words"
    return words.read_text().split() if words.exists() else []


def test_jobs_of_trainyard_submit():
    """They run in Slurm, as their user."""
    with steered(nodes=2) as (cluster, yard):
        job = yard.submit("--gpus", 2, "--name", "mine", "--", "sh", "-c",
                          f"echo $(id -un) $CUDA_VISIBLE_DEVICES $SLURM_JOB_ID > {cluster.work}/ran", uid=uid(OTHER_USER))
        yard.until(job, "done")
        user, gpus, number = (cluster.work / "ran").read_text().split()
        assert (user, len(gpus.split(","))) == (OTHER_USER, 2), (user, gpus)
        assert cluster.job(number)["UserId"].startswith(OTHER_USER), cluster.job(number)
        failing = yard.submit("--", "sh", "-c", "exit 3", uid=uid(OTHER_USER))
        assert yard.until(failing, "failed")["exit_status"] == 3, yard.job(failing)


def test_ends_are_slurms_own():
    with steered(nodes=2) as (cluster, yard):
        small = cluster.sbatch(FOREVER)
        failing = cluster.sbatch("exit 7")
        yard.until(yard.number(small), "running")
        assert yard.until(yard.number(failing), "failed")["exit_status"] == 7, yard.of(failing)
        whole = [cluster.sbatch(FOREVER, gpus=4) for _ in range(3)]  # one runs, two wait
        running = wait_until(lambda: [job for job in whole if cluster.job(job)["JobState"] == "RUNNING"],
                             "one of them to run")[0]
        first, second = (job for job in whole if job != running)
        cluster.run("scancel", running, user=USER)
        yard.until(yard.number(running), "cancelled")
        cluster.until(first, "RUNNING")
        cluster.run("scancel", second, user=USER)
        yard.until(yard.number(second), "cancelled")
        yard.command("cancel", yard.number(first), uid=uid(USER))
        cluster.until(first, "CANCELLED")
        waiting = cluster.sbatch(FOREVER, gpus=4, nodes=2)
        yard.command("cancel", yard.number(waiting), uid=uid(USER))
        cluster.until(waiting, "CANCELLED")
        assert cluster.job(small)["JobState"] == "RUNNING", cluster.job(small)


def test_arrays():
    with steered(nodes=2) as (cluster, yard):
        array = cluster.sbatch(f"echo start >> {cluster.work}/tasks; sleep 0.5; echo $SLURM_ARRAY_TASK_ID >> {cluster.work}/tasks",
                               "--array=0-4%2")
        wait_until(lambda: not cluster.run("squeue", "--noheader").stdout, "the tasks to end")
        words = (cluster.work / "tasks").read_text().split()
        assert sorted(word for word in words if word != "start") == list("01234"), words
        running = 0
        for word in words:
            running += 1 if word == "start" else -1
            assert running <= 2, words
        wait_until(lambda: yard.of(array)["state"] == "done", "the last task's end to be seen")


def test_what_happens_behind_its_back():
    with steered(nodes=2) as (cluster, yard):
        full = [cluster.sbatch(FOREVER, gpus=4) for _ in range(2)]
        for job in full:
            cluster.until(job, "RUNNING")
        waiting = cluster.sbatch(FOREVER, gpus=4)
        yard.until(yard.number(waiting), "queued")
        cluster.run("scontrol", "requeue", full[0])  # by the user's script, as Lightning does
        wait_until(lambda: cluster.job(full[0])["Restarts"] == "1", "the requeue")
        cluster.run("scancel", full[1])
        for job in (full[0], waiting):
            cluster.until(job, "RUNNING")
        end = yard.of(full[0])
        assert end["restarts"] == 1, end
        wait_until(lambda: yard.of(waiting)["state"] == "running", "both to be seen")


def test_jobs_that_requeue_themselves():
    """As Lightning and submitit do; slurmd refuses those that come back within the second."""
    with steered(nodes=2) as (cluster, yard):
        script = "[ -n \"$SLURM_RESTART_COUNT\" ] || { scontrol requeue $SLURM_JOB_ID; sleep 30; }"
        jobs = [cluster.sbatch(script) for _ in range(8)]
        for job in jobs:
            assert cluster.until(job, "COMPLETED", "FAILED")["JobState"] == "COMPLETED", cluster.job(job)
            assert yard.until(yard.number(job), "done")["restarts"] == 1, yard.of(job)


def test_a_node_that_stays_down():
    """Slurm takes the job from it, and it runs elsewhere."""
    with steered(nodes=2, node_timeout=10) as (cluster, yard):
        job = cluster.sbatch(FOREVER, gpus=4)
        node = cluster.until(job, "RUNNING")["NodeList"]
        yard.until(yard.number(job), "running")
        cluster.kill(node)
        wait_until(lambda: yard.of(job)["restarts"] >= 1, lambda: f"it to be run again: {cluster.job(job)}")
        assert cluster.until(job, "RUNNING")["NodeList"] != node, cluster.job(job)
        states = {machine["name"]: machine["state"] for machine in yard.http("GET", "/v1/cluster").json()["machines"]}
        assert states[node] == "down", states


def test_slurmctld_away():
    """It waits, changes nothing, and goes on where it was."""
    with steered(nodes=2) as (cluster, yard):
        running = cluster.sbatch(f"while [ ! -e {cluster.work}/end ]; do sleep 0.1; done", gpus=4)
        cluster.until(running, "RUNNING")
        waiting = [cluster.sbatch("true", gpus=4) for _ in range(3)]
        yard.until(yard.number(running), "running")
        cluster.stop("slurmctld")
        own = yard.submit("--gpus", 2, "--", "true", uid=uid(USER))
        (cluster.work / "end").touch()
        wait_until(lambda: re.search("slurmctld|Slurm does not", yard.said()), "it to notice")
        assert yard.job(own)["state"] in ("queued", "starting"), yard.job(own)
        cluster.start("slurmctld")
        for job in (running, *waiting):
            cluster.until(job, "COMPLETED")
        yard.until(own, "done")


def test_trainyard_away_and_the_way_back():
    with steered(nodes=2) as (cluster, yard):
        running = cluster.sbatch(f"while [ ! -e {cluster.work}/end ]; do sleep 0.1; done", gpus=4)
        cluster.until(running, "RUNNING")
        yard.until(yard.number(running), "running")
        filling = cluster.sbatch(FOREVER, gpus=4)
        cluster.until(filling, "RUNNING")
        waiting = cluster.sbatch("true", gpus=4)
        yard.until(yard.number(waiting), "queued")
        refused = yard.command("slurm", "release", "--partition", PARTITION, check=False)
        assert refused.returncode == 2 and "End the daemon first" in refused.stderr, refused
        yard.kill()
        (cluster.work / "end").touch()
        cluster.until(running, "COMPLETED")
        assert cluster.job(waiting)["Priority"] == "0", cluster.job(waiting)
        yard.command("slurm", "release", "--partition", PARTITION)
        cluster.until(waiting, "COMPLETED")
        assert cluster.job(filling)["JobState"] == "RUNNING", cluster.job(filling)


def test_trainyard_away_while_a_job_leaves():
    """It ends with 0 while nobody looks: it was asked to leave, so that was a pause, and not its end."""
    with steered("fitgpp", nodes=2) as (cluster, yard):
        gang = cluster.sbatch(UNTIL_ASKED, gpus=4, nodes=2, comment="trainyard: grace=100")
        wait_until(lambda: read(cluster) == ["start"], "the gang to start")
        trial = cluster.sbatch("true", gpus=2, comment="trainyard: class=trial")
        wait_until(lambda: read(cluster) == ["start", "asked"], "it to be asked to leave")
        yard.kill()
        (cluster.work / "may_leave").touch()
        cluster.until(gang, "COMPLETED")
        yard.start()
        cluster.until(trial, "COMPLETED")
        wait_until(lambda: read(cluster) == ["start", "asked", "stop", "start", "end"],
                   lambda: f"its second run: {read(cluster)}")
        end = yard.until(yard.number(gang), "done")
        assert (end["runs"], end["pauses"]) == (2, 1), end


def test_a_job_tells_its_progress():
    """Through its comment: the first of its processes, as any user, also in its second run."""
    with steered(nodes=2) as (cluster, yard):
        shutil.copytree("python/trainyard", cluster.work / "trainyard", ignore=shutil.ignore_patterns("__pycache__"))
        (cluster.work / "train.py").write_text(TRAIN)
        job = cluster.sbatch("exec srun /usr/bin/python3 -B train.py", "--ntasks-per-node=1", nodes=2,
                             comment="trainyard: class=trial")

        def told():
            return yard.of(job).get("progress") or {}
        wait_until(lambda: told().get("step") == 1, lambda: f"its first step: {yard.of(job)}")
        assert (told()["total"], told()["accuracy"]) == (40, 0.5), told()
        cluster.run("scontrol", "requeue", job)
        wait_until(lambda: told().get("step") == 11, lambda: f"the first step of its second run: {yard.of(job)}")
        (cluster.work / "leave").touch()
        end = yard.until(yard.number(job), "done")
        assert end["runs"] == 2 and end["class"] == "trial", end


TRAIN = """
import os, time, trainyard
step = 11 if os.environ.get("SLURM_RESTART_COUNT") else 1
trainyard.progress(step, 40, accuracy=step / 2 if step == 1 else 0.9)
while not os.path.exists("leave"): time.sleep(0.1)
"""


def test_a_dry_run_touches_nothing():
    """On a cluster that knows nothing of Trainyard."""
    with Cluster(nodes=2, more=["DefMemPerGPU=100"]) as cluster:
        with Yard(cluster, "fitgpp", options=["--dry-run"]) as yard:
            jobs = [cluster.sbatch("sleep 2", gpus=4) for _ in range(4)]
            held = cluster.sbatch("true", "--hold")
            for job in jobs:
                cluster.until(job, "COMPLETED")
            touched = [job for job in (*jobs, held) if "AdminComment" in cluster.job(job)]
            assert not touched, touched
            assert cluster.job(held)["Reason"] == "JobHeldUser", cluster.job(held)
            assert "update_job" not in cluster.said() and "requeue" not in cluster.said().lower(), cluster.said()
            wait_until(lambda: "start" in yard.said(), "a decision to be logged")


if __name__ == "__main__":
    run_tests(globals(), limit=600)
