// What is read from Slurm's texts and from users' comments, and what is written there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "live/engine/slurm/comment.h"
#include "live/engine/slurm/mark.h"
#include "live/engine/slurm/nodes.h"
#include "live/engine/slurm/request.h"
#include "live/engine/slurm/submission.h"
#include "live/engine/slurm/tres.h"
#include "live/job/job_terms.h"

namespace trainyard {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string problem_of(std::string_view comment) {
  JobSpec spec;
  const auto read = read_slurm_comment(comment, spec);
  return read ? "" : read.error().message;
}

TEST(SlurmComment, SaysWhatAPolicyNeeds) {
  JobSpec spec;
  ASSERT_TRUE(read_slurm_comment(
      "trainyard: class=trial  grace=120 model=resnet50 signal=B:USR1 time=2h measured_on=V100",
      spec));
  EXPECT_EQ(spec.job_class, JobClass::trial);
  EXPECT_EQ(spec.grace, seconds(120));
  EXPECT_EQ(spec.model, "resnet50");
  EXPECT_EQ(spec.signal.number, SIGUSR1);
  EXPECT_TRUE(spec.signal.leader_only);
  EXPECT_EQ(spec.time, hours(2));
  EXPECT_EQ(spec.measured_on, "V100");
}

TEST(SlurmComment, AJobTellsItsProgressThere) {
  const std::string_view comment =
      R"(trainyard: class=trial told0={"step":7} told1={"step":120,"total":1000,"accuracy":0.87})";
  JobSpec spec;
  ASSERT_TRUE(read_slurm_comment(comment, spec)) << "it is none of what its user asks for";
  EXPECT_EQ(spec.job_class, JobClass::trial);
  const auto told = told_in_comment(comment, 1);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->step, 120);
  EXPECT_EQ(told->total, 1000);
  EXPECT_EQ(told->accuracy, 0.87);
  EXPECT_FALSE(told->loss);
  EXPECT_EQ(told_in_comment(comment, 0)->step, 7);
  for (const char* nothing :
       {"", "trainyard:", "trainyard: told2={\"step\":1}", "told1={\"step\":1}",
        "trainyard: told1={\"step\":-1}", "trainyard: told1={\"step\":1e99}",
        "trainyard: told1={\"step\":1", "trainyard: told1=", "trainyard: xtold1={\"step\":1}"})
    EXPECT_FALSE(told_in_comment(nothing, 1)) << nothing;
  EXPECT_THAT(problem_of("trainyard: told=3"), HasSubstr("unknown key 'told'"));
}

TEST(SlurmMarks, AreReadBesideWhatAJobTells) {
  const SlurmMark mark{.daemon = "1f", .job = 5, .run = 2};
  EXPECT_EQ(parse_mark(format(mark) + R"( told0={"step":1})"), mark);
  EXPECT_FALSE(parse_mark(format(mark) + " told0"));
}

TEST(SlurmComment, OtherCommentsSayNothing) {
  JobSpec spec;
  const JobSpec before = spec;
  for (const char* comment : {"", "for the paper", "class=trial", "trainyard:", "trainyard: "})
    EXPECT_TRUE(read_slurm_comment(comment, spec)) << comment;
  EXPECT_EQ(spec, before);
}

TEST(SlurmComment, WhatIsWrongIsNamed) {
  EXPECT_THAT(problem_of("trainyard: clas=trial"), HasSubstr("did you mean 'class'?"));
  EXPECT_THAT(problem_of("trainyard: class=huge"), HasSubstr("'huge' is neither trial nor batch"));
  EXPECT_THAT(problem_of("trainyard: class"), HasSubstr("key=value"));
  EXPECT_THAT(problem_of("trainyard: grace=2 grace=3"), HasSubstr("'grace' stands there twice"));
  EXPECT_THAT(problem_of("trainyard: grace=2h"), HasSubstr("longer than"));
  EXPECT_THAT(problem_of("trainyard: command=rm"), HasSubstr("unknown key 'command'"));
  EXPECT_THAT(problem_of("trainyard: model=\xff"), HasSubstr("not UTF-8"));
}

