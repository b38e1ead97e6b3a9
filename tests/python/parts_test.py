"""The parts of trainyard.torch one by one: sampler, checkpoint files, and what is refused."""

import json
import os
import random
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from job import ROOT

sys.path.insert(0, str(ROOT / "python"))

import torch
from torch import nn
from torch.utils.data import DataLoader

from trainyard import _files
from trainyard._proportional import shares_of
from trainyard._report import _Report
from trainyard.torch import Checkpointer, ProportionalSampler, ResumableSampler


def samplers(length, world, kind=ResumableSampler, **options):
    """One for each rank."""
    made = []
    for rank in range(world):
        with mock.patch("trainyard._sampler.rank_and_world", lambda: (rank, world)):
            made.append(kind(range(length), **options))
    return made


class SamplerTest(unittest.TestCase):
    def test_an_epoch_is_shared_out(self):
        seed = random.SystemRandom().randrange(10**6)
        generator = random.Random(seed)
        for _ in range(50):
            world = generator.randint(1, 5)
            length = generator.randint(1, 40)
            with self.subTest(seed=seed, world=world, length=length):
                workers = samplers(length, world, seed=generator.randrange(100))
                parts = [list(worker) for worker in workers]
                self.assertEqual({len(part) for part in parts}, {len(workers[0])})
                drawn = sorted(sum(parts, []))
                self.assertEqual(set(drawn), set(range(length)))
                self.assertLess(len(drawn) - length, world)  # some again, to come out even

                skip = generator.randint(0, len(parts[0]) + 2)
                for worker, part in zip(workers, parts):
                    worker.start(0, skip * world)
                    self.assertEqual(len(worker), len(part[skip:]))
                    self.assertEqual(list(worker), part[skip:])
                    self.assertEqual(list(worker), part)  # the next iteration is whole

    def test_other_workers_go_on_where_the_last_stopped(self):
        """Nothing twice and nothing left out, but for what makes the end come out even."""
        seed = random.SystemRandom().randrange(10**6)
        generator = random.Random(seed)
        for _ in range(50):
            length = generator.randint(1, 60)
            with self.subTest(seed=seed, length=length):
                drawn, world = [], 1
                while len(drawn) < length:
                    world, each = generator.randint(1, 5), generator.randint(0, 12)
                    workers = samplers(length, world, seed=7)
                    for worker in workers:
                        worker.start(3, len(drawn))
                    drawn += sum([list(worker)[:each] for worker in workers], [])
                self.assertEqual(set(drawn), set(range(length)))
                self.assertLess(len(drawn) - length, world)

    def test_every_epoch_has_an_order_of_its_own(self):
        sampler = ResumableSampler(range(100), seed=5)
        orders = []
        for epoch in (0, 1, 0):
            sampler.start(epoch)
            orders.append(list(sampler))
        self.assertEqual(orders[0], orders[2])
        self.assertNotEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], list(ResumableSampler(range(100), seed=6)))
        self.assertEqual(list(ResumableSampler(range(9), shuffle=False)), list(range(9)))

    def test_nothing_to_sample(self):
        with self.assertRaisesRegex(ValueError, "empty"):
            ResumableSampler([])


