"""A training that was paused, killed or damaged ends with the same bits as an unbroken one."""

import json
import multiprocessing
import os
import re
import resource
import signal
import subprocess
import unittest

import numpy  # noqa: F401  (workers are forked with it loaded)
import torch

from job import PAUSED, ROOT, TRAIN, Job, SeededTest, wait_until

SHUFFLED = ROOT / "tests" / "python" / "shuffled.py"
OWN_LOOP = ROOT / "tests" / "python" / "own_loop.py"
STEPS = 40
OPTIONS = ["--steps", STEPS, "--images", 240, "--batch", 16, "--width", 4]  # 15 batches an epoch


def finished_line(job):
    lines = [line for line in job.output().splitlines() if line.startswith("finished: ")]
    assert len(lines) == 1, f"run {job.runs} did not finish:\n{job.output()}"
    return lines[0]


def saved_steps(job):
    """Oldest first."""
    return sorted(int(re.match(r"step-(\d+)", path.name)[1])
                  for path in job.checkpoints.glob("step-*.ckpt"))


def newest_file(job):
    return max(job.checkpoints.glob("step-*.ckpt"))


def kill(name, *processes):
    """By another process, which may be one of the group that a negative number stands for."""
    subprocess.run(["sh", "-c", 'kill -s "$@"', "sh", name, "--", *map(str, processes)])


def ignores(process, number):
    with open(f"/proc/{process}/status", encoding="ascii") as status:
        mask = re.search(r"^SigIgn:\s*([0-9a-f]+)$", status.read(), re.MULTILINE).group(1)
    return int(mask, 16) >> (number - 1) & 1


def at_step(step, act):
    """Calls `act` in the middle of a step of this run: between its forward and its update."""
    backward = torch.Tensor.backward
    left = step

    def counting(*arguments, **options):
        nonlocal left
        if left == 0:
            act()
        left -= 1
        return backward(*arguments, **options)

    torch.Tensor.backward = counting


def send(number):
    return lambda: os.kill(os.getpid(), number)