TEST(SlurmMark, IsReadAsItWasWritten) {
  const SlurmMark mark{"1a2b3c4d", 5, 2, 1, 3, 1'794'888'564};
  EXPECT_EQ(format(mark), "trainyard: job=5 run=2 restarts=1 birth=3 since=1794888564 of=1a2b3c4d");
  EXPECT_EQ(parse_mark(format(mark)), mark);
  EXPECT_TRUE(is_ours(format(mark)));
  EXPECT_TRUE(is_ours(not_taken("it asks for no GPUs")));
  for (const char* text : {"", "trainyard: ", "trainyard: job=5", "trainyard: job=0 of=a",
                           "trainyard: job=x of=a", "trainyard: class=trial", "job=5 of=a",
                           "trainyard: job=5 of=a more", "trainyard: job=5 run=-1 of=a"})
    EXPECT_FALSE(parse_mark(text)) << text;
}

TEST(SlurmTres, GpusAreFoundInSlurmsTexts) {
  EXPECT_EQ(parse_tres_gpus("gres:gpu:2"), (SlurmGpus{2, ""}));
  EXPECT_EQ(parse_tres_gpus("gres:gpu:v100:4,gres:disk:9"), (SlurmGpus{4, "v100"}));
  EXPECT_EQ(parse_tres_gpus("gpu:a100:8(S:0-1)"), (SlurmGpus{8, "a100"}));
  EXPECT_EQ(parse_tres_gpus("gpu"), (SlurmGpus{1, ""}));
  EXPECT_EQ(parse_tres_gpus("gres/gpu=3"), (SlurmGpus{3, ""}));
  EXPECT_EQ(parse_tres_gpus("license:5"), SlurmGpus{});
  EXPECT_EQ(parse_tres_gpus(""), SlurmGpus{});
  EXPECT_THAT(parse_gpu_numbers("gpu:2(IDX:0-1)"), ElementsAre(0, 1));
  EXPECT_THAT(parse_gpu_numbers("gpu:v100:3(IDX:0,2-3)"), ElementsAre(0, 2, 3));
  EXPECT_THAT(parse_gpu_numbers("disk:1(IDX:5),gpu:1(IDX:7)"), ElementsAre(7));
  EXPECT_THAT(parse_gpu_numbers("gpu:2"), IsEmpty());
}

SlurmNode node_named(const std::string& name, const std::string& rack, std::int32_t gpus = 4) {
  return {name, rack, MachineReport::State::up, "", "v100", {gpus, 16'000, 64'000}};
}

class Request : public testing::Test {
 protected:
  void SetUp() override { job_.id = "17", job_.name = "train", job_.request.memory_mib = 100; }
  Expected<JobSpec> spec() const { return spec_of(job_, nodes_); }
  /// What a worker takes of a node.
  [[nodiscard]] Resources on(const SlurmNode& node) const {
    const auto made = spec();
    EXPECT_TRUE(made) << made.error().message;
    return amounts_on(terms_of(*made), made->per_worker, node.capacity);
  }
  std::string problem() const {
    const auto made = spec();
    return made ? "" : made.error().message;
  }
  void expect_gang(std::int32_t workers, std::int32_t gpus) const {
    const auto made = spec();
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->workers, workers);
    EXPECT_EQ(made->per_worker.gpus, gpus);
  }
  SlurmJob job_;
  std::vector<SlurmNode> nodes_{node_named("a", ""), node_named("b", "")};
};

TEST_F(Request, AWorkerIsWhatAJobHasOnANode) {
  job_.request.nodes = 2, job_.request.per_node.count = 4;
  expect_gang(2, 4);
  job_.request.per_node = {}, job_.request.nodes = 1, job_.request.per_job.count = 3;
  expect_gang(1, 3);
  job_.request.per_job.count = 8;
  expect_gang(2, 4);
  job_.request.per_job = {}, job_.request.per_task.count = 1, job_.request.tasks = 3;
  expect_gang(1, 3);
  job_.request.nodes = 2, job_.request.tasks = 4, job_.request.tasks_per_node = 2;
  expect_gang(2, 2);
  job_.request = {}, job_.request.nodes = 2, job_.request.is_exclusive = true;
  expect_gang(2, 4);
}

TEST_F(Request, WorkersOfAJobNeverFitOnOneNode) {
  job_.request.nodes = 2, job_.request.per_node.count = 1;
  EXPECT_EQ(workers_that_fit(on(nodes_[0]), nodes_[0].capacity, 2), 1);
}

