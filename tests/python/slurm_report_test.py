"""What a job of Slurm's writes into its comment, with a scontrol that keeps one job in a file."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SCONTROL = """#!/usr/bin/python3
import pathlib, sys
kept = pathlib.Path(__file__).with_name("comment")
with open(kept.with_name("calls"), "a") as calls: calls.write(" ".join(sys.argv[1:]) + "\\n")
if kept.with_name("down").exists(): sys.exit("slurm_update error: Unable to contact slurm controller")
if sys.argv[1] == "show":
    print("JobId=" + sys.argv[3] + " JobName=x\\n   UserId=me(1)\\n   Comment=" + (kept.read_text() or "(null)") +
          "\\n   AdminComment=" + kept.with_name("admin").read_text() + "\\n   StdErr=/dev/null")
else:
    assert sys.argv[2] == "JobId=12", sys.argv
    kept.write_text(sys.argv[3].removeprefix("Comment="))
"""
TRAIN = "import trainyard\nfor step in range(1, {}): trainyard.progress(step, 100, accuracy=step / 100)\n"


class SlurmReportTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "scontrol").write_text(SCONTROL)
        (self.folder / "scontrol").chmod(0o755)
        self.begin("")

    def begin(self, comment, admin="trainyard: job=5 run=1 of=1f"):
        (self.folder / "comment").write_text(comment)
        (self.folder / "admin").write_text(admin)

    def run_job(self, steps=4, train=None, **variables):
        environment = {"PATH": f"{self.folder}:/usr/bin:/bin", "PYTHONPATH": "python", "SLURM_JOB_ID": "12",
                       "SLURM_PROCID": "0", **variables}
        done = subprocess.run([sys.executable, "-c", train or TRAIN.format(steps)], capture_output=True, text=True,
                              timeout=120, env=environment, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def comment(self):
        return (self.folder / "comment").read_text()

    def calls(self):
        calls = self.folder / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def test_the_last_step_is_told_beside_what_stood_there(self):
        self.begin('trainyard: class=trial told0={"step":1} grace=9')
        self.run_job(SLURM_RESTART_COUNT="2")
        words = self.comment().split()
        self.assertEqual(words[:3], ["trainyard:", "class=trial", "grace=9"])
        self.assertEqual(len(words), 4, "what an earlier run told is gone")
        self.assertTrue(words[3].startswith("told2="))
        self.assertEqual(json.loads(words[3][6:]), {"step": 3, "total": 100, "accuracy": 0.03})

    def test_many_steps_are_few_calls(self):
        self.run_job(steps=20_000)
        self.assertLess(len(self.calls()), 20)
        self.assertIn('"step":19999', self.comment())

    def test_only_a_job_of_trainyard_and_of_no_other_comment_is_written_to(self):
        for comment, admin in (("", "(null)"), ("mine", "trainyard: job=5 run=1 of=1f")):
            self.begin(comment, admin)
            self.run_job()
            self.assertEqual(self.comment(), comment)

    def test_only_the_first_process_tells(self):
        self.run_job(SLURM_PROCID="1")
        self.run_job(RANK="3", SLURM_PROCID="0")
        self.assertEqual(self.calls(), [])
        self.run_job(RANK="0", SLURM_PROCID="7")
        self.assertIn("told0=", self.comment())

    def test_a_training_goes_on_when_nobody_can_be_told(self):
        (self.folder / "down").touch()
        self.assertEqual(len(re.findall("progress cannot be reported: scontrol: ", self.run_job())), 1)

    def test_it_tells_again_when_slurm_answers_again(self):
        (self.folder / "down").touch()
        self.run_job(train="import os, time, trainyard\ntrainyard.progress(7, 100)\n"
                           f"while not os.path.exists('{self.folder}/calls'): time.sleep(0.01)\n"
                           f"os.unlink('{self.folder}/down')\n")
        self.assertIn('"step":7', self.comment())

    def test_a_job_with_a_file_uses_that(self):
        self.run_job(TRAINYARD_REPORT=str(self.folder / "report.json"))
        self.assertEqual(self.calls(), [])
        self.assertEqual(json.loads((self.folder / "report.json").read_text())["step"], 3)


if __name__ == "__main__":
    os.chdir(pathlib.Path(__file__).resolve().parents[2])
    unittest.main()
