"""What a newcomer sees: the demo on the running daemon, and its jobs under other policies."""
import json
import re
import subprocess

from scene import PATIENCE, Scene, program, run_tests, wait_until


def test_demo_and_whatif():
    with Scene(slots=2, settings=["yard.min_run=5s"], policy="trainyard") as scene:
        text = scene.command("demo").stdout
        assert f"{program()} watch" in text, f"what is to be typed is not in the PATH:\n{text}"
        when = {what: float(at) for at, what in re.findall(r"([0-9.]+) s  (.*)", text)}
        trials = [at for what, at in when.items() if re.fullmatch(r"trial job \d+ is done", what)]
        batches = [at for what, at in when.items() if re.fullmatch(r"batch job \d+ is done", what)]
        assert len(trials) == 3 and len(batches) == 2, text
        assert max(trials) < min(batches), f"trial jobs did not overtake:\n{text}"
        assert re.search(r"batch job \d+ has left", text) and re.search(r"batch job \d+ is back", text), text
        paused = [job for job in (1, 2) if scene.job(job)["runs"] == 2]
        assert paused, text
        said = scene.command("logs", paused[0]).stderr
        assert f"this is run 2 of job {paused[0]}; an earlier one: {program()} logs {paused[0]} --run 1" in said, said
        for job in paused:
            before, after = (scene.logs(job, "--run", run) for run in (1, 2))
            saved = re.search(r"saved after step (\d+)", before).group(1)
            assert f"goes on after step {saved}\n" in after and "all 50 steps are done" in after, (before, after)

        outcomes = json.loads(scene.command("whatif", "--policy", "fifo", "--json").stdout)["outcomes"]
        recorded, now, fifo = outcomes
        assert recorded["jobs"] == now["jobs"] == fifo["jobs"] == 5, outcomes
        # The simulator, given what was recorded, tells the same story.
        assert now["pauses"] == recorded["pauses"], outcomes
        assert abs(now["mean_jct_s"] - recorded["mean_jct_s"]) < 0.2 * recorded["mean_jct_s"], outcomes
        assert fifo["pauses"] == 0 and fifo["trial_mean_jct_s"] > 2 * now["trial_mean_jct_s"], outcomes
        # What is recommended is what was found to be better, wherever it stands in the list.
        scene.command("policy", "set", "fifo")
        said = scene.command("whatif", "--policy", "fifo-easy,trainyard", "--set", "yard.min_run=4s").stderr
        assert said == f"Next: {program()} policy set trainyard --set yard.min_run=4s\n", said
        scene.command("policy", "set", "trainyard")
        said = scene.command("whatif", "--policy", "fifo,fifo-easy").stderr
        assert "none of them has a shorter mean JCT than trainyard" in said, said
        assert "policy set" not in said, said


def test_what_serve_prints_is_typed_as_it_stands():
    """In a shell that knows nothing of the program, in another folder."""
    with Scene(slots=2) as scene:
        wait_until(lambda: " queue\n" in scene.said(), "what to type next")
        lines = scene.said().split("In another terminal:\n")[1].splitlines()
        typed = [line.strip() for line in lines if line.startswith("  ")]
        assert len(typed) == 4 and typed[0].startswith("export TRAINYARD_STATE="), typed
        shell = subprocess.run(["bash", "-e"], input="\n".join(typed), capture_output=True, text=True,
                               timeout=PATIENCE, cwd="/", env={"PATH": "/usr/bin:/bin", "HOME": "/"})
        assert shell.returncode == 0, (typed, shell)
        job = max(job["job"] for job in scene.http("GET", "/v1/jobs?limit=1000").json()["jobs"])
        wait_until(lambda: re.match(r"on GPU \d\n", scene.logs(job)), lambda: scene.logs(job))


if __name__ == "__main__":
    run_tests(globals(), limit=300)
