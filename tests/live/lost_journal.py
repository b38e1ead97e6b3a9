"""A journal that is lost, shortened or replaced by an older copy: it is said, what still runs keeps
its GPUs, and no number of a job is given a second time, nor its checkpoint directory."""
import shutil

from scene import Scene, run_tests, wait_until

SAID = "THE JOURNAL HAS LOST A PART"


def journal(scene):
    return [scene.state / f"journal.db{end}" for end in ("", "-wal", "-shm")]


def copy_journal(scene, to):
    to.mkdir()
    for path in journal(scene):
        if path.exists():
            shutil.copy(path, to)


def replace_journal(scene, copy=None):
    for path in journal(scene):
        path.unlink(missing_ok=True)
    for path in copy.iterdir() if copy else ():
        shutil.copy(path, scene.state)


def held_gpus(scene):
    machine = scene.http("GET", "/v1/cluster").json()["machines"][0]
    return [job for job in machine["by_gpu"] if job]


def test_lost():
    with Scene(slots=3) as scene:
        old = scene.submit("--gpus", 2, "--name", "precious", "--", "sleep", 600)
        scene.until(old, "running")
        mark = scene.checkpoints(old) / "weights"
        mark.write_text("old")
        for _ in range(5):
            scene.submit("--gpus", 3, "--", "true")
        scene.kill()
        replace_journal(scene)
        scene.start()
        assert SAID in scene.said(), scene.said()
        found = wait_until(lambda: [job for job in scene.http("GET", "/v1/jobs").json()["jobs"]
                                    if job["name"] == "precious"], "the run that is left")
        assert len(found) == 1 and found[0]["job"] > 6, found
        number = found[0]["job"]
        scene.until(number, "running")
        assert len(held_gpus(scene)) == 2, held_gpus(scene)
        small = scene.submit("--gpus", 1, "--", "true")
        scene.until(small, "done")
        new = scene.submit("--gpus", 3, "--", "sh", "-c", "ls $TRAINYARD_CHECKPOINT_DIR | wc -l")
        assert small > number and new > small
        assert scene.job(new)["state"] == "queued", "its GPUs are in use"
        scene.kill()
        scene.start()
        assert scene.said().count(SAID) == 1, "it is said once"
        scene.until(number, "running")
        scene.command("cancel", number)
        scene.until(number, "cancelled")
        scene.until(new, "done")
        assert scene.logs(new).strip() == "0", "it has another job's checkpoints"
        assert mark.read_text() == "old"


def test_replaced_by_an_older_copy():
    """The job waits in the copy, and runs in fact: that run has to end before the next."""
    with Scene(slots=2) as scene:
        holder = scene.submit("--gpus", 2, "--", "sleep", 600)
        scene.until(holder, "running")
        job = scene.submit("--gpus", 1, "--", "sh", "-c",
                           "[ -z \"$(ls runs* 2>/dev/null)\" ] || exit 0; touch runs.$$; sleep 600")
        scene.kill()
        copy_journal(scene, scene.root / "copy")
        scene.start()
        scene.command("cancel", holder)
        scene.until(job, "running")
        lost = scene.submit("--gpus", 1, "--", "sleep", 600)
        scene.until(lost, "running")
        scene.kill()
        replace_journal(scene, scene.root / "copy")
        scene.start()
        assert SAID in scene.said(), scene.said()
        scene.command("cancel", holder)  # that it was cancelled is lost too
        end = scene.until(job, "done")
        assert end["runs"] > 1, end
        assert len(held_gpus(scene)) >= 1, "that of the job that is not known any more"
        assert scene.submit("--", "true") > lost


if __name__ == "__main__":
    run_tests(globals(), limit=300)
