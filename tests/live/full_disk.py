"""A disk that others have filled: new jobs are refused with a sentence, what runs can be cancelled,
the daemon starts again however often, and all is well by itself when there is room."""
import contextlib
import os

from scene import IS_ROOT, Scene, Skip, run_tests, wait_until


def fill(path):
    """To the last byte."""
    with open(path, "ab", buffering=0) as file, contextlib.suppress(OSError):
        for size in (1 << 16, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while True:
                    os.write(file.fileno(), b"x" * size)


def start_again(scene):
    scene.kill()
    scene.start("/v1/jobs")  # it is not healthy, but it answers


def check(space):
    if not IS_ROOT:
        raise Skip("only root can mount a small disk")
    with Scene(slots=2, space=space) as scene:
        running = [scene.submit("--", "sleep", 600) for _ in range(2)]
        waiting = [scene.submit("--gpus", 2, "--", "true") for _ in range(20)]
        scene.until(running[0], "running"), scene.until(running[1], "running")
        filler = scene.state / "filler"
        fill(filler)
        wait_until(lambda: scene.http("POST", "/v1/jobs", '{"command": ["true"]}').status == 503,
                   "a new job to be refused")
        fill(filler)
        reply = scene.http("POST", "/v1/jobs", '{"command": ["true"]}')
        assert reply.status == 503 and "is full" in reply.body.decode(), reply
        assert scene.http("GET", "/healthz").status == 503
        scene.command("cancel", waiting[0])
        assert scene.job(waiting[0])["state"] == "cancelled"
        for number in waiting[1:9]:
            fill(filler)  # what was given back for one is not there for the next
            start_again(scene)
            scene.command("cancel", number)
            assert scene.job(number)["state"] == "cancelled"
        scene.command("cancel", running[0])
        scene.until(running[0], "cancelled")
        assert scene.job(running[1])["state"] == "running"
        filler.unlink()
        wait_until(lambda: scene.http("GET", "/healthz").status == 200, "new jobs to be accepted")
        scene.command("cancel", running[1])
        scene.until(scene.submit("--", "true"), "done")
        scene.until(waiting[19], "done")


def test_small_disk():
    check("16m")


def test_large_disk():
    check("600m")


run_tests(globals(), 400)
