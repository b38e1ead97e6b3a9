"""The examples of examples/live under the daemon, as their README has them; one is paused in the
middle and ends with the weights of a run that was not. Needs Debian's python3-torch.
"""
import pathlib
import subprocess

from scene import PATIENCE, Scene, Skip, TRAINYARD, run_tests, wait_until

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "live"
PYTHON = "/usr/bin/python3"
# Several threads wait for each other busily, and get nowhere while others use the cores.
VARIABLES = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def needs_torch():
    found = subprocess.run([PYTHON, "-c", "import torch"], stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=PATIENCE)
    if found.returncode != 0:
        raise Skip(f"{PYTHON} has no torch (apt install python3-torch)")


def last_line(text):
    """That tells loss, accuracy and the fingerprint of the weights."""
    lines = [line for line in text.splitlines() if line.startswith("finished: ")]
    assert len(lines) == 1, text
    return lines[0]


def without_scheduler(scene, *options):
    done = subprocess.run([PYTHON, EXAMPLES / "train.py", *map(str, options), "--directory",
                           scene.work / "alone"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE,
                          env={"PATH": "/usr/bin:/bin", "HOME": "/", **VARIABLES})
    assert done.returncode == 0, done.stderr
    return last_line(done.stdout)


def test_batch_job_is_paused_by_a_sweep():
    """batch.sh on the whole machine, sweep.sh in the middle of it."""
    needs_torch()
    options = ("--steps", 600, "--width", 16)
    with Scene(slots=1) as scene:
        batch = scene.submit("batch.sh", *options, directory=EXAMPLES, variables=VARIABLES)

        def progress():
            return (scene.answer("show", batch)["progress"] or {}).get("step", 0)

        wait_until(lambda: 1 <= progress() < 500, "progress to be told")
        told = scene.answer("show", batch)["progress"]
        assert told["total"] == 600 and 0 < told["loss"] < 10, told
        sweep = subprocess.run(["./sweep.sh", "0.01", "0.05"], cwd=EXAMPLES, stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, timeout=PATIENCE,
                               env={"PATH": "/usr/bin:/bin", "HOME": "/", "TRAINYARD": TRAINYARD,
                                    "TRAINYARD_STATE": str(scene.state), **VARIABLES})
        assert sweep.returncode == 0, sweep
        trials = {f"lr-{lr}": None for lr in ("0.01", "0.05")}
        for job in scene.answer("queue", "--all")["jobs"]:
            if job["name"] in trials:
                trials[job["name"]] = job["job"]
        for trial in trials.values():
            scene.until(trial, "done")
            assert last_line(scene.logs(trial)).startswith("finished: 400 steps")
        end = scene.until(batch, "done")
        assert (end["runs"], end["pauses"]) == (2, 1), end
        first, second = (scene.logs(batch, "--run", run) for run in (1, 2))
        assert "run 1, started again 0 times" in first and "finished" not in first, first
        assert "run 2, started again 1 times" in second, second
        assert "goes on after step " in second and "what comes next runs once" in second, second
        assert last_line(second) == without_scheduler(scene, *options)
        told = end["progress"]
        assert told["step"] == 600 and told["accuracy"] > 0.9, told
        assert told["save_s"] > 0 and told["load_s"] > 0, told


def test_two_workers():
    """Over gloo; paused by a trial job, with the same end as without."""
    needs_torch()
    with Scene(slots=2) as scene:
        words = ("--name", "pair", "--workers", 2, "--gpus", 1, "--", PYTHON, EXAMPLES / "train.py",
                 "--steps", 250)
        ends = []
        for is_paused in (False, True):
            job = scene.submit(*words, variables=VARIABLES)
            if is_paused:
                wait_until(lambda: ((scene.job(job)["progress"] or {}).get("step") or 0) >= 1, "progress")
                trial = scene.submit("--class", "trial", "--time", "1m", "--", "true")
                scene.until(trial, "done")
            end = scene.until(job, "done")
            assert (end["runs"], end["pauses"]) == ((2, 1) if is_paused else (1, 0)), end
            assert "finished" not in scene.logs(job, "--worker", 1)
            ends.append(last_line(scene.logs(job)))
        assert ends[0] == ends[1], ends
        scene.until_nothing_is_left()


if __name__ == "__main__":
    run_tests(globals(), limit=300)