class ProportionalTest(unittest.TestCase):
    def setUp(self):
        self.seed = random.SystemRandom().randrange(10**6)
        self.random = random.Random(self.seed)

    def test_shares_are_whole_and_in_proportion(self):
        self.assertEqual(shares_of(10, [1, 1, 1]), [4, 3, 3])
        self.assertEqual(shares_of(128, [28.24, 21.16, 6.05]), [65, 49, 14])
        self.assertEqual(shares_of(1, [1, 3]), [0, 1])
        for _ in range(2000):
            speeds = [self.random.choice([1, 3, 1e-6, 1e9, self.random.uniform(0.1, 10)])
                      for _ in range(self.random.randint(1, 9))]
            samples = self.random.randint(0, 1000)
            with self.subTest(seed=self.seed, samples=samples, speeds=speeds):
                shares = shares_of(samples, speeds)
                self.assertEqual(sum(shares), samples)
                for share, speed in zip(shares, speeds):
                    self.assertLess(abs(share - samples * speed / sum(speeds)), 1 + 1e-9)

    def workers(self, length, world, batch, **options):
        return samplers(length, world, ProportionalSampler, global_batch=batch, seed=3, **options)

    def used(self, worker, batch):
        """What counts of a batch: that of weight 0 does not."""
        worker.begin_step()
        weight = worker.weigh(torch.ones(1)).item()
        self.weights.append(weight)
        return batch if weight else []

    def test_a_batch_is_the_same_whoever_shares_it(self):
        """Also with loaders of which each reads ahead as it likes, while shares change."""
        for _ in range(60):
            length, batch = self.random.randint(1, 80), self.random.randint(1, 12)
            world = self.random.randint(2, 5)
            with self.subTest(seed=self.seed, length=length, batch=batch, world=world):
                alone = list(self.workers(length, 1, batch)[0])
                workers = self.workers(length, world, batch, measure_every=1)
                self.assertEqual(len(workers[0]), len(alone))
                ahead = [[] for _ in workers]
                rests = [iter(worker) for worker in workers]
                for together in alone:
                    for rest, read in zip(rests, ahead):
                        for _ in range(max(1 - len(read), self.random.randint(0, 4))):
                            read += [part] if (part := next(rest, None)) else []
                    self.weights = []
                    parts = [self.used(worker, read.pop(0))
                             for worker, read in zip(workers, ahead)]
                    self.assertEqual(sum(parts, []), together)
                    self.assertAlmostEqual(sum(self.weights) / world, 1)
                    told = [(self.random.uniform(0.1, 9), worker.told()[1]) for worker in workers]
                    for worker in workers:
                        worker.agree(told)

    def test_other_workers_go_on_where_the_last_stopped(self):
        for _ in range(50):
            length, batch = self.random.randint(1, 60), self.random.randint(1, 9)
            with self.subTest(seed=self.seed, length=length, batch=batch):
                done, drawn = 0, []
                while done * batch < length:
                    workers = self.workers(length, self.random.randint(1, 5), batch)
                    steps = self.random.randint(0, 3)
                    self.weights = []
                    for worker in workers:
                        worker.start(5, done * batch)
                        for part, _ in zip(worker, range(steps)):
                            drawn += self.used(worker, part)
                    done += steps
                self.assertEqual(sorted(drawn), list(range(length)))

    def test_shares_change_where_that_makes_steps_shorter(self):
        worker = self.workers(1000, 3, 60, measure_every=5)[0]

        def after(*speeds):
            worker.agree([(speed, (0, 0)) for speed in speeds])
            return len(next(iter(worker)))
        self.assertEqual(after(100, 100, 100), 20)
        self.assertEqual(after(103, 100, 99), 20)  # a step of as long, or nearly
        self.assertEqual(after(None, 100, 10), 20)  # somebody has measured nothing
        self.assertEqual(after(200, 100, 100), 30)
        self.assertEqual([worker.is_due(step) for step in (4, 5, 6, 10)], [False, True, False, True])
        self.assertFalse(self.workers(9, 1, 3)[0].is_due(50))

    def test_a_gpu_keeps_its_own_time(self):
        """Marks in its queue, read when the workers tell each other: the host runs ahead of it. The
        first step is not counted, as where the work is done is known by its loss."""
        class Mark:
            count = 0

            def __init__(self, enable_timing):
                self.enable_timing = enable_timing

            def record(self):
                Mark.count += 1
                self.at = Mark.count

            def synchronize(self):
                self.is_over = True

            def elapsed_time(self, end):
                assert self.enable_timing and end.enable_timing and end.is_over
                return 250.0 * (end.at - self.at)  # milliseconds

        worker = self.workers(100, 2, 10, measure_every=5)[0]
        with mock.patch.object(torch.cuda, "Event", Mark):
            for _ in zip(range(3), worker):
                worker.begin_step()
                worker._on_gpu = True  # as weigh() finds it
                worker._end_lap()
            self.assertEqual(worker.told(), (5 / 0.25, (0, 30)))
        self.assertEqual(worker.told(), (None, (0, 30)))

    def test_what_cannot_work_is_refused(self):
        with self.assertRaisesRegex(ValueError, "global_batch is 0; it must be 1 or more"):
            ProportionalSampler(range(9), global_batch=0)
        with self.assertRaisesRegex(ValueError, "measure_every is -1"):
            ProportionalSampler(range(9), global_batch=3, measure_every=-1)
        with self.assertRaisesRegex(RuntimeError, "a loop over Checkpointer.steps"):
            ProportionalSampler(range(9), global_batch=3).weigh(torch.ones(1))


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "checkpoints"


class ReportTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.folder.mkdir()
        self.path = self.folder / "report.json"
        self.report = _Report(self.path)

    def report_within(self, function):
        """Reports step 1; as soon as that calls `function`, a signal's handler reports step 2."""
        real = getattr(os, function)
        calls = []

        def interrupted(*arguments):
            calls.append(arguments)
            if len(calls) == 1:
                self.report.update({"step": 2, "loss": 0.5}, now=True)
            return real(*arguments)

        with mock.patch.object(os, function, interrupted):
            self.report.update({"step": 1}, now=True)
        return [arguments[0] for arguments in calls if arguments]

    def check_later(self):
        self.assertEqual(json.loads(self.path.read_text()), {"step": 2, "loss": 0.5})
        self.assertEqual([path.name for path in self.folder.iterdir()], ["report.json"])

    def test_a_report_within_a_report_is_the_one_that_stays(self):
        names = self.report_within("replace")
        self.check_later()
        self.assertEqual(len(set(names)), len(names))  # none shares a file with another
        self.assertGreaterEqual(len(names), 2)

    def test_a_report_before_the_file_is_opened_stays_too(self):
        self.report_within("getpid")
        self.check_later()

    def test_what_cannot_be_written_leaves_nothing(self):
        with mock.patch.object(os, "replace", side_effect=OSError("no space")):
            with mock.patch("sys.stderr"):
                self.report.update({"step": 1}, now=True)
        self.assertEqual(list(self.folder.iterdir()), [])


class FilesTest(FolderTest):
    def write(self, step, data=b"weights"):
        return _files.write(self.folder, step, lambda file: file.write(data))

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_the_newest_and_the_one_before_are_kept(self):
        self.assertIsNone(_files.newest(self.folder))
        paths = [self.write(step) for step in (9, 10, 100)]
        self.assertEqual(self.names(), [path.name for path in paths[1:]])
        self.assertEqual(_files.newest(self.folder), paths[2])
        self.assertEqual(paths[2].read_bytes(), b"weights")

    def test_one_that_cannot_be_read_is_not_taken_for_damaged(self):
        self.write(10)
        path = self.write(20)
        path.unlink()
        path.mkdir()
        before = self.names()
        with self.assertRaises(IsADirectoryError):
            _files.newest(self.folder)
        self.assertEqual(self.names(), before)

    def test_a_short_one_is_damaged(self):
        whole = self.write(10)
        short = self.write(20)
        short.write_bytes(short.read_bytes()[:-1])
        self.assertEqual(_files.newest(self.folder), whole)

    def test_a_damaged_one_never_drives_out_a_whole_one(self):
        self.write(10)
        for step in (20, 30):
            path = self.write(step, b"will be damaged")
        path.write_bytes(b"damage")
        next(self.folder.glob("*20.*")).write_bytes(b"damage")
        with self.assertRaisesRegex(_files.DamagedCheckpoints, "none of the 2"):
            _files.newest(self.folder)
        fresh = self.write(15)
        self.assertEqual(_files.newest(self.folder), fresh)
        self.assertEqual(self.names(), [fresh.name])

    def test_a_writer_that_fails_leaves_all_as_it_was(self):
        path = self.write(1)

        def failing(file):
            file.write(b"half")
            raise OSError("no space")
        with self.assertRaisesRegex(OSError, "no space"):
            _files.write(self.folder, 2, failing)
        self.assertEqual(self.names(), [path.name])

    def test_what_is_not_ours_is_left_alone(self):
        self.write(1)
        for name in ("notes.txt", "step-5.ckpt", "step-0000000007.zzzzzzzz.ckpt"):
            (self.folder / name).write_text("mine")
        (self.folder / "step-0000000003.unfinished").write_text("killed")
        _files.remove_unfinished(self.folder)
        self.write(2)
        self.write(3)
        self.assertEqual(len(self.names()), 2 + 3)


