"""Arrays with real jobs: every task runs once with its number, never more at once than the array
says, whatever becomes of the daemon.
"""
from scene import Scene, run_tests, wait_until

# Writes down when it begins and when it ends, and stays until it is let go.
TASK = """#!/bin/sh
echo "begin $SLURM_ARRAY_TASK_ID" >>tasks
while [ ! -e "leave.$SLURM_ARRAY_TASK_ID" ] && [ ! -e leave ]; do sleep 0.02; done
echo "end $SLURM_ARRAY_TASK_ID" >>tasks
echo "$SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT $SLURM_ARRAY_TASK_MIN" \\
  "$SLURM_ARRAY_TASK_MAX $SLURM_ARRAY_TASK_STEP"
"""


def lines(scene):
    path = scene.work / "tasks"
    return path.read_text().split("\n")[:-1] if path.exists() else []


def most_at_once(told):
    most = now = 0
    for line in told:
        now += 1 if line.startswith("begin") else -1
        most = max(most, now)
    return most


def ended(scene, array):
    page = scene.http("GET", f"/v1/jobs?array={array}&state=done&limit=1000").json()
    return sorted(job["task"] for job in page["jobs"])


def test_no_more_at_once_than_it_says_over_restarts():
    with Scene(slots=4) as scene:
        scene.script("task.sh", TASK)
        array = scene.submit("--array", "0-11%3", "task.sh")
        later = scene.submit("--after", array, "--", "true")
        for task in range(9):
            wait_until(lambda: f"begin {task + 2}" in lines(scene), f"task {task + 2} to begin")
            if task % 3 == 1:  # while some run and others wait for them
                scene.kill()
                scene.start()
            scene.touch(f"leave.{task}")
        assert scene.job(later)["state"] == "held"
        scene.touch("leave")
        scene.until(later, "done")
        told = lines(scene)
        assert sorted(told) == sorted(f"{what} {task}" for what in ("begin", "end") for task in range(12)), told
        assert most_at_once(told) == 3, told
        assert ended(scene, array) == list(range(12))
        assert scene.logs(f"{array}_7") == f"{array} 7 12 0 11 1\n"


def test_a_submission_survives_the_daemon_at_once():
    with Scene(slots=2) as scene:
        array = scene.submit("--array", "1-9:4%1", "--", "sh", "-c", "true")
        scene.kill()
        scene.start()
        wait_until(lambda: ended(scene, array) == [1, 5, 9], "all tasks to be done")


def test_cancel_some_and_all():
    with Scene(slots=2) as scene:
        scene.script("task.sh", TASK)
        array = scene.submit("--array", "0-9%2", "task.sh")
        wait_until(lambda: {"begin 0", "begin 1"} <= set(lines(scene)), "tasks 0 and 1 to begin")
        scene.command("cancel", f"{array}_[2-4]", f"{array}_0")  # one after the other
        wait_until(lambda: "begin 5" in lines(scene), "task 5 to begin")
        scene.kill()
        scene.start()
        scene.command("cancel", array)
        for task in range(10):
            scene.until(f"{array}_{task}", "cancelled")
        scene.until_nothing_is_left()
        assert {line for line in lines(scene) if line.startswith("begin")} == {"begin 0", "begin 1", "begin 5"}


if __name__ == "__main__":
    run_tests(globals(), limit=300)
