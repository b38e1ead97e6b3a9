"""Several users of one daemon that is root's: a job runs as the user who submitted it; of others'
jobs a user sees what stands in the queue, or nothing, and handles none; nobody becomes another. Needs
root, to be other users.
"""
import contextlib
import json
import os
import pwd
import stat

from scene import OTHERS_RUN_HERE, Scene, Skip, run_tests, wait_until
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
    if not OTHERS_RUN_HERE:
        raise Skip("only root can be other users, where '/' is open to them")


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
            for file in (scene.work / f"by.{uid}", scene.checkpoints(job, uid) / "mine"):
                about = file.stat()
                assert (about.st_uid, about.st_gid) == (uid, uid), file
        job = scene.submit("--", "./who.py")
        scene.until(job, "done")
        assert scene.logs(job).startswith("(0, 0, 0) "), "root's own job is root's"


# All that a user may see of another's job; docs/api.md has the same list.
IN_QUEUE = {"job", "id", "array", "task", "name", "user", "state", "waits_by", "class", "workers", "min_workers",
            "max_workers", "paused", "per_worker", "time_s", "submitted", "started", "since", "ended", "expected_start", "waited_s", "done_s", "placement",
            "flow_class"}
SECRET = b"hunter2"


def secretive(scene, uid, **fields):
    """A job that holds its GPUs, with the secret in all that only its owner may see."""
    script = ("#!/bin/sh\n# hunter2\necho hunter2; echo '{\"step\": 1, \"total\": 9}' > $TRAINYARD_REPORT\n"
              "while [ ! -e leave ]; do sleep 0.02; done; exit 3\n")
    home = scene.work / "hunter2"
    home.mkdir(exist_ok=True)
    home.chmod(0o777)
    spec = {"script": script, "command": ["hunter2"], "directory": str(home), "model": "hunter2",
            "environment": {"KEY": "hunter2", "PATH": "/usr/bin:/bin"}, "name": "bobs", "time": 3600, **fields}
    reply = scene.http("POST", "/v1/jobs", spec, uid=uid)
    assert reply.status == 201, reply
    job = reply.json()["job"]
    scene.until(job, "running")
    wait_until(lambda: scene.http("GET", f"/v1/jobs/{job}/logs", uid=uid).body == b"hunter2\n", "its output")
    wait_until(lambda: scene.job(job)["progress"], "its report")
    return job


def events_up_to_own(scene, uid):
    """All that the user is told has happened, up to the end of a job of hers."""
    own = submit(scene, uid, ["true"])
    scene.until(own, "done")

    def read():
        stream = open_stream(scene.state, "/v1/events", {"Last-Event-ID": "0"})
        told = []
        while not told or (told[-1]["job"], told[-1]["kind"]) != (own, "done"):
            line = stream.readline()
            if line.startswith(b"data:"):
                told.append(json.loads(line[5:]))
        return told

    return as_user(uid, read)


def check_queue_of_others(scene, ask, job):
    """What `ask(method, path)` gets of Bob's job that runs: all that is in the queue, no more."""
    reply = ask("GET", f"/v1/jobs/{job}")
    assert reply.status == 200 and set(reply.json()) == IN_QUEUE, reply
    seen = reply.json()
    whole = scene.job(job)
    assert set(whole) > IN_QUEUE and {field: whole[field] for field in IN_QUEUE} == seen, (whole, seen)
    assert (seen["user"], seen["name"], seen["state"], seen["time_s"]) == (str(BOB), "bobs", "running", 3600), seen
    for path in ("/v1/jobs", f"/v1/jobs?user={BOB}", "/v1/jobs?state=running&name=bobs"):
        found = [each for each in ask("GET", path).json()["jobs"] if each["job"] == job]
        assert len(found) == 1 and found[0] == seen, (path, found)
    why = ask("GET", f"/v1/jobs/{job}/why").json()
    assert (why["state"], why["category"], why["advice"]) == ("running", "", ""), why
    for method, view in (("GET", "/logs"), ("DELETE", "")):
        reply = ask(method, f"/v1/jobs/{job}{view}")
        assert reply.status == 403, (method, view, reply)
    for path in (f"/v1/jobs/{job}", "/v1/jobs", f"/v1/jobs/{job}/why", "/v1/cluster", "/v1/history", "/metrics"):
        assert SECRET not in ask("GET", path).body, path
    assert job in ask("GET", "/v1/cluster").json()["machines"][0]["by_gpu"]


def check_not_hers(scene, job):
    """What Eve cannot do to Bob's job, whatever she sees of it."""
    waits = {"command": ["true"], "directory": "/", "after": [job]}
    reply = scene.http("POST", "/v1/jobs", waits, uid=EVE)
    assert reply.status == 400 and "no job" in reply.message(), reply
    for method, path, body in (("POST", "/v1/machines/any/close", None),
                               ("PUT", "/v1/policy", {"policy": "fifo"})):
        assert scene.http(method, path, body, uid=EVE).status == 403, path
    assert b"bobs" not in scene.http("GET", "/v1/history", uid=EVE).body
    assert scene.job(job)["state"] == "running" and not scene.job(job)["stopping"]


