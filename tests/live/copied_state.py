"""A daemon on a copy of a state directory: the jobs that run under the original go on, and those of
the copy are lost, for a reason that is told, and begin anew."""
import shutil
import sqlite3

from scene import Scene, run_tests, wait_until


def events(scene, job, kind):
    """What the journal has on those of this kind."""
    with sqlite3.connect(f"file:{scene.state}/journal.db?mode=ro", uri=True) as journal:
        return [row[0] for row in journal.execute("SELECT details FROM event WHERE job = ? AND kind = ?", (job, kind))]


def test_the_originals_job_goes_on():
    with Scene(slots=2) as original, Scene(slots=2) as copy:
        job = original.submit("--", "sh", "-c", "echo $$ > pid; sleep 600 & wait")
        original.until(job, "running")
        process = original.watch(original.text("pid"))
        supervisor = original.watch(original.supervisor(job))
        original.kill()
        copy.kill()
        shutil.rmtree(copy.state)
        shutil.copytree(original.state, copy.state, ignore=shutil.ignore_patterns("socket"))
        original.start()
        copy.start()
        wait_until(lambda: copy.job(job)["runs"] == 2, "the copy's own run")
        assert not process.is_gone() and not supervisor.is_gone(), "the original's job was killed"
        (lost,) = events(copy, job, "lost")
        assert f"it was started in {original.state}, and this state directory is a copy" in lost, lost
        copy.command("cancel", job)
        copy.until(job, "cancelled")
        assert original.job(job)["state"] == "running" and original.job(job)["runs"] == 1, original.job(job)
        assert not process.is_gone(), "the original's job was killed"


if __name__ == "__main__":
    run_tests(globals(), limit=120)
