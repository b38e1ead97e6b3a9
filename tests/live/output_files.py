"""Files that users want the output of their jobs in: opened with the user's rights and no others,
and never cut by a run that comes back.
"""
import os

from scene import OTHERS_RUN_HERE, Scene, Skip, run_tests, wait_until


def test_files_are_opened_with_the_users_rights():
    if not OTHERS_RUN_HERE:
        raise Skip("only root can be other users, where '/' is open to them")
    eve = 65534
    with Scene(slots=2) as scene:
        secret = scene.root / "roots"
        secret.mkdir(mode=0o700)
        target = secret / "file"
        target.write_text("root's own")
        os.symlink(target, scene.work / "link")

        def submit(output):
            reply = scene.http("POST", "/v1/jobs", {"command": ["sh", "-c", "echo mine"], "output": output,
                                                    "directory": str(scene.work)}, uid=eve)
            assert reply.status == 201, reply
            return reply.json()["job"]

        for output in ("link", str(target), str(secret / "new")):
            job = scene.until(submit(output), "failed")
            assert "of --output cannot be opened by user" in job["reason"], job
        assert target.read_text() == "root's own" and not (secret / "new").exists()
        job = submit("out-%u-%j")
        scene.until(job, "done")
        made = next(scene.work.glob(f"out-*-{job}"))
        assert made.read_text() == "mine\n" and made.stat().st_uid == eve, made
        reply = scene.http("GET", f"/v1/jobs/{job}/logs", uid=eve)
        assert reply.status == 409 and str(made) in reply.message(), reply


def test_a_paused_job_appends_to_its_file():
    with Scene(slots=1) as scene:
        (scene.work / "out").write_text("of another job\n")
        job = scene.submit("--output", "out", "--grace", "5s", "--", "sh", "-c",
                           'echo "run $TRAINYARD_RUN"; [ -n "$TRAINYARD_RESTART" ] || exec sleep 600')
        wait_until(lambda: (scene.work / "out").read_text() == "run 1\n", "the first run to write")
        scene.until(scene.submit("--class", "trial", "--time", "1m", "--", "true"), "done")
        scene.until(job, "done")
        assert (scene.work / "out").read_text() == "run 1\nrun 2\n"


if __name__ == "__main__":
    run_tests(globals(), limit=300)