def test_queue_of_others():
    """Of another's job a user sees what stands in Slurm's queue, field by field, and nothing else."""
    needs_root()
    with Scene(slots=2) as scene:
        job = secretive(scene, BOB)
        check_queue_of_others(scene, lambda method, path: scene.http(method, path, uid=EVE), job)
        check_not_hers(scene, job)
        waiting = submit(scene, BOB, ["hunter2"], name="wide", gpus=2)
        assert scene.http("GET", f"/v1/jobs/{waiting}", uid=EVE).json()["waits_by"] == "resources"
        why = scene.http("GET", f"/v1/jobs/{waiting}/why", uid=EVE).json()
        assert why["token"] == "resources" and "2 GPUs" in why["sentence"] and not why["advice"], why
        assert scene.http("DELETE", f"/v1/jobs/{waiting}", uid=BOB).status == 200
        for event in events_up_to_own(scene, EVE):
            if event["job"] in (job, waiting):
                assert set(event) == {"sequence", "at", "kind", "job", "user", "details"}, event
                name = {job: "bobs", waiting: "wide"}[event["job"]]
                assert event["details"] == ({"name": name} if event["kind"] == "submitted" else {}), event
        # The commands say the same.
        said = scene.command("queue", uid=EVE).stdout
        assert "bobs" in said and str(BOB) in said and "hunter2" not in said, said
        assert "hunter2" not in scene.command("show", job, uid=EVE).stdout
        assert "hunter2" not in scene.command("watch", uid=EVE).stdout
        refused = scene.command("logs", job, check=False, uid=EVE)
        assert refused.returncode == 4 and f"job {job} is {BOB}'s" in refused.stderr, refused
        # How it ended is its owner's to know, that it did everybody's.
        scene.touch("hunter2/leave")
        scene.until(job, "failed")
        seen = scene.http("GET", f"/v1/jobs/{job}", uid=EVE).json()
        assert set(seen) == IN_QUEUE and seen["state"] == "failed" and seen["ended"], seen
        assert scene.http("GET", f"/v1/jobs/{job}", uid=BOB).json()["exit_status"] == 3


def test_queue_of_others_over_tcp():
    """With a token one sees what its user would see: neither less nor more."""
    needs_root()
    with Scene(slots=2, tcp=True) as scene:
        job = secretive(scene, BOB)
        tokens = {role: scene.command("token", "add", role, "--role", role, "--as", pwd.getpwuid(EVE).pw_name)
                  .stdout.strip() for role in ("viewer", "user", "operator")}
        check_queue_of_others(scene, lambda method, path: scene.tcp(method, path, tokens["user"]), job)
        seen = scene.tcp("GET", f"/v1/jobs/{job}", tokens["viewer"]).json()
        assert set(seen) == IN_QUEUE, seen
        assert scene.tcp("GET", f"/v1/jobs/{job}/logs", tokens["viewer"]).status == 403
        assert scene.tcp("GET", f"/v1/jobs/{job}/logs", tokens["operator"]).body == SECRET + b"\n"
        assert scene.tcp("GET", f"/v1/jobs/{job}", "ty_" + "0" * 64).status == 401
        check_not_hers(scene, job)


def test_private_jobs():
    """Where the operator wants it so, another's job is not there: in no view, and not to be handled."""
    needs_root()
    with Scene(slots=2, options=["--private"], tcp=True) as scene:
        job = secretive(scene, BOB)
        token = scene.command("token", "add", "eve", "--as", pwd.getpwuid(EVE).pw_name).stdout.strip()
        for ask in (lambda method, path: scene.http(method, path, uid=EVE),
                    lambda method, path: scene.tcp(method, path, token)):
            # Nothing tells a job of another from one that never was.
            missing = ask("GET", "/v1/jobs/999").message().replace("999", str(job))
            for method, view in (("GET", ""), ("GET", "/why"), ("GET", "/logs"), ("DELETE", "")):
                reply = ask(method, f"/v1/jobs/{job}{view}")
                assert (reply.status, reply.message()) == (404, missing), (method, view, reply)
            assert ask("GET", "/v1/jobs").json()["jobs"] == []
            assert ask("GET", f"/v1/jobs?user={BOB}").json()["jobs"] == []
            by_gpu = ask("GET", "/v1/cluster").json()["machines"][0]["by_gpu"]
            assert sorted(map(str, by_gpu)) == ["0", "None"], by_gpu
            cluster = ask("GET", "/v1/cluster").json()
            assert (cluster["running"], cluster["queued"]) == (0, 0), "others' jobs are not counted"
            assert ask("GET", "/metrics").status == 403
        assert {event["job"] for event in events_up_to_own(scene, EVE)} == {job + 1}
        assert str(BOB) not in scene.command("watch", uid=EVE).stdout
        check_not_hers(scene, job)
        assert scene.http("DELETE", f"/v1/jobs/{job}", uid=BOB).status == 200
        scene.until(job, "cancelled")