TEST_F(Request, CpusAndMemoryAreThoseOfSlurm) {
  job_.request.cpus = 6, job_.request.memory_mib = 50, job_.request.memory_per_cpu = true;
  job_.request.per_node.count = 2;
  EXPECT_EQ(spec()->per_worker, (Resources{2, 6000, 300}));
  job_.request.memory_mib = 0;
  EXPECT_EQ(on(nodes_[0]).memory_mib, 64'000) << "all that the node has";
  job_.request.memory_per_gpu = 1000, job_.request.cpus_per_gpu = 4;
  EXPECT_EQ(spec()->per_worker, (Resources{2, 8000, 2000}));
}

/// 4 GPUs, 16 CPUs; and 2 GPUs, 64 CPUs, with ib.
TEST_F(Request, WhatANodeMakesIsThatOfWhicheverNodeItIs) {
  nodes_[1] = {"b", "", MachineReport::State::up, "", "t4", {2, 64'000, 8'000}, {"t4", "ib"}};
  job_.request.is_exclusive = true;
  EXPECT_EQ(on(nodes_[0]), nodes_[0].capacity);
  EXPECT_EQ(on(nodes_[1]), nodes_[1].capacity);
  EXPECT_EQ(spec()->per_worker.gpus, 2) << "the fewest";
  job_.request = {}, job_.request.nodes = 2, job_.request.per_node.count = 1;
  EXPECT_EQ(on(nodes_[0]), (Resources{1, 8'001, 64'000})) << "alone, with all memory";
  EXPECT_EQ(on(nodes_[1]), (Resources{1, 32'001, 8'000}));
  job_.request.nodes = 1, job_.request.features = "ib";
  ASSERT_TRUE(spec()) << problem();
  EXPECT_EQ(spec()->constraint, "ib");
  EXPECT_EQ(spec()->gpu_kind, "");
  job_.request.per_node.count = 4;
  EXPECT_THAT(problem(), HasSubstr("more than any has")) << "the node with ib has 2 GPUs";
  job_.request.features = "T4", job_.request.per_node.count = 1;
  EXPECT_EQ(spec()->gpu_kind, "T4");
  EXPECT_EQ(spec()->constraint, "");
}

TEST_F(Request, WhatSlurmCannotBeToldExactlyIsNotTaken) {
  EXPECT_THAT(problem(), HasSubstr("asks for no GPUs"));
  job_.request.per_job.count = 6;
  EXPECT_THAT(problem(), HasSubstr("--gpus-per-node"));
  job_.request.per_job.count = 20;
  EXPECT_EQ(problem(), "it asks for 5 nodes with 4 GPUs each, and there are only 2");
  job_.request.per_job.count = 1;
  EXPECT_EQ(problem(), "");
  job_.request.nodes_wanted = "a";
  EXPECT_THAT(problem(), HasSubstr("--nodelist"));
  job_.request.nodes_wanted = "", job_.request.features = "fast";
  EXPECT_EQ(problem(),
            "it asks for the feature 'fast', which no node of this partition with such GPUs has");
  job_.request.features = "fast*2";
  EXPECT_THAT(problem(), HasSubstr("'fast*2' is not a constraint"));
  job_.request.features = "V100";
  EXPECT_EQ(problem(), "");
  job_.request.cpus = 17;
  EXPECT_THAT(problem(), HasSubstr("more than any has"));
  job_.request.cpus = 1, job_.may_requeue = false;
  EXPECT_THAT(problem(), HasSubstr("--no-requeue"));
}

TEST(SlurmNodes, AreAClusterWhoseRacksAreSwitches) {
  SlurmNodes nodes;
  auto change = nodes.take({node_named("a1", "A"), node_named("b1", "B"), node_named("a2", "A")});
  EXPECT_TRUE(change.is_other_cluster);
  EXPECT_THAT(change.states, IsEmpty());
  EXPECT_EQ(nodes.cluster().racks.size(), 2U);
  EXPECT_EQ(nodes.cluster().machines[1].name, "a2");
  EXPECT_EQ(nodes.cluster().total_gpus, 12);
  SlurmNode drained = node_named("b1", "B");
  drained.state = MachineReport::State::closed, drained.why = "drained";
  change = nodes.take({node_named("a1", "A"), drained});
  EXPECT_FALSE(change.is_other_cluster) << "one that is gone stays";
  ASSERT_EQ(change.states.size(), 2U);
  EXPECT_TRUE(nodes.is_down("a2"));
  EXPECT_TRUE(nodes.take({node_named("a1", "A", 8), drained}).is_other_cluster);
}

TEST(SlurmSubmission, AGangIsSharedEvenly) {
  JobSpec spec;
  spec.command = {"python3", "it's.py"};
  Launch launch;
  spec.directory = "/home/ada";
  launch.spec = &spec, launch.id = {7, 1}, launch.per_worker = {2, 8000, 1000};
  launch.workers.resize(1);
  EXPECT_EQ(submission_of(launch, {"a"})->script, "#!/bin/sh\nexec 'python3' 'it'\\''s.py'\n");
  EXPECT_THAT(submission_of(launch, {"a"})->environment,
              Contains("TRAINYARD_CHECKPOINT_DIR=/home/ada/trainyard-checkpoints/7"));
  launch.workers.resize(4);
  const auto even = submission_of(launch, {"a", "a", "b", "b"});
  ASSERT_TRUE(even) << even.error().message;
  EXPECT_EQ(even->nodes, 2);
  EXPECT_EQ(even->gpus_per_node, 4);
  EXPECT_EQ(even->memory_per_node_mib, 2000);
  EXPECT_THAT(even->script, HasSubstr("exec srun --gpus-per-task=2"));
  EXPECT_THAT(submission_of(launch, {"a", "a", "a", "b"}).error().message,
              HasSubstr("shares a gang evenly"));
}

}  // namespace
}  // namespace trainyard
