"""What forecasts tell on the command line, by a daemon that runs; a promise outlives a kill -9."""
import json

from scene import Scene, run_tests, wait_until


def forecast(scene):
    """The last; a daemon that has just begun has made none yet."""
    done = scene.command("forecast", "--json", check=False)
    if done.returncode != 0:
        assert "no forecast has been made yet" in done.stderr, done.stderr
        return {"jobs": [], "record": []}
    return json.loads(done.stdout)


def start_of(scene, job):
    """None if the last forecast was made before the job came."""
    found = [each for each in forecast(scene)["jobs"] if each["job"] == job]
    return found[0]["start"] if found else None


def promises(scene):
    """How many are on record."""
    return sum(row["promises"] for row in forecast(scene)["record"])


def test_a_waiting_job_is_told_when_it_starts():
    with Scene(slots=2, policy="fifo") as scene:
        busy = scene.submit("--gpus", 2, "--time", "1h", "--", "sleep", 600)
        scene.until(busy, "running")
        waits = scene.submit("--gpus", 1, "--time", "1h", "--", "sleep", 1)
        wait_until(lambda: start_of(scene, waits), "a forecast with the job that waits")
        for words in (("queue",), ("show", waits), ("why", waits), ("forecast", waits)):
            assert "in about 1h" in scene.command(*words).stdout, words
        dry = scene.command("submit", "--dry-run", "--gpus", 2, "--time", "2h", "--", "true").stdout
        assert dry.startswith("would start in about ") and "nothing was submitted" in dry, dry
        assert len(forecast(scene)["jobs"]) == 2, "nothing was submitted"
        scene.command("forecast", "--policy", "srtf")

        scene.command("cancel", busy)
        scene.until(waits, "done")
        scene.kill()
        scene.start()
        wait_until(lambda: promises(scene) == 1, "the promise on record")


if __name__ == "__main__":
    run_tests(globals(), limit=300)