def test_cancel_of_what_has_ended():
    needs_root()
    with Scene() as scene:
        job = submit(scene, BOB, ["true"])
        scene.until(job, "done")
        assert scene.http("DELETE", f"/v1/jobs/{job}", uid=BOB).status == 409
        assert scene.http("DELETE", f"/v1/jobs/{job}", uid=EVE).status == 403
        assert scene.http("DELETE", "/v1/jobs/999", uid=EVE).status == 404


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
        run, checkpoints = (str(path.relative_to(scene.state))
                            for path in (scene.run_directory(job, uid=BOB), scene.checkpoints(job, BOB)))
        secret = ["journal.db", "tokens.json", f"{run}/run.json", f"{run}/script", f"{run}/out.0.0",
                  f"{run}/job", checkpoints, f"{checkpoints}/weights", "runs", "checkpoints"]
        paths, readable = readable_by(EVE, scene.state)
        for name in secret:
            assert scene.state / name in paths, f"{name} is not there: the test looks at nothing"
            assert name not in readable, f"{name} can be read by another user"
        assert set(readable) <= {"bin", "bin/scontrol", "bin/profile", "bin/srun"}, readable
        assert f"{checkpoints}/weights" in readable_by(BOB, scene.state)[1]

        def write():
            places = [scene.state, scene.state / "runs", scene.state / run, scene.state / run / "job",
                      scene.state / "checkpoints", scene.state / "bin"]
            return [str(place) for place in places if os.access(place, os.W_OK)]

        assert as_user(EVE, write) == []
        scene.touch("leave")
        scene.until(job, "done")


def answers_to(uid, paths):
    """Those of which this user can ask for owner, times and size."""
    def ask():
        found = []
        for path in paths:
            with contextlib.suppress(OSError):
                path.lstat()
                found.append(path)
        return found

    return as_user(uid, ask)


def check_others_cannot_ask(scene, job):
    """Of Bob's job, though Eve knows its number and where its files are."""
    for own in (scene.run_directory(job, uid=BOB), scene.checkpoints(job, BOB)):
        paths = [own, *own.rglob("*")]
        assert len(paths) > 1 and answers_to(EVE, paths) == [], answers_to(EVE, paths)
        assert own in answers_to(BOB, paths), "its own user can"


def test_the_file_system_tells_nothing_of_other_users_jobs():
    needs_root()
    with Scene(slots=2) as scene:
        job = submit(scene, BOB, ["/bin/sh", "-c", "touch $TRAINYARD_CHECKPOINT_DIR/weights; echo ready; sleep 600"])
        wait_until(lambda: scene.logs(job) == "ready\n", "its output")
        check_others_cannot_ask(scene, job)
        scene.kill()
        scene.start()
        check_others_cannot_ask(scene, job)
        assert scene.http("DELETE", f"/v1/jobs/{job}", uid=BOB).status == 200
        scene.until(job, "cancelled")
        check_others_cannot_ask(scene, job)


def test_what_an_older_daemon_left_is_hidden():
    needs_root()
    with Scene(slots=2, options=["--private"]) as scene:
        job = submit(scene, BOB, ["/bin/sh", "-c", "echo kept | tee $TRAINYARD_CHECKPOINT_DIR/weights"])
        scene.until(job, "done")
        scene.kill()
        old = scene.state / f"runs/{job}.1", scene.state / f"checkpoints/{job}"
        for path, before in zip((scene.run_directory(job, uid=BOB), scene.checkpoints(job, BOB)), old, strict=True):
            path.rename(before)
            for folder in (path.parent, path.parent.parent):
                folder.rmdir()
        assert len(answers_to(EVE, old)) == 2
        scene.start()
        assert answers_to(EVE, old) == [] and not any(path.exists() for path in old)
        assert scene.logs(job) == "kept\n"
        weights = scene.checkpoints(job, BOB) / "weights"
        assert answers_to(BOB, [weights]) == [weights] and answers_to(EVE, [weights]) == []


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
            assert reply.status == 401 or set(reply.json()) == IN_QUEUE, (name, reply)
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
            assert scene.http("GET", f"/v1/jobs/{theirs}?{query}", uid=EVE).status == 400, query
        # Nor by the environment of a job.
        job = submit(scene, EVE, ["id", "-u"], environment={
            "PATH": "/usr/bin:/bin", "USER": "root", "SUDO_UID": "0", "TRAINYARD_JOB_ID": str(theirs)})
        scene.until(job, "done")
        assert scene.logs(job) == f"{EVE}\n", scene.logs(job)


if __name__ == "__main__":
    run_tests(globals(), limit=200)
