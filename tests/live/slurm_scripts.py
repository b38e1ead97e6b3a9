"""Scripts as people bring them from Slurm, under the daemon: what runs once and what srun starts, the
signal before the time limit, saving and asking to be run again; torchrun itself, and stand-ins that
do what Lightning and submitit do.
"""
import json

from examples import EXAMPLES, PYTHON, VARIABLES, last_line, needs_torch
from scene import Scene, run_tests, wait_until

SAVE_AND_REQUEUE = """#!/bin/bash
#SBATCH --job-name=saves --time=1 --signal=B:USR1@52
saved=$TRAINYARD_CHECKPOINT_DIR/saved
echo "run ${SLURM_RESTART_COUNT-first}, saved: $(cat $saved 2>/dev/null)"
[ -z "$SLURM_RESTART_COUNT" ] || exit 0
save() {
  echo "asked to save"
  echo weights >$saved
  scontrol requeue $SLURM_JOB_ID
  exit 0
}
trap save USR1
sleep 600 &
wait
"""

# What Lightning's connector to Slurm does: the tasks are told apart by Slurm's variables; on SIGUSR1
# all save, the first asks to be run again, and the training goes on until it is killed.
LIGHTNING = """#!/usr/bin/python3
import os, signal, subprocess, sys, time
assert "SLURM_NTASKS" in os.environ and os.environ["SLURM_JOB_NAME"] not in ("bash", "interactive")
rank, size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
assert size == 1 or int(os.environ["SLURM_NTASKS_PER_NODE"]) == size
assert (int(os.environ["SLURM_LOCALID"]), int(os.environ["SLURM_NODEID"])) == (rank, 0)
checkpoint = f'{os.environ["TRAINYARD_CHECKPOINT_DIR"]}/{rank}.ckpt'
if os.path.exists(checkpoint):
    print(f"rank {rank} goes on, restart {os.environ['SLURM_RESTART_COUNT']}", flush=True)
    sys.exit(0)
def save(*_):
    open(checkpoint, "w").close()
    if rank == 0:
        subprocess.check_call(["scontrol", "requeue", os.environ["SLURM_JOB_ID"]])
signal.signal(signal.SIGUSR1, save)
signal.signal(signal.SIGTERM, lambda *_: print("ignores SIGTERM", flush=True))
print("trains", flush=True)
while True:
    time.sleep(0.1)
"""

# What submitit's process does: it finds its task in Slurm's variables, exports those of torch, which
# must not be there before; on SIGUSR1 it saves what is left to do, asks to be run again, and exits
# with -1.
SUBMITIT = """import json, os, signal, subprocess, sys, time
assert os.environ["SUBMITIT_EXECUTOR"] == "slurm"
names = ("JOB_ID", "NTASKS", "JOB_NUM_NODES", "NODEID", "JOB_NODELIST", "PROCID", "LOCALID")
found = {name: os.environ["SLURM_" + name] for name in names}
for name in ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
    assert name not in os.environ, name
done = sys.argv[1] + "/pickle." + found["PROCID"]
print(json.dumps(found), flush=True)
if os.path.exists(done):
    sys.exit(0)
def checkpoint(*_):
    open(done, "w").close()
    if found["PROCID"] != "0":
        return  # it goes on until the job ends
    subprocess.check_call(["scontrol", "requeue", found["JOB_ID"]])
    sys.exit(-1)
signal.signal(signal.SIGUSR1, checkpoint)
for number in (signal.SIGTERM, signal.SIGCONT):
    signal.signal(number, lambda *_: print("bypassed", flush=True))
while True:
    time.sleep(0.1)
"""


# Torch 1.13 under Python 3.11 takes its own default, to leave the output as it is, for nothing and
# fails. Of what is said for a process that there is not, the default is that of the others.
AS_IT_IS = "--redirects 9:1 --tee 9:1"
# In place of --standalone, which in that torch takes the same port in every job of a machine.
ANY_PORT = "--rdzv_backend=c10d --rdzv_endpoint=localhost:0"


def trial(scene, gpus):
    return scene.submit("--class", "trial", "--gpus", gpus, "--time", "1m", "--", "true")


def runs(scene, job):
    return [scene.logs(job, "--run", run) for run in range(1, scene.job(job)["runs"] + 1)]


def test_saves_before_the_limit_and_runs_again():
    with Scene() as scene:
        job = scene.submit(scene.script("save.sh", SAVE_AND_REQUEUE))
        end = scene.until(job, "done")
        assert (end["runs"], end["restarts"], end["pauses"], end["reason"]) == (2, 1, 0, ""), end
        assert runs(scene, job) == ["run first, saved: \nasked to save\n", "run 1, saved: weights\n"]
        scene.until_nothing_is_left()


