"""`trainyard slurm setup` with a real Slurm: the script holds what is submitted to the partition, users
cannot get past it, a job that cannot be steered is refused with the reason; other partitions are left
alone. And what the command says of slurm.conf."""
import subprocess

from cluster import PARTITION, USER, Cluster
from scene import TRAINYARD, run_tests

OTHER_PARTITION = "PartitionName=other Nodes=r2n1 Default=NO State=UP"


def setup(*options):
    return subprocess.run([TRAINYARD, "slurm", "setup", "--partition", PARTITION, *map(str, options)],
                          capture_output=True, text=True, check=False)


def steered(**how):
    """A cluster of two nodes with the script; r2n1 is in another partition too."""
    partitions = (f"PartitionName={PARTITION} Nodes=ALL Default=YES State=UP", OTHER_PARTITION)
    return Cluster(nodes=2, lua=setup("--script", "-", "--conf", "/dev/null").stdout, partitions=partitions, **how)


def refusal(cluster, *options, script="true", **how):
    done = cluster.sbatch(script, *options, check=False, **how)
    assert not isinstance(done, int), f"{options} became job {done}"
    return done.stderr


def test_users_cannot_get_past_the_hold():
    with steered() as cluster:
        job = cluster.sbatch("sleep 60", comment="trainyard: class=trial grace=30")
        array = cluster.sbatch("sleep 60", "--array=0-3")
        for word in (["release"], ["hold"], ["uhold"]):
            assert cluster.run("scontrol", *word, job, user=USER, check=False).returncode != 0, word
        assert cluster.run("scontrol", "release", f"{array}_2", user=USER, check=False).returncode != 0
        assert "trainyard: held" in cluster.run("scontrol", "show", "job", job).stdout
        for change in ("Priority=100", "ReqNodeList=r1n1", "Partition=other", "Requeue=0"):
            done = cluster.run("scontrol", "update", f"JobId={job}", change, user=USER, check=False)
            assert "Access/permission denied" in done.stderr, f"{change}: {done}"
        cluster.run("scontrol", "update", f"JobId={job}", "Comment=trainyard: class=batch", user=USER)
        state = cluster.job(job)
        assert (state["Priority"], state["Reason"]) == ("0", "JobHeldUser"), state
        cluster.run("scontrol", "release", job)  # root may
        cluster.until(job, "RUNNING")


def test_what_cannot_be_steered_is_refused():
    with steered() as cluster:
        assert "leave out --hold" in refusal(cluster, "--hold")
        assert "leave out --no-requeue" in refusal(cluster, "--no-requeue")
        assert "leave out --nodelist" in refusal(cluster, "--nodelist=r1n1")
        assert "leave out --nodelist" in refusal(cluster, "--exclude=r1n1")
        assert "name one partition" in refusal(cluster, f"--partition={PARTITION},other")
        assert "the comment has 'clas=trial'" in refusal(cluster, comment="trainyard: clas=trial")
        assert "a class is trial or batch" in refusal(cluster, comment="trainyard: class=large")
        done = cluster.run("sbatch", "--wrap=true", user=USER, check=False)  # to the default partition
        assert "is for jobs with GPUs" in done.stderr, done
        done = cluster.run("salloc", f"--partition={PARTITION}", "--gpus=1", "true", user=USER, check=False)
        assert "takes jobs from sbatch" in done.stderr, done


def test_comments_are_kept_and_learn_the_signal():
    with steered() as cluster:
        def comment(line, text=None):
            job = cluster.sbatch(f"#!/bin/sh\n# a job\n\n{line}\nsleep 60\n#SBATCH --signal=HUP\n", comment=text)
            return cluster.run("squeue", "--noheader", f"--jobs={job}", "--format=%k").stdout.strip()

        assert comment("", "my own words") == "my own words"
        assert comment("#SBATCH --mem=100 --signal=USR1@90") == "trainyard: signal=USR1 grace=90"
        assert (comment("#SBATCH --signal B:USR2@30", "trainyard: class=trial grace=60") ==
                "trainyard: class=trial grace=60 signal=B:USR2")
        assert comment("#SBATCH --signal=USR1", "trainyard: signal=TERM") == "trainyard: signal=TERM"
        assert comment("#SBATCH --signal=USR1", "not for Trainyard") == "not for Trainyard"
        warned = cluster.run("sbatch", "--gpus=1", "--mem=100", "--comment=trainyard: grace=5", user=USER,
                             text="#!/bin/sh\n#SBATCH --signal=USR1@90\ntrue\n")
        assert "--signal asks for 90 s to save, but grace=5" in warned.stderr, warned


def test_other_partitions_are_left_alone():
    with steered() as cluster:
        job = cluster.sbatch("sleep 60", "--partition=other", "--nodelist=r2n1")
        cluster.until(job, "RUNNING")
        waiting = cluster.sbatch("sleep 60", "--partition=other", "--hold")
        done = cluster.run("scontrol", "update", f"JobId={waiting}", f"Partition={PARTITION}", user=USER,
                           check=False)
        assert "Access/permission denied" in done.stderr, done
        cluster.run("scontrol", "release", waiting, user=USER)
        cluster.until(waiting, "RUNNING")


def test_what_is_said_of_a_slurm_conf():
    with steered() as cluster:
        script = cluster.root / "written.lua"
        done = setup("--conf", cluster.conf, "--script", script)
        assert done.returncode == 0, done
        for line in ("good     JobSubmitPlugins=lua", "good     SelectType=select/cons_tres",
                     "missing  DefMemPerGPU=", "harmful  PartitionName=other", "good     TopologyPlugin"):
            assert line in done.stdout, f"no '{line}' in:\n{done.stdout}"
        assert script.read_text().startswith("-- Written by `trainyard slurm setup`")
        assert setup("--conf", cluster.conf, "--script", script).returncode == 0, "its own is written anew"
        script.write_text("function slurm_job_submit() return 0 end\n")
        done = setup("--conf", cluster.conf, "--script", script)
        assert done.returncode == 2 and "is not from this command" in done.stderr, done
        done = setup("--conf", "/nowhere")
        assert done.returncode == 2 and "/nowhere: cannot be read" in done.stderr, done


if __name__ == "__main__":
    run_tests(globals(), limit=300)
