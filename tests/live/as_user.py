"""Several users of one daemon that is root's: a job runs as who submitted it, and nobody sees,
handles or becomes another. Needs root, to be other users.
"""
import os
import pwd
import stat

from scene import IS_ROOT, Scene, Skip, run_tests, wait_until
from scene.http import as_user, open_stream

EVE, BOB = 65534, 65533  # of whom the second has no account

# Tells who it is, and whether it could be root again.
WHO = """#!/usr/bin/python3
import os
try:
    os.setuid(0)
    again = "root"
except PermissionError:
    again = "never root"
print(os.getresuid(), os.getresgid(), sorted(os.getgroups()), again, flush=True)
"""


def needs_root():
    if not IS_ROOT:
        raise Skip("only root can be other users")


def submit(scene, uid, words, **fields):
    reply = scene.http("POST", "/v1/jobs", {"command": list(words), "directory": str(scene.work), **fields},
                       uid=uid)
    assert reply.status == 201, reply
    return reply.json()["job"]


def test_runs_as_its_user():
    needs_root()
    with Scene() as scene:
        scene.script("who.py", WHO)
        for uid in (EVE, BOB):
            job = submit(scene, uid, ["/bin/sh", "-c",
                                      "./who.py; touch $TRAINYARD_CHECKPOINT_DIR/mine by.$(id -u)"])
            scene.until(job, "done")
            ids = (uid, uid, uid)
            assert scene.logs(job) == f"{ids} {ids} [{uid}] never root\n", scene.logs(job)
            for file in (scene.work / f"by.{uid}", scene.state / f"checkpoints/{job}/mine"):
                about = file.stat()
                assert (about.st_uid, about.st_gid) == (uid, uid), file
        job = scene.submit("--", "./who.py")
        scene.until(job, "done")
        assert scene.logs(job).startswith("(0, 0, 0) "), "root's own job is root's"


def events_up_to_own(scene, uid):
    """All that the user is told has happened, up to the end of a job of hers."""
    own = submit(scene, uid, ["true"])
    scene.until(own, "done")

    def read():
        stream = open_stream(scene.state, "/v1/events", {"Last-Event-ID": "0"})
        told = b""
        while b"event: done" not in told:
            told += stream.readline()
        return told + stream.readline()

    told = as_user(uid, read)
    assert f'"job":{own}'.encode() in told, told
    return told


def test_others_do_not_exist():
    """To another user a job is not there: in no view, and not to be handled."""
    needs_root()
    with Scene() as scene:
        hold = ["/bin/sh", "-c", "echo secret words; while [ ! -e leave ]; do sleep 0.02; done"]
        job = submit(scene, BOB, hold, name="bobs")
        scene.until(job, "running")
        wait_until(lambda: scene.http("GET", f"/v1/jobs/{job}/logs", uid=BOB).body == b"secret words\n",
                   "Bob to read his output")
        # Nothing tells a job of another from one that never was.
        missing = scene.http("GET", "/v1/jobs/999", uid=EVE).message().replace("999", str(job))
        for method, view in (("GET", ""), ("GET", "/why"), ("GET", "/logs"), ("DELETE", "")):
            reply = scene.http(method, f"/v1/jobs/{job}{view}", uid=EVE)
            assert (reply.status, reply.message()) == (404, missing), (method, view, reply)
        assert scene.http("GET", "/v1/jobs", uid=EVE).json()["jobs"] == []
        assert scene.http("GET", f"/v1/jobs?user={BOB}", uid=EVE).json()["jobs"] == []
        assert b"bobs" not in scene.http("GET", "/v1/history", uid=EVE).body
        assert b"bobs" not in events_up_to_own(scene, EVE)
        waits = {"command": ["true"], "directory": "/", "after": [job]}
        reply = scene.http("POST", "/v1/jobs", waits, uid=EVE)
        assert reply.status == 400 and "no job" in reply.message(), reply
        for method, path, body in (("POST", "/v1/machines/any/drain", None),
                                   ("PUT", "/v1/policy", {"policy": "fifo"})):
            assert scene.http(method, path, body, uid=EVE).status == 403, path
        assert scene.job(job)["state"] == "running" and not scene.job(job)["stopping"]
        assert scene.http("DELETE", f"/v1/jobs/{job}", uid=BOB).status == 200
        scene.until(job, "cancelled")


def readable_by(uid, root):
    """Files below root that this user can open, and directories that can be listed."""
    paths = [path for path in root.rglob("*") if not stat.S_ISSOCK(path.lstat().st_mode)]

    def look():
        found = []
        for path in paths:
            try:
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
                found.append(str(path.relative_to(root)))
            except PermissionError:
                pass
        return found

    return paths, as_user(uid, look)


