"""`trainyard reproduce jpas --live`: one small pair of runs on a network of namespaces, to its end, and nothing of it left.
What it measures is the study's concern; here it is whether daemon, agents, workers and simulator go together.
"""
import json
import pathlib
import subprocess
import tempfile

from scene import Skip, TRAINYARD, run_tests


def namespaces():
    return {line.split()[0] for line in subprocess.run(["ip", "netns", "list"], capture_output=True, text=True)
            .stdout.splitlines() if line.startswith("tyj")}


def reproduce(*words, state):
    return subprocess.run([TRAINYARD, "reproduce", *words], capture_output=True, text=True, timeout=300,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "XDG_STATE_HOME": state})


def test_one_small_pair():
    with tempfile.TemporaryDirectory() as state:
        before = namespaces()
        found = pathlib.Path(state, "found.json")
        done = reproduce("jpas", "--live", "--only", "smoke", "--json", found, state=state)
        if done.returncode == 77:
            raise Skip(done.stdout.strip())
        assert done.returncode == 0, done.stderr
        assert "| smoke | jpas | in steps | 3 |" in done.stdout, done.stdout
        runs = {run["policy"]: run for run in json.loads(found.read_text())["runs"]}
        for run in runs.values():
            assert len(run["jobs"]) == 3 and all(0 < job["t90"] <= job["t95"] <= job["jct"] for job in run["jobs"]), run
        assert runs["fair"]["changes"] == 0 < runs["jpas"]["changes"], runs
        assert namespaces() <= before


def test_what_cannot_go_together_is_refused():
    with tempfile.TemporaryDirectory() as state:
        for words, why in ((("fitgpp", "--live"), "only the study jpas"), (("jpas", "--live", "--threads", "2"), "goes with"),
                           (("jpas", "--live", "--only", "D"), "invalid choice")):
            done = reproduce(*words, state=state)
            assert done.returncode == 2 and why in done.stderr, done.stderr


if __name__ == "__main__":
    run_tests(globals(), limit=400)
