"""What the policy has learnt of how long jobs take outlives the daemon: its end, and a kill -9."""
from scene import Scene, run_tests


def belief(scene):
    """What `why` says of a job that waits behind another."""
    busy = scene.submit("--gpus", 1, "--", "sleep", 600)
    scene.until(busy, "running")
    job = scene.submit("--gpus", 1, "--time", "12h", "--", "true")
    said = scene.command("why", job).stdout
    for number in (job, busy):
        scene.command("cancel", number)
        scene.until(number, "cancelled")
    return said


def test_belief_outlives_the_daemon():
    with Scene(slots=1, policy="srtf", settings=("queue.estimates=residual",)) as scene:
        assert "is believed to take another 12h (it declares 12h)" in belief(scene)
        done = scene.submit("--gpus", 1, "--time", "12h", "--", "true")
        scene.until(done, "done")
        learnt = "its user's jobs that declare about as much took"
        assert learnt in belief(scene)
        scene.daemon.terminate()
        scene.daemon.wait(60)
        scene.start()
        assert learnt in belief(scene)
        scene.kill()
        scene.start()
        assert learnt in belief(scene)


if __name__ == "__main__":
    run_tests(globals(), limit=300)
