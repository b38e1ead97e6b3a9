"""What ended jobs have left behind, with a real daemon whose clock is 400 days ahead of its journal:
nothing is erased by that, and an operator decides when erasing goes on."""
import sqlite3

from scene import Scene, run_tests, wait_until

JUMP = 400 * 86400 * 1_000_000


def leave_something(scene):
    """A job that has ended with output and a checkpoint; the paths of both."""
    job = scene.submit("--", "sh", "-c", "echo said; echo saved > $TRAINYARD_CHECKPOINT_DIR/weights")
    scene.until(job, "done")
    return scene.run_directory(job), scene.checkpoints(job) / "weights"


def put_journal_back(scene):
    """All of its times are 400 days earlier: as the daemon sees it, the clock is ahead by that. Rows without
    a checksum are believed."""
    with sqlite3.connect(scene.state / "journal.db") as db:
        db.execute("UPDATE job SET submitted = submitted - ?1, ended = ended - ?1, sum = NULL", (JUMP,))
        db.execute("UPDATE event SET at = at - ?, sum = NULL", (JUMP,))
        boot, steady, then = db.execute("SELECT value FROM setting WHERE key = 'clock'").fetchone()[0].split()
        db.execute("UPDATE setting SET value = ?, sum = NULL WHERE key = 'clock'",
                   (f"{boot} {steady} {int(then) - JUMP}",))


def retention(scene):
    return scene.http("GET", "/v1/retention").json()


def let_it_look(scene):
    """Until the daemon has had time for a pass: the first is 10 s after a start or a resumption."""
    begin = retention(scene)["lived_s"]
    wait_until(lambda: retention(scene)["lived_s"] > begin + 13, "lived time")


def test_a_clock_far_ahead_erases_nothing():
    with Scene(options=("--keep", "1s")) as scene:
        output, weights = leave_something(scene)
        scene.kill()
        put_journal_back(scene)
        scene.start()
        wait_until(lambda: retention(scene)["suspended"], "the suspension")
        let_it_look(scene)
        assert output.exists() and weights.exists(), scene.said()
        assert "erasing is suspended: " in scene.said() and "trainyard retention resume" in scene.said()
        assert "ERASING IS SUSPENDED" in scene.command("retention").stdout
        assert "erasing is suspended" in scene.command("nodes").stdout
        scene.kill()
        scene.start()
        assert retention(scene)["suspended"], "it outlives the daemon"
        scene.command("retention", "resume")
        wait_until(lambda: not output.exists(), "the output to be erased, of which 1 s was to be kept")
        wait_until(lambda: "erased the output of 1 job" in scene.said(), "the line in the log")
        assert weights.read_text() == "saved\n"


def test_age_is_lived_time():
    """As it was when a daemon took the clock's word: 30 days are kept, and by the clock it is 400."""
    with Scene() as scene:
        output, weights = leave_something(scene)
        scene.kill()
        put_journal_back(scene)
        scene.start()
        wait_until(lambda: retention(scene)["suspended"], "the suspension")
        scene.command("retention", "resume")
        let_it_look(scene)
        assert output.exists() and weights.exists(), scene.said()
        assert retention(scene)["output"]["due"] == 0


def test_checkpoints_go_by_their_own_option():
    with Scene(options=("--keep-checkpoints", "1s")) as scene:
        output, weights = leave_something(scene)
        wait_until(lambda: not weights.exists(), "the checkpoint to be erased")
        wait_until(lambda: "erased the checkpoints of 1 job" in scene.said(), "the line in the log")
        assert output.exists()


if __name__ == "__main__":
    run_tests(globals(), limit=300)
