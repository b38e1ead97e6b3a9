"""What a job that is asked to leave has done, with real processes: it saved, it was killed, it could
not save, it is done; and who all is asked."""
from scene import Scene, run_tests

LEAVING = """#!/bin/sh
[ -z "$TRAINYARD_RESTART" ] || exit 0
trap '%s' TERM
echo ready >ready.$1
while :; do sleep 0.02; done
"""


def leaves(scene, name, how, *options):
    """A job that is asked to leave for another, and leaves so."""
    scene.script(f"{name}.sh", LEAVING % how)
    job = scene.submit("--gpus", 1, *options, "--", f"./{name}.sh", name)
    scene.until(job, "running")
    scene.text(f"ready.{name}")
    trial = scene.submit("--class", "trial", "--gpus", 1, "--time", "1m", "--", "true")
    scene.until(trial, "done")
    return job


def test_what_becomes_of_it():
    with Scene(slots=1) as scene:
        for name, how, state in (
                ("done", "exit 0", "done"),
                ("left", "exit 143", "done"),
                ("saved", "touch $TRAINYARD_SAVED; exit 0", "done"),
                ("failed", "echo failed: no room >$TRAINYARD_SAVED; exit 1", "failed")):
            job = leaves(scene, name, how)
            end = scene.until(job, state)
            paused = name in ("left", "saved")
            assert end["runs"] == (2 if paused else 1), (name, end)
            if name == "failed":
                assert end["reason"] == "its final save failed: no room", end


def test_killed_is_not_saved():
    with Scene(slots=1) as scene:
        job = leaves(scene, "stubborn", "", "--grace", "1s")
        end = scene.until(job, "done")
        assert end["runs"] == 2 and end["done_s"] < end["lost_s"], end


def test_who_has_left_the_session_is_asked_too():
    with Scene(slots=1) as scene:
        scene.script("child.sh", """#!/bin/sh
trap 'echo asked >asked; exit' TERM
echo ready >ready
while :; do sleep 0.02; done
""")
        job = scene.submit("--gpus", 1, "--grace", "20s", "--", "sh", "-c",
                           "[ -z \"$TRAINYARD_RESTART\" ] || exit 0; setsid ./child.sh & wait")
        scene.text("ready")
        trial = scene.submit("--class", "trial", "--gpus", 1, "--time", "1m", "--", "true")
        scene.until(trial, "done")
        assert scene.text("asked").strip() == "asked"
        scene.until(job, "done")


def test_history_has_those_that_failed():
    with Scene(slots=1) as scene:
        failed = scene.submit("--", "sh", "-c", "sleep 0.1; exit 3")
        scene.until(failed, "failed")
        cancelled = scene.submit("--", "sleep", 600)
        scene.until(cancelled, "running")
        scene.command("cancel", cancelled)
        scene.until(cancelled, "cancelled")
        lines = scene.http("GET", "/v1/history").body.decode().splitlines()
        assert [line.split(",")[0] for line in lines[-2:]] == [str(failed), str(cancelled)], lines


if __name__ == "__main__":
    run_tests(globals(), limit=300)