def test_state_directory_is_closed():
    needs_root()
    with Scene() as scene:
        scene.command("token", "add", "one")
        script = ("#!/bin/sh\ntouch $TRAINYARD_CHECKPOINT_DIR/weights; echo words\n"
                  "while [ ! -e leave ]; do sleep 0.02; done\n")
        job = submit(scene, BOB, [], script=script, environment={"PATH": "/usr/bin:/bin"})
        scene.until(job, "running")
        wait_until(lambda: scene.logs(job) == "words\n", "its output")
        run = f"runs/{job}.1"
        secret = ["journal.db", "tokens.json", f"{run}/run.json", f"{run}/script", f"{run}/out.0.0",
                  f"{run}/job", f"checkpoints/{job}", f"checkpoints/{job}/weights", "runs", "checkpoints"]
        paths, readable = readable_by(EVE, scene.state)
        for name in secret:
            assert scene.state / name in paths, f"{name} is not there: the test looks at nothing"
            assert name not in readable, f"{name} can be read by another user"
        # What remains says when a run began and what stop means, and is what jobs need themselves.
        allowed = {"bin", "bin/scontrol", "bin/profile", "bin/srun", f"{run}/started", f"{run}/lock", f"{run}/exit.part"}
        assert set(readable) <= allowed, set(readable) - allowed
        assert f"checkpoints/{job}/weights" in readable_by(BOB, scene.state)[1]

        def write():
            places = [scene.state, scene.state / "runs", scene.state / run, scene.state / run / "job",
                      scene.state / "checkpoints", scene.state / "bin"]
            return [str(place) for place in places if os.access(place, os.W_OK)]

        assert as_user(EVE, write) == []
        scene.touch("leave")
        scene.until(job, "done")


def test_srun_is_for_everybody_and_changes_nobody():
    needs_root()
    with Scene() as scene:
        script = "#!/bin/bash -l\nsrun -n2 id -u\nscontrol requeue 0 || echo refused\n"
        job = submit(scene, BOB, [], script=script, runs_once=True, environment={"PATH": "/usr/bin:/bin"})
        scene.until(job, "done")
        assert [line for line in scene.logs(job).splitlines() if "scontrol" not in line] == \
            [str(BOB), str(BOB), "refused"], scene.logs(job)


def test_nobody_becomes_another_by_saying_so():
    needs_root()
    with Scene() as scene:
        spec = {"command": ["id", "-u"], "directory": "/", "environment": {"PATH": "/usr/bin:/bin"}}
        theirs = submit(scene, BOB, ["true"])
        claims = {"X-Forwarded-User": "root", "X-Remote-User": "root", "Remote-User": "root", "User": "root",
                  "X-User": "root", "X-Uid": "0", "From": "root", "Cookie": "user=root; uid=0",
                  "Authorization": "Basic cm9vdDpyb290"}
        for name, value in claims.items():
            reply = scene.http("GET", f"/v1/jobs/{theirs}", headers={name: value}, uid=EVE)
            assert reply.status in (401, 404), (name, reply)
            reply = scene.http("POST", "/v1/jobs", spec, headers={name: value}, uid=EVE)
            if reply.status == 401:
                continue  # a token that is none is refused, whoever brings it
            job = reply.json()["job"]
            end = scene.until(job, "done")
            assert (scene.logs(job), end["user"]) == (f"{EVE}\n", pwd.getpwuid(EVE).pw_name), (name, end)
        for field, value in {"user": "root", "uid": 0, "gid": 0, "owner": {"uid": 0}, "groups": [0],
                             "job": theirs, "role": "operator"}.items():
            reply = scene.http("POST", "/v1/jobs", {**spec, field: value}, uid=EVE)
            assert reply.status == 400 and field in reply.message(), (field, reply)
        for query in ("user=root", "uid=0", "as=root"):
            assert scene.http("GET", f"/v1/jobs/{theirs}?{query}", uid=EVE).status in (400, 404), query
        # Nor by the environment of a job.
        job = submit(scene, EVE, ["id", "-u"], environment={
            "PATH": "/usr/bin:/bin", "USER": "root", "SUDO_UID": "0", "TRAINYARD_JOB_ID": str(theirs)})
        scene.until(job, "done")
        assert scene.logs(job) == f"{EVE}\n", scene.logs(job)


if __name__ == "__main__":
    run_tests(globals(), limit=200)