class CheckpointerTest(FolderTest):
    def test_outside_trainyard_without_a_directory(self):
        """It is a loop over the loader."""
        model = nn.Linear(1, 1)
        loader = DataLoader(torch.arange(6.0).view(6, 1), batch_size=2)
        steps = [step for step, _ in Checkpointer(model=model).steps(loader, epochs=2)]
        self.assertEqual(steps, [0, 1, 2, 3, 4, 5])

    def test_any_iterable_is_a_loader(self):
        seen = [batch for _, batch in Checkpointer().steps(["a", "b", "c"], total=5)]
        self.assertEqual(seen, ["a", "b", "c", "a", "b"])

    def test_a_directory_of_ones_own(self):
        first = Checkpointer(self.folder, model=nn.Linear(1, 1))
        self.assertEqual(len(list(first.steps([1, 2], total=3))), 3)
        self.assertEqual(Checkpointer(self.folder, model=nn.Linear(1, 1)).step, 3)
        more = Checkpointer(self.folder, model=nn.Linear(1, 1)).steps([1, 2], total=5)
        self.assertEqual(list(more), [(3, 2), (4, 1)])
        with self.assertRaisesRegex(ValueError, "holds model, and this training is net"):
            Checkpointer(self.folder, net=nn.Linear(1, 1))

    def test_a_checkpoint_is_a_plain_torch_file(self):
        model = nn.Linear(1, 1)
        list(Checkpointer(self.folder, model=model).steps([1], total=1))
        loaded = torch.load(_files.newest(self.folder))
        self.assertTrue(torch.equal(loaded["objects"]["model"]["weight"], model.weight))

    @staticmethod
    def loader(batch, sampler=True):
        numbers = list(range(12))
        return DataLoader(numbers, batch,
                          sampler=ResumableSampler(numbers, shuffle=False) if sampler else None)

    def seen(self, loader, stop=None):
        """The batches of a run of two epochs, which is killed in the middle of step `stop`."""
        batches = []
        checkpointer = Checkpointer(self.folder, save_every=0, model=nn.Linear(1, 1))
        for step, batch in checkpointer.steps(loader, epochs=2):
            if step == stop:
                break
            batches.append(batch.tolist())
        return batches

    def edit(self, change):
        path = _files.newest(self.folder)
        checkpoint = torch.load(path)
        change(checkpoint)
        path.unlink()
        _files.write(self.folder, checkpoint["step"], lambda file: torch.save(checkpoint, file))

    def test_an_epoch_goes_on_in_other_batches(self):
        self.assertEqual(self.seen(self.loader(4), stop=1), [[0, 1, 2, 3]])
        rest = self.seen(self.loader(2), stop=3)
        self.assertEqual(rest, [[4, 5], [6, 7]])
        rest = self.seen(self.loader(3))
        self.assertEqual(rest[:3], [[8, 9, 10], [11], [0, 1, 2]])
        self.assertEqual(len(rest), 2 + 4)

    def test_a_checkpoint_of_an_earlier_version(self):
        self.seen(self.loader(4), stop=2)
        self.edit(lambda checkpoint: checkpoint.pop("samples"))
        self.assertEqual(self.seen(self.loader(4)),
                         [[8, 9, 10, 11]] + [list(range(i, i + 4)) for i in (0, 4, 8)])

    def test_a_loader_that_cannot_go_on_with_other_workers(self):
        plain = self.loader(4, sampler=False)
        self.seen(plain, stop=2)
        self.edit(lambda checkpoint: checkpoint.update(random=checkpoint["random"] * 2))
        with self.assertRaisesRegex(ValueError, "written by 2 workers in the middle of an epoch, and "
                                                "these are 1: the loader needs a ResumableSampler"):
            self.seen(plain)
        self.edit(lambda checkpoint: checkpoint.update(epoch=1, batch=0))
        self.assertEqual(len(self.seen(plain)), 3)

    def test_a_worker_that_does_not_know_the_others_is_refused(self):
        with mock.patch.dict("os.environ", WORLD_SIZE="2"):
            with self.assertRaisesRegex(RuntimeError, "WORLD_SIZE is 2: call .*init_process_group"):
                ResumableSampler(range(10))

    def test_what_cannot_work_is_refused(self):
        with self.assertRaisesRegex(TypeError, "lr is a float, which has no state_dict"):
            Checkpointer(lr=0.1)
        with self.assertRaisesRegex(TypeError, "either total=... or epochs=..."):
            next(Checkpointer().steps([1]))
        with self.assertRaisesRegex(ValueError, "no batches"):
            next(Checkpointer().steps([], total=1))


if __name__ == "__main__":
    unittest.main()
