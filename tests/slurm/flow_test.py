"""Flow classes of Slurm jobs: they reach the agents of both nodes of a job, and follow what the jobs tell of themselves.

The nodes' namespaces and the jobs' control groups are the test's own: slurmd gives a job the same group where its
plugin for cgroup v2 is on, and that one needs systemd.
"""
import contextlib
import pathlib
import subprocess

from cluster import USER
from scene import program, run_tests, wait_until
from scene.net import MBIT, Link, cgroup2
from steered import steered

PROGRESS = "order=fifo backfill=greedy flow=progress"


@contextlib.contextmanager
def agent(yard, node, link, namespace):
    log = yard.root / f"agent.{node}"
    words = [*link.within(namespace), program(), "flow-agent", "--config", "/dev/null", "--interface", "eth0", "--queue",
             f"htb {MBIT}mbit", "--state", yard.state, "--machine", node]
    with open(log, "wb") as out:
        process = subprocess.Popen([str(word) for word in words], stdout=out, stderr=out, start_new_session=True)
    try:
        wait_until(lambda: "connected to the daemon" in log.read_text(), lambda: f"an agent: {log.read_text()}")
        yield
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def control_group(slurm_id):
    """Where slurmstepd would have the job's processes."""
    group = pathlib.Path(cgroup2(), "system.slice/slurmstepd.scope", f"job_{slurm_id}")
    made = [folder for folder in (group, *group.parents) if not folder.exists()]
    group.mkdir(parents=True)
    try:
        yield
    finally:
        for folder in made:
            folder.rmdir()


def test_a_class_follows_the_progress_of_a_job_on_both_of_its_nodes():
    with Link() as link, steered(PROGRESS, nodes=4) as (cluster, yard):
        jobs = [cluster.sbatch("sleep 1000", nodes=2, comment="trainyard: class=batch", user=USER) for _ in range(2)]
        nodes = [cluster.until(job, "RUNNING") and [worker["machine"] for worker in yard.of(job)["placement"]]
                 for job in jobs]
        number = yard.number(jobs[0])

        def tell(job, step, accuracy):
            told = f'told0={{"step":{step},"total":1000,"accuracy":{accuracy}}}'
            cluster.run("scontrol", "update", f"JobId={job}", f"Comment=trainyard: class=batch {told}", user=USER)
            wait_until(lambda: (yard.of(job).get("progress") or {}).get("step") == step, f"step {step} of job {job}")

        def both_mark(flow_class):
            wait_until(lambda: link.marked(link.a) == link.marked(link.b) == {number: flow_class},
                       lambda: f"class {flow_class}: {link.marked(link.a)}, {link.marked(link.b)}")
        with control_group(jobs[0]), agent(yard, nodes[0][0], link, link.a), agent(yard, nodes[0][1], link, link.b):
            for step, (one, other) in enumerate(((.2, .8), (.3, .8), (.4, .8), (.5, .8)), 1):
                tell(jobs[0], 10 * step, one)
                tell(jobs[1], 10 * step, other)
            both_mark(0)
            for step in range(5, 15):
                tell(jobs[0], 10 * step, .5)
            both_mark(3)
            assert "little left to rise" in (said := yard.command("why", number).stdout), said


if __name__ == "__main__":
    run_tests(globals(), limit=600)
