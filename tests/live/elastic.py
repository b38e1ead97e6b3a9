"""Elastic jobs under a policy that deals out sizes: another number of workers at the restart, in all
that a worker's environment tells, and work that goes on where it was; over a kill -9 of the daemon
between the pause and the restart as well. With real jobs.
"""
from examples import EXAMPLES, PYTHON, VARIABLES, needs_torch
from scene import Scene, run_tests, wait_until

# The next round comes a second after the last, so that no test waits for ten minutes.
ROUNDS = ("yard.min_run=0", "joint.round=1s")

# Tells what its environment says of the gang, once a run, and counts in the first of its workers. It
# leaves when it is asked to: at once, or with "held" when there is a file go-on.
COUNTING = """#!/bin/sh
echo "run $TRAINYARD_RUN, restart ${TRAINYARD_RESTART-none} ${SLURM_RESTART_COUNT-none}:" \\
  "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK" \\
  "$SLURM_PROCID/$SLURM_NTASKS $SLURM_LOCALID/$SLURM_NTASKS_PER_NODE $SLURM_STEP_NUM_TASKS" \\
  "$SLURM_GPUS_ON_NODE"
saved=$TRAINYARD_CHECKPOINT_DIR/count
n=0
[ ! -e $saved ] || n=$(cat $saved)
[ $RANK != 0 ] || echo "goes on after $n"
save() {
  [ $RANK != 0 ] || { echo $n >$saved.part && mv $saved.part $saved; }
  touch $name.$RANK.asked
  [ "$1" != held ] || while [ ! -e go-on ]; do sleep 0.02; done
  exit 143
}
name=$1
trap "save $2" TERM
while [ ! -e $name.end ]; do
  [ $RANK != 0 ] || echo "count $((n += 1))"
  sleep 0.05
done
"""


def environment_line(run, rank, world):
    restart = "none none" if run == 1 else f"{run - 1} {run - 1}"
    return (f"run {run}, restart {restart}: {rank}/{world} {rank}/{world} 0 "
            f"{rank}/{world} {rank}/{world} {world} {world}")


def runs_with(scene, job, run, world):
    """Waits for this run of the job and looks at what its workers and the commands tell of its size."""
    def arrived():
        seen = scene.job(job)
        return seen["runs"] == run and seen["state"] == "running"

    wait_until(arrived, lambda: f"run {run} of job {job}: {scene.job(job)}")
    seen = scene.job(job)
    assert (seen["workers"], len(seen["placement"][0]["gpus"])) == (world, world), seen
    for rank in range(world):
        line = environment_line(run, rank, world)
        wait_until(lambda: line in scene.logs(job, "--worker", rank, "--run", run).splitlines(),
                   lambda: f"{line}\nin: {scene.logs(job, '--worker', rank, '--run', run)}")
    least, most = seen["min_workers"], seen["max_workers"]
    shown = scene.command("show", job).stdout
    assert f"{world} worker{'s' if world > 1 else ''} ({least}..{most}) of 1 GPU" in shown, shown
    assert f"running  {world} ({least}..{most})" in scene.command("queue").stdout
    assert f"with {world} of {least}..{most} workers" in scene.command("why", job).stdout


def counted(scene, job, runs):
    """What the first worker counted in these runs: each run from where the one before stopped."""
    numbers = []
    for run in range(1, runs + 1):
        lines = scene.logs(job, "--run", run).splitlines()
        assert f"goes on after {len(numbers)}" in lines, (run, len(numbers), lines)
        numbers += [int(line.split()[1]) for line in lines if line.startswith("count ")]
    assert numbers == list(range(1, len(numbers) + 1)), numbers
    return len(numbers)


def resized_at_its_restart(policy):
    """4 workers, 2 when another comes, and 4 again when that has ended."""
    with Scene(slots=4, settings=ROUNDS, policy=policy) as scene:
        scene.script("counting.sh", COUNTING)
        first = scene.submit("--workers", "2..4", "--gpu-kind", "any", "--time", "10m", "--",
                             "./counting.sh", "first")
        runs_with(scene, first, run=1, world=4)
        second = scene.submit("--workers", 2, "--time", "1m", "--", "./counting.sh", "second")
        runs_with(scene, first, run=2, world=2)
        scene.until(second, "running")
        scene.touch("second.end")
        scene.until(second, "done")
        runs_with(scene, first, run=3, world=4)
        scene.touch("first.end")
        end = scene.until(first, "done")
        assert (end["runs"], end["restarts"], end["pauses"]) == (3, 2, 2), end
        assert counted(scene, first, runs=3) > 0
        scene.until_nothing_is_left()


def test_resized_at_its_restart_in_equal_parts():
    resized_at_its_restart("equal-split")


def test_resized_at_its_restart_by_the_market():
    resized_at_its_restart("market")


def test_the_daemon_is_killed_between_the_pause_and_the_restart():
    """While the workers save, and again when they have left and nobody starts them anew."""
    for leaves_before_restart in (False, True):
        with Scene(slots=4, settings=ROUNDS, policy="equal-split") as scene:
            scene.script("counting.sh", COUNTING)
            first = scene.submit("--workers", "2..4", "--", "./counting.sh", "first", "held")
            runs_with(scene, first, run=1, world=4)
            second = scene.submit("--workers", "2..4", "--", "./counting.sh", "second")
            for rank in range(4):
                wait_until((scene.work / f"first.{rank}.asked").exists, f"worker {rank} to be asked")
            why = scene.command("why", first).stdout
            assert "it runs with 4 of 2..4 workers, and goes on with 2" in why, why
            scene.kill()
            if leaves_before_restart:
                supervisor = scene.supervisor(first)
                scene.touch("go-on")
                wait_until(lambda: not scene.processes("counting.sh"),
                           f"the end of the workers of supervisor {supervisor}")
            scene.start()
            scene.touch("go-on")
            runs_with(scene, first, run=2, world=2)
            runs_with(scene, second, run=1, world=2)
            for name in ("first", "second"):
                scene.touch(f"{name}.end")
            end = scene.until(first, "done")
            assert (end["runs"], end["restarts"], end["pauses"]) == (2, 1, 1), end
            assert counted(scene, first, runs=2) > 0
            scene.until(second, "done")
            scene.until_nothing_is_left()


def test_torch_goes_on_with_another_number_of_workers():
    """The example of examples/live, whose checkpoints any number of workers reads."""
    needs_torch()
    with Scene(slots=3, settings=ROUNDS, policy="equal-split") as scene:
        scene.script("counting.sh", COUNTING)
        job = scene.submit("--workers", "1..3", "--", PYTHON, EXAMPLES / "train.py", "--steps", 400,
                           variables=VARIABLES)

        def step():
            return (scene.job(job)["progress"] or {}).get("step", 0)

        wait_until(lambda: step() >= 1, "progress")
        assert scene.job(job)["workers"] == 3, scene.job(job)
        other = scene.submit("--workers", 2, "--", "./counting.sh", "other")
        wait_until(lambda: scene.job(job)["runs"] == 2, "the next run")
        wait_until(lambda: "goes on after step " in scene.logs(job, "--run", 2), "it to go on")
        assert scene.job(job)["workers"] == 1, scene.job(job)
        scene.touch("other.end")
        scene.until(other, "done")
        end = scene.until(job, "done")
        assert end["runs"] >= 2 and end["progress"]["step"] == 400, end
        assert end["progress"]["accuracy"] > 0.9, end
        scene.until_nothing_is_left()


if __name__ == "__main__":
    run_tests(globals(), limit=300)