class PauseTest(SeededTest):
    unbroken = {}

    def job(self, *options, workers=1, name="job"):
        return Job(os.path.join(self.folder, name), TRAIN, [*OPTIONS, *options], workers)

    def expected(self, workers=1):
        """What an unbroken training with so many workers ends with."""
        if workers not in self.unbroken:
            job = self.job(workers=workers, name="unbroken")
            self.ends(job, [0] * workers)
            self.unbroken[workers] = finished_line(job)
        return self.unbroken[workers]

    def ends(self, job, statuses, prepare=None):
        ended = job.run(prepare)
        self.assertEqual(ended, statuses, "\n".join(map(job.output, range(job.workers))))

    def finish(self, job):
        """Runs it to its end, and compares."""
        self.ends(job, [0] * job.workers)
        self.assertEqual(finished_line(job), self.expected(job.workers))

    def pause(self, job, step, prepare):
        """A run that leaves after `step` steps in all."""
        self.ends(job, [PAUSED] * job.workers, prepare)
        self.assertEqual(saved_steps(job)[-1], step)
        self.assertEqual(json.loads(job.report.read_text())["step"], step)

    def steps(self, count):
        return sorted(self.random.sample(range(1, STEPS), count))

    def test_one_worker_paused_at_random_steps(self):
        job = self.job()
        ways = [send(signal.SIGTERM), send(signal.SIGUSR1), send(signal.SIGUSR2), job.ask_to_leave]
        done = 0
        for i, step in enumerate(self.steps(6)):
            way = ways[i % len(ways)]
            self.pause(job, step, lambda rank: at_step(step - done - 1, way))
            done = step
        self.finish(job)
        self.assertIn(f"goes on after step {done}", job.output())
        report = json.loads(job.report.read_text())
        self.assertEqual((report["step"], report["total"]), (STEPS, STEPS))
        self.assertGreater(report["save_s"], 0)
        self.assertGreater(report["load_s"], 0)
        self.assertGreater(report["accuracy"], 0)

    def test_paused_at_the_end_of_an_epoch(self):
        job = self.job()
        self.pause(job, 15, lambda rank: at_step(14, send(signal.SIGTERM)))
        self.pause(job, 30, lambda rank: at_step(14, send(signal.SIGTERM)))
        self.finish(job)

    def test_two_workers_of_which_some_are_told(self):
        job = self.job(workers=2)
        done = 0
        told = [{0}, {1}, {0, 1}]
        self.random.shuffle(told)
        for ranks, step in zip(told, self.steps(3)):
            def prepare(rank):
                if rank in ranks:
                    at_step(step - done - 1, send(signal.SIGTERM))
            self.pause(job, step, prepare)
            done = step
        self.finish(job)
        self.assertNotEqual(self.expected(1), self.expected(2))

    def test_three_workers(self):
        """From here on the order of a sum matters."""
        job = self.job(workers=3)
        step = self.steps(1)[0]
        self.pause(job, step, lambda rank: at_step(step - 1, send(signal.SIGTERM)))
        self.finish(job)

    def test_two_workers_and_the_stop_file(self):
        """Each sees it when it looks: which step it is, is theirs to agree on."""
        job = self.job(workers=2)
        step = self.steps(1)[0]
        self.ends(job, [PAUSED] * 2, lambda rank: at_step(step, job.ask_to_leave))
        self.assertIn(saved_steps(job)[-1], (step, step + 1))
        self.finish(job)

    def test_a_loop_of_ones_own(self):
        job = Job(os.path.join(self.folder, "job"), OWN_LOOP, workers=2)
        step = self.random.randrange(100)

        def prepare(rank):
            if rank == 1:
                at_step(step, send(signal.SIGTERM))
        self.ends(job, [PAUSED] * 2, prepare)
        for rank in (0, 1):
            self.assertEqual(job.output(rank), f"left after step {step}\n")

    def test_asked_before_the_first_step(self):
        job = self.job()
        self.ends(job, [PAUSED], lambda rank: job.ask_to_leave())
        self.assertEqual(saved_steps(job), [])
        self.finish(job)

    def test_a_finished_training_is_not_trained_again(self):
        job = self.job()
        self.finish(job)
        before = newest_file(job).stat().st_mtime_ns
        self.finish(job)
        self.assertEqual(newest_file(job).stat().st_mtime_ns, before)

    def test_killed_in_the_middle_of_a_save(self):
        """Before, while and after the file is written, and before and after it gets its name."""
        for name in ("open", "write", "fsync", "replace", "replaced", "unlink"):
            with self.subTest(name):
                job = self.job("--save-every", 0, name=name)
                save = self.random.randrange(4, STEPS - 1)
                self.ends(job, [-signal.SIGKILL], lambda rank: kill_in_save(name, save))
                self.assertIn(saved_steps(job)[-1], (save - 1, save))
                self.finish(job)
                self.assertEqual(list(job.checkpoints.glob("*.unfinished")), [])

    def test_killed_at_any_time_with_two_workers(self):
        job = self.job("--save-every", 0, workers=2)
        for victim in (0, 1):
            wanted = min(self.random.randrange(2, 12) + (saved_steps(job) or [0])[-1], STEPS)
            pids = job.start()
            wait_until(lambda: saved_steps(job) and saved_steps(job)[-1] >= wanted,
                       f"a checkpoint of step {wanted}")
            for pid in (pids[victim], pids[1 - victim]):
                os.kill(pid, signal.SIGKILL)
            job.wait(pids)
        self.finish(job)

    def test_damaged_checkpoints(self):
        for damage in (cut_short, emptied, one_bit_flipped):
            with self.subTest(damage.__name__):
                job = self.job(name=damage.__name__)
                first, second = self.steps(2)
                self.pause(job, first, lambda rank: at_step(first - 1, send(signal.SIGTERM)))
                self.pause(job, second, lambda rank: at_step(second - first - 1,
                                                            send(signal.SIGTERM)))
                damage(newest_file(job), self.random)
                self.finish(job)
                self.assertIn("is damaged, trying the one before", job.output())
                self.assertIn(f"goes on after step {first}\n", job.output())

    def test_all_checkpoints_damaged(self):
        job = self.job()
        self.pause(job, 5, lambda rank: at_step(4, send(signal.SIGTERM)))
        cut_short(newest_file(job), self.random)
        self.ends(job, [1])
        self.assertRegex(job.output(), "none of the 1 checkpoints in .* is whole; remove them")

    def test_a_full_disk(self):
        """Training goes on after a save that failed; leaving without one says so."""
        job = self.job("--save-every", 0)
        self.ends(job, [0], lambda rank: disk_of(8000))
        self.assertRegex(job.output(), "step 1 cannot be saved: ")
        self.assertEqual(finished_line(job), self.expected())
        self.assertEqual(list(job.checkpoints.iterdir()), [])

        job = self.job(name="leaving")
        self.pause(job, 3, lambda rank: at_step(2, send(signal.SIGTERM)))

        def prepare(rank):
            disk_of(8000)
            at_step(2, send(signal.SIGTERM))
        self.ends(job, [1], prepare)
        self.assertIn("leaving without a checkpoint of step 6; the last one is of step 3",
                      job.output())
        self.finish(job)

    def test_loader_processes_are_spared(self):
        """A job's signals go to all of its processes, from outside; the loaders live on."""
        def signal_loaders():
            loaders = multiprocessing.active_children()
            assert len(loaders) == 2, loaders
            for loader in loaders:  # the second may have just been started
                wait_until(lambda: ignores(loader.pid, signal.SIGTERM), "the loader is spared")
            for number in ("TERM", "USR1"):
                kill(number, *(loader.pid for loader in loaders))

        job = self.job("--loaders", 2)
        first, second = self.steps(2)
        self.pause(job, first, lambda rank: at_step(
            first - 1, lambda: kill("TERM", -os.getpid())))

        def prepare(rank):
            at_step(0, signal_loaders)
            at_step(second - first - 1, send(signal.SIGTERM))
        self.pause(job, second, prepare)
        self.finish(job)

    def test_a_loader_that_knows_nothing_of_pauses(self):
        """Its epoch is read again up to where it was: in its order, with its noise."""
        for loaders in ([], ["1"]):
            with self.subTest(loaders=loaders):
                unbroken = Job(os.path.join(self.folder, f"unbroken{loaders}"), SHUFFLED, loaders)
                self.ends(unbroken, [0])
                job = Job(os.path.join(self.folder, f"job{loaders}"), SHUFFLED, loaders)
                done = 0
                for step in sorted(self.random.sample(range(1, 33), 3)):  # of 3 epochs of 11
                    self.pause(job, step, lambda rank: at_step(step - done - 1,
                                                               send(signal.SIGTERM)))
                    done = step
                self.ends(job, [0])
                self.assertEqual(finished_line(job), finished_line(unbroken))

    def test_a_real_process_told_from_outside(self):
        job = self.job()
        job.arguments = [argument for argument in map(str, [*OPTIONS, "--steps", 10**6])]
        job.begin()
        command = ["/usr/bin/python3", str(TRAIN), *job.arguments]
        with open(job.run_directory / "out.0", "w", encoding="utf-8") as output:
            process = subprocess.Popen(command, env=job.environment(0), stdout=output,
                                       stderr=output, start_new_session=True)
        try:
            wait_until(job.report.exists, "a report")
            os.killpg(process.pid, signal.SIGTERM)
            self.assertEqual(process.wait(timeout=60), PAUSED, job.output())
        finally:
            process.kill()
            process.wait()
        report = json.loads(job.report.read_text())
        self.assertEqual(saved_steps(job), [report["step"]] if report["step"] else [])
        self.assertEqual(report["total"], 10**6)


def kill_in_save(where, save):
    """SIGKILL at a place of the save of step `save` of this run, which saves every step."""
    from trainyard import _files

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    writes = 0
    original_write, original_sum = _files.write, _files._Summed.write

    def write(directory, step, writer):
        if step == save:
            plant()
        return original_write(directory, step, writer)

    def half_a_write(self, data):
        nonlocal writes
        writes += 1
        if writes == 6:
            self._file.flush()
            die()
        return original_sum(self, data)

    def dying(*arguments, **options):
        die()

    def plant():
        if where == "open":
            die()
        elif where == "write":
            _files._Summed.write = half_a_write
        elif where == "fsync":
            _files.os.fsync = dying
        elif where == "replace":
            _files.os.replace = dying
        elif where == "replaced":
            _files._sync = dying
        elif where == "unlink":
            _files._keep = dying

    _files.write = write


def disk_of(size):
    """No file of this process grows beyond `size` bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def cut_short(path, generator):
    os.truncate(path, generator.randrange(1, path.stat().st_size))


def emptied(path, generator):
    del generator
    os.truncate(path, 0)


def one_bit_flipped(path, generator):
    data = bytearray(path.read_bytes())
    data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
    path.write_bytes(data)


if __name__ == "__main__":
    unittest.main()