def test_the_script_runs_once_and_srun_starts_the_tasks():
    with Scene(slots=4) as scene:
        scene.script("tasks.sh", "#!/bin/bash -l\n"
                     "#SBATCH --ntasks=2 --gpus-per-task=2\n"
                     'echo "script $SLURM_NTASKS $SLURM_GPUS_ON_NODE $*"\n'
                     "srun --label sh -c 'echo $SLURM_PROCID/$SLURM_NTASKS $RANK/$WORLD_SIZE "
                     "$(echo $CUDA_VISIBLE_DEVICES | tr , \"\\n\" | wc -l)'\n"
                     "srun -n1 sh -c 'exit 3'\n")
        done = scene.command("submit", "--wait", "tasks.sh", "x", "y", check=False)
        assert done.returncode == 3, done
        job = scene.answer("queue", "--all")["jobs"][0]["job"]
        lines = scene.logs(job).splitlines()
        assert lines[0] == "script 2 4 x y", lines
        assert sorted(lines[1:3]) == ["0: 0/2 0/2 2", "1: 1/2 1/2 2"], lines
        assert "task 0: Exited with exit code 3" in lines[3], lines
        # Our own lines say that every worker runs the script.
        scene.script("workers.sh", "#!/bin/bash\n#TRAINYARD --workers=2\necho worker $RANK\n")
        job = scene.submit("workers.sh")
        scene.until(job, "done")
        assert [scene.logs(job, "--worker", rank) for rank in (0, 1)] == ["worker 0\n", "worker 1\n"]


def test_a_script_without_srun_is_told():
    with Scene() as scene:
        scene.script("alone.sh", "#!/bin/bash\n#SBATCH --ntasks=2\npython3 train.py\n")
        told = scene.command("submit", "alone.sh").stderr
        assert "runs once" in told and "srun" in told, told


def test_torchrun():
    """Two processes over gloo; paused by a trial job, with the same end as without."""
    needs_torch()
    with Scene(slots=2) as scene:
        scene.script("torchrun.sh", "#!/bin/bash\n#SBATCH --job-name=pair --gpus=2\n"
                     "trap : TERM\n"
                     f"torchrun {ANY_PORT} --nproc_per_node=$SLURM_GPUS_ON_NODE {AS_IT_IS} "
                     f"{EXAMPLES}/train.py --steps 250\n")
        ends = []
        for is_paused in (False, True):
            job = scene.submit("torchrun.sh", variables=VARIABLES)
            if is_paused:
                wait_until(lambda: ((scene.job(job)["progress"] or {}).get("step") or 0) >= 1, "progress")
                scene.until(trial(scene, 1), "done")
            end = scene.until(job, "done")
            assert (end["runs"], end["pauses"]) == ((2, 1) if is_paused else (1, 0)), end
            ends.append(last_line(scene.logs(job)))
        assert ends[0] == ends[1], ends
        scene.until_nothing_is_left()


def test_lightning_saves_asks_and_goes_on_until_it_is_killed():
    with Scene(slots=2) as scene:
        scene.script("lightning.py", LIGHTNING)
        scene.script("lightning.sh", "#!/bin/bash -l\n"
                     "#SBATCH --ntasks-per-node=2 --nodes=1 --signal=SIGUSR1@90\n#TRAINYARD --grace=1s\n"
                     "srun ./lightning.py\n")
        job = scene.submit("lightning.sh")
        wait_until(lambda: scene.logs(job).count("trains\n") == 2, "both tasks")
        scene.until(trial(scene, 1), "done")
        end = scene.until(job, "done")
        assert (end["runs"], end["restarts"], end["pauses"]) == (2, 1, 1), end
        first, second = runs(scene, job)
        assert first.count("ignores SIGTERM") == 2, first
        assert sorted(second.splitlines()) == [f"rank {rank} goes on, restart 1" for rank in (0, 1)], second


def test_submitit_saves_before_the_limit_and_exits():
    with Scene(slots=2) as scene:
        folder = scene.work / "folder"
        folder.mkdir()
        folder.chmod(0o777)
        scene.script("submission.py", SUBMITIT)
        scene.script("submission.sh", "#!/bin/bash\n\n# Parameters\n"
                     "#SBATCH --job-name=submitit\n#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=2\n"
                     "#SBATCH --signal=USR1@55\n#SBATCH --time=1\n\n# command\n"
                     "export SUBMITIT_EXECUTOR=slurm\n"
                     f"srun --output {folder}/%j_%t_log.out --error {folder}/%j_%t_log.err --unbuffered "
                     f"{PYTHON} -u submission.py {folder}\n")
        job = scene.submit("submission.sh")
        end = scene.until(job, "done")
        assert (end["runs"], end["restarts"], end["pauses"]) == (2, 1, 0), end
        told = (folder / f"{job}_1_log.out").read_text().splitlines()
        assert len([line for line in told if line.startswith("{")]) == 2, f"one for each run: {told}"
        found = json.loads(told[-1])
        assert found["JOB_ID"] == str(job), found
        assert [found[name] for name in ("NTASKS", "PROCID", "LOCALID", "NODEID", "JOB_NUM_NODES")] == \
            ["2", "1", "1", "0", "1"], found
        assert (folder / f"{job}_0_log.err").read_text() == ""


if __name__ == "__main__":
    run_tests(globals(), limit=400)
