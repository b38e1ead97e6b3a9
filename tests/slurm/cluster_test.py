"""The cluster that the other tests stand on: what slurm.conf says of it is there, jobs run on it, and its
daemons can be killed and come back."""
import os

from cluster import OTHER_USER, USER, Cluster, descendants
from scene import run_tests, wait_until


def test_jobs_of_several_users_get_gpus_of_their_own():
    with Cluster() as cluster:
        tell = f'echo $(id -un) $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES >> {cluster.work}/$(id -un); sleep 0.5'
        jobs = [cluster.sbatch(f"srun sh -c '{tell}'", gpus=4, nodes=2),
                cluster.sbatch(tell, "--constraint=a100", gpus=2, user=OTHER_USER),
                cluster.sbatch(tell, "--constraint=a100", gpus=2, user=OTHER_USER)]
        for job in jobs:
            cluster.until(job, "COMPLETED")
        whole_nodes = (cluster.work / USER).read_text().split()
        assert sorted(whole_nodes[2::3]) == ["0,1,2,3"] * 2, whole_nodes
        halves = (cluster.work / OTHER_USER).read_text().split()
        assert sorted(halves[2::3]) == ["0,1", "2,3"] and halves[1::3] == ["r2n1"] * 2, halves
        switches = cluster.run("scontrol", "show", "topology").stdout
        assert "SwitchName=rack2 Level=0" in switches, switches
    assert not descendants(os.getpid()), "processes are left"
    assert not cluster.root.exists()


def test_daemons_are_killed_and_come_back():
    with Cluster(nodes=2) as cluster:
        begun, done = cluster.work / "begun", cluster.work / "done"
        job = cluster.sbatch(f"touch {begun}; while [ ! -e {cluster.work}/end ]; do sleep 0.1; done; touch {done}",
                             "--nodelist=r1n1")
        wait_until(begun.exists, "the job to begin")  # slurmctld calls it running before it does
        cluster.kill("slurmctld")
        cluster.kill("r1n1")
        (cluster.work / "end").touch()
        wait_until(done.exists, "the job to end without the daemons")
        cluster.start("slurmctld")
        cluster.start("r1n1")
        cluster.until(job, "COMPLETED")
        cluster.until_nodes("idle", *cluster.names)


if __name__ == "__main__":
    run_tests(globals(), limit=300)
