"""`trainyard serve --engine slurm` on a cluster of its own: both start and end with the test."""
import contextlib
import re
import subprocess

from cluster import PARTITION, Cluster
from scene import TRAINYARD, Scene, wait_until

STEERED = ("SchedulerType=sched/builtin", "SchedulerParameters=batch_sched_delay=0", "DefMemPerGPU=100")


def hold_script():
    """What `trainyard slurm setup` writes for the test's partition."""
    return subprocess.run([TRAINYARD, "slurm", "setup", "--partition", PARTITION, "--conf", "/dev/null",
                           "--script", "-"], capture_output=True, text=True, check=True).stdout


class Yard(Scene):
    """The daemon. Its jobs are found by Slurm's numbers."""

    def __init__(self, cluster, policy="fifo", settings=("yard.min_run=0",), options=()):
        super().__init__(slots=None, settings=settings, policy=policy,
                         options=["--engine", "slurm", "--partition", PARTITION, *options])
        self.cluster = cluster

    def command(self, *words, variables=None, **how):
        return super().command(*words, variables={"SLURM_CONF": str(self.cluster.conf), **(variables or {})}, **how)

    def number(self, slurm_id):
        """Trainyard's own of a job that it has taken."""
        return int(wait_until(lambda: self.cluster.job(slurm_id).get("job"),
                              lambda: f"job {slurm_id} to be taken: {self.cluster.job(slurm_id)}"))

    def of(self, slurm_id):
        return self.job(self.number(slurm_id))

    def by_name(self):
        """All jobs, also those that Slurm has forgotten by now: {name: job}."""
        return {job["name"]: job for job in self.http("GET", "/v1/jobs?limit=1000").json()["jobs"]}

    def notes(self):
        """What the engine wants people to know, of all jobs: what Slurm or somebody did behind its back."""
        return re.findall(r"job (\d+) of \S+ has a note from the engine: (.*)", self.said())


@contextlib.contextmanager
def steered(policy="fifo", settings=("yard.min_run=0",), options=(), **how):
    """(cluster, yard)"""
    with Cluster(lua=hold_script(), more=STEERED, **how) as cluster:
        with Yard(cluster, policy, settings, options) as yard:
            yield cluster, yard
