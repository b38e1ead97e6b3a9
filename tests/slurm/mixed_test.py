"""Nodes that differ in one partition: a job gets those that have what it asks for, and of each the share
that goes with its GPUs."""
import pwd

from cluster import USER
from scene import run_tests, wait_until
from steered import steered

# r1n1: 4 GPUs, 16 CPUs, v100. r2n1: 2 GPUs, 64 CPUs, a100 and ib.
MIXED = {"nodes": 2, "special": {"r2n1": {"gpus": 2, "cpus": 64, "memory": 32000, "features": "a100,ib"}}}
FOREVER = "while :; do sleep 0.1; done"
TELL = "echo $SLURMD_NODENAME $SLURM_CPUS_ON_NODE > {}; " + FOREVER


def submit(yard, cluster, name, *options):
    """Runs until it is cancelled; [its node, its CPUs]."""
    ran = cluster.work / name
    job = yard.submit("--name", name, *options, "--", "sh", "-c", TELL.format(ran), uid=pwd.getpwnam(USER).pw_uid)
    wait_until(lambda: ran.exists() and ran.read_text().strip(), lambda: f"{name} to run: {yard.job(job)}")
    return job, ran.read_text().split()


def test_jobs_of_trainyard_submit_go_where_they_may():
    with steered(**MIXED) as (cluster, yard):
        assert submit(yard, cluster, "plain")[1] == ["r1n1", "4"], "the first node, and its share"
        fast, where = submit(yard, cluster, "fast", "--constraint", "ib")
        assert where == ["r2n1", "32"], f"the node with ib, and its share: {where}"
        refused = yard.command("submit", "--constraint", "nvlink", "--", "true", check=False)
        assert "none has that: r1n1 has v100; r2n1 has a100, ib" in refused.stderr, refused.stderr
        yard.command("cancel", fast)
        yard.until(fast, "cancelled")
        whole, where = submit(yard, cluster, "whole", "--exclusive")
        assert where == ["r2n1", "64"], f"the node that is free, all of it: {where}"
        yard.until(whole, "running")


def test_jobs_of_sbatch_go_where_they_may():
    with steered(**MIXED) as (cluster, yard):
        fast = cluster.sbatch(FOREVER, "--constraint=ib&a100")
        assert cluster.until(fast, "RUNNING")["NodeList"] == "r2n1", cluster.job(fast)
        whole = cluster.sbatch(FOREVER, "--exclusive")
        assert cluster.until(whole, "RUNNING")["NodeList"] == "r1n1", cluster.job(whole)
        next_whole = cluster.sbatch(FOREVER, "--exclusive")
        yard.number(next_whole)
        cluster.run("scancel", fast, user=USER)
        shown = cluster.until(next_whole, "RUNNING")
        assert (shown["NodeList"], shown["NumCPUs"]) == ("r2n1", "64"), shown


def test_a_node_gains_a_feature():
    with steered(**MIXED) as (cluster, yard):
        first = cluster.sbatch(FOREVER, "--constraint=ib", gpus=2)
        cluster.until(first, "RUNNING")
        second = cluster.sbatch(FOREVER, "--constraint=ib")
        waiting = yard.number(second)
        why = yard.command("why", waiting).stdout
        assert "on machines with 'ib'" in why, why
        cluster.run("scontrol", "update", "NodeName=r1n1", "AvailableFeatures=v100,ib", "ActiveFeatures=v100,ib")
        assert cluster.until(second, "RUNNING")["NodeList"] == "r1n1", cluster.job(second)
        assert cluster.job(first)["JobState"] == "RUNNING", "what runs stays"


if __name__ == "__main__":
    run_tests(globals(), limit=300)
