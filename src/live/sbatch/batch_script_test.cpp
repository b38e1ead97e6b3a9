#include "live/sbatch/batch_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "live/sbatch/job_options.h"

namespace trainyard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Expected<BatchScript> parse(const std::string& lines) {
  return parse_batch_script("#!/bin/bash\n" + lines, "a.sh");
}

std::string script_problem(const std::string& lines) {
  const auto script = parse(lines);
  return script ? "" : script.error().message;
}

TEST(BatchScript, OneForSlurmRunsOnce) {
  const auto slurm = parse("#SBATCH --ntasks=2\n#TRAINYARD --class=trial\n");
  EXPECT_TRUE(slurm->spec.runs_once);
  EXPECT_FALSE(slurm->spec.gpus_per_task);
  EXPECT_TRUE(parse("#SBATCH --gpus-per-task=1\n")->spec.gpus_per_task);
  EXPECT_FALSE(parse("#SBATCH --gpus=2\n")->spec.gpus_per_task);
  EXPECT_FALSE(parse("#TRAINYARD --workers=2\n")->spec.runs_once);
  EXPECT_EQ(parse("#TRAINYARD --workers=2..8 --measured-on V100\n")->spec.sizes(),
            (WorkerRange{2, 8}));
  EXPECT_FALSE(parse("")->spec.runs_once);
}

TEST(BatchScript, OptionsOfSbatchAreTaken) {
  const auto script = parse(
      "#SBATCH --job-name=resnet --ntasks=4\n"
      "#SBATCH --gpus-per-task=2 -c 6 --time=1-12:30\n"
      "# a comment\n\n"
      "#SBATCH --signal=B:USR1@90 --dependency=afterok:3:4,afterok:5  # and a comment\n"
      "#SBATCH --chdir=\"/home/ada lovelace\" --mem-per-cpu=2G --requeue --export=ALL\n"
      "python train.py\n"
      "#SBATCH --ntasks=9\n");
  ASSERT_TRUE(script) << script.error().message;
  EXPECT_THAT(script->warnings, ElementsAre(HasSubstr("a.sh:9: is not read, as a command stands")));
  const JobSpec& spec = script->spec;
  EXPECT_EQ(spec.name, "resnet");
  EXPECT_EQ(spec.workers, 4);
  EXPECT_EQ(spec.per_worker, (Resources{.gpus = 2, .milli_cpus = 6000, .memory_mib = 12 * 1024}));
  EXPECT_EQ(spec.time, days(1) + hours(12) + minutes(30));
  EXPECT_EQ(spec.signal, (StopSignal{SIGUSR1, true, seconds(90)}));
  EXPECT_THAT(spec.after, ElementsAre(3, 4, 5));
  EXPECT_EQ(spec.directory, "/home/ada lovelace");
  EXPECT_TRUE(script->exported.all);
  EXPECT_THAT(spec.script, HasSubstr("--ntasks=9"));
}

TEST(BatchScript, GpusForAllOrForEachNodeAreShared) {
  const auto each = [](const std::string& lines) { return parse(lines)->spec.per_worker.gpus; };
  EXPECT_EQ(each(""), 1);
  EXPECT_EQ(each("#SBATCH -n2 -G 8\n"), 4);
  EXPECT_EQ(each("#SBATCH --gpus=v100:2\n"), 2);
  EXPECT_EQ(each("#SBATCH --gres=gpu:4\n"), 4);
  EXPECT_EQ(each("#SBATCH --gres=gpu:a100:4 -n 4\n"), 1);
  EXPECT_EQ(each("#SBATCH --gres=gpu\n"), 1);
  EXPECT_EQ(each("#SBATCH --gres=gpu:a100\n"), 1);
  const auto by_gpus = parse("#SBATCH --gpus=8 --gpus-per-task=2 --cpus-per-gpu=3\n");
  EXPECT_EQ(by_gpus->spec.workers, 4);
  EXPECT_EQ(by_gpus->spec.per_worker, (Resources{.gpus = 2, .milli_cpus = 6000}));
  const auto lightning =
      parse("#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --mem=64G\n");
  EXPECT_EQ(lightning->spec.workers, 8);
  EXPECT_EQ(lightning->spec.per_worker.gpus, 1);
  EXPECT_EQ(lightning->spec.per_worker.memory_mib, 16 * 1024);
  EXPECT_THAT(script_problem("#SBATCH -n 3 --gpus=4\n"),
              HasSubstr("a.sh: 4 GPUs cannot be shared"));
}

TEST(BatchScript, FilesForTheOutputAreTaken) {
  const auto script = parse("#SBATCH -o out/%A_%a.log -e %j.err --open-mode=append\n");
  ASSERT_TRUE(script) << script.error().message;
  EXPECT_EQ(script->spec.output, "out/%A_%a.log");
  EXPECT_EQ(script->spec.error, "%j.err");
  EXPECT_TRUE(script->spec.append);
  EXPECT_THAT(script_problem("#SBATCH --open-mode=a\n"), HasSubstr("--open-mode: 'a' is neither"));
}

TEST(BatchScript, AnArrayIsTaken) {
  EXPECT_EQ(parse("#SBATCH --array=0-9%2\n")->spec.array, "0-9%2");
  EXPECT_EQ(parse("#SBATCH -a 1,3,5-9:2\n")->spec.array, "1,3,5-9:2");
  EXPECT_THAT(script_problem("#SBATCH --array=9-0\n"),
              HasSubstr("a.sh:2: --array: '9-0': ends before"));
}

TEST(BatchScript, ATypeOfGpuIsItsKindBesideAConstraint) {
  const auto asked = [](const std::string& lines) {
    const JobSpec spec = parse(lines)->spec;
    return fmt::format("{} {}", spec.gpu_kind, spec.constraint);
  };
  EXPECT_EQ(asked("#SBATCH --gpus=2\n"), " ");
  EXPECT_EQ(asked("#SBATCH --gpus=v100:2\n"), "v100 ");
  EXPECT_EQ(asked("#SBATCH --gres=gpu:a100:2 --gpus-per-task=a100:1\n"), "a100 ");
  EXPECT_EQ(asked("#SBATCH -C 80gb --gres=gpu:a100\n"), "a100 80gb");
  EXPECT_EQ(asked("#SBATCH --gres=gpu:a100 --constraint='dgx1|dgx2'\n"), "a100 dgx1|dgx2");
  EXPECT_EQ(asked("#TRAINYARD --gpu-kind=V100\n"), "V100 ");
  EXPECT_EQ(asked("#TRAINYARD --gpu-kind=any\n"), " ");
  EXPECT_THAT(parse("#SBATCH --gres=gpu:a100 --gpus-per-task=v100:1\n").error().message,
              HasSubstr("GPUs of kind 'v100' cannot be asked for beside 'a100'"));
  EXPECT_TRUE(parse("#SBATCH --exclusive --mem=0\n")->spec.exclusive);
}

TEST(BatchScript, WhatTheJobDoesTheSameWithoutIsAWarningWithItsLine) {
  const auto script = parse("#SBATCH --partition=gpu -A lab --nice\n#SBATCH --mail-type END\n");
  ASSERT_TRUE(script) << script.error().message;
  EXPECT_THAT(script->warnings, ElementsAre(HasSubstr("a.sh:2: --partition is ignored: there is"),
                                            HasSubstr("a.sh:2: --account is ignored: use is not"),
                                            HasSubstr("a.sh:2: --nice is ignored"),
                                            HasSubstr("a.sh:3: --mail-type is ignored: no mail")));
}

TEST(BatchScript, WhatWouldChangeTheJobAndIsNotSupportedIsRefusedWithItsLine) {
  EXPECT_EQ(script_problem("#SBATCH -n 2\n#SBATCH --hold\n"),
            "a.sh:3: --hold is not supported: submit it when it may start, or behind another with "
            "--after");
  EXPECT_THAT(script_problem("#SBATCH -i data\n"),
              HasSubstr("a.sh:2: --input is not supported: redir"));
  EXPECT_THAT(script_problem("#SBATCH --begin=now+1hour\n"), HasSubstr("--begin is not supported"));
  EXPECT_THAT(script_problem("#SBATCH --exclusive=user\n"),
              HasSubstr("--exclusive: 'user': a machine"));
  EXPECT_THAT(script_problem("#SBATCH --gres=shard:3,gpu:2\n"),
              HasSubstr("--gres: 'shard:3': only gpu"));
  EXPECT_THAT(script_problem("#SBATCH -N 1-4\n"), HasSubstr("--nodes: '1-4' is a range"));
  EXPECT_THAT(script_problem("#SBATCH --mem=0\n"), HasSubstr("a.sh: --mem=0 asks for all"));
  EXPECT_THAT(script_problem("#SBATCH --kill-on-invalid-dep=no\n"), HasSubstr("always cancelled"));
  EXPECT_THAT(script_problem("#SBATCH --ntask=2\n"),
              HasSubstr("a.sh:2: sbatch has no option '--ntask', did you mean '--ntasks'?"));
  EXPECT_THAT(script_problem("#SBATCH --time 2 hours\n"),
              HasSubstr("a.sh:2: 'hours' is neither an option nor the value of one"));
  EXPECT_THAT(script_problem("#SBATCH --requeue=1\n"),
              HasSubstr("--requeue: takes no value, and '1'"));
}

TEST(BatchScript, WhatIsWrongIsAnErrorWithItsLine) {
  EXPECT_THAT(script_problem("\n#SBATCH --ntasks=many\n"),
              HasSubstr("a.sh:3: --ntasks: 'many' is not"));
  EXPECT_THAT(script_problem("#SBATCH --time=1:2:3:4\n"),
              HasSubstr("a.sh:2: --time: '1:2:3:4' is not"));
  EXPECT_THAT(script_problem("#SBATCH --signal=USR9\n"), HasSubstr("a.sh:2: --signal: "));
  EXPECT_THAT(script_problem("#SBATCH --dependency=afterany:3\n"), HasSubstr("only afterok"));
  EXPECT_THAT(script_problem("#SBATCH --dependency=afterok:12_3\n"),
              HasSubstr("'12_3' is not the number"));
  EXPECT_THAT(script_problem("#TRAINYARD --after 12_3\n"),
              HasSubstr("--after: '12_3' is not the number"));
  EXPECT_THAT(script_problem("#SBATCH --mem=lots\n"), HasSubstr("--mem: 'lots' is not"));
  EXPECT_THAT(script_problem("#SBATCH --job-name\n"),
              HasSubstr("--job-name: its value is missing"));
  EXPECT_THAT(script_problem("#SBATCH --job-name='x\n"), HasSubstr("quotation mark"));
  EXPECT_THAT(script_problem("#SBATCH --ntasks=0\n"), HasSubstr("--ntasks: '0' is not"));
  EXPECT_THAT(script_problem("#SBATCH --gpus-per-task=0\n"), HasSubstr("'0' is not"));
  EXPECT_THAT(script_problem("#TRAINYARD --gpu 2\n"),
              HasSubstr("a.sh:2: unknown option '--gpu', did you"));
  EXPECT_THAT(script_problem("#TRAINYARD --grace 1x\n"), HasSubstr("a.sh:2: --grace: "));
  EXPECT_THAT(parse_batch_script("echo\n", "a.sh").error().message, HasSubstr("#!/bin/sh"));
  EXPECT_THAT(script_problem("#SBATCH --time=5\r\necho\r\n"),
              HasSubstr("a.sh: its lines end as in DOS"));
  EXPECT_THAT(parse_batch_script("", "a.sh").error().message, HasSubstr("is empty"));
}

TEST(BatchScript, OurOwnLinesGoBefore) {
  const auto script = parse(
      "#TRAINYARD --class trial --grace=2m --gpus 3 --after 1,2\n"
      "#SBATCH --gpus-per-task=1\n");
  ASSERT_TRUE(script) << script.error().message;
  EXPECT_EQ(script->spec.job_class, JobClass::trial);
  EXPECT_EQ(script->spec.grace, minutes(2));
  EXPECT_EQ(script->spec.per_worker.gpus, 3);
  EXPECT_THAT(script->spec.after, ElementsAre(1, 2));
}

TEST(TimeLimit, MeansTheSameWhereverItIsWritten) {
  for (const auto& [text, meant] :
       {std::pair("90", minutes(90)), std::pair("1:00:00", hours(1)), std::pair("1-6", hours(30)),
        std::pair("2h", hours(2)), std::pair("UNLIMITED", Duration{})}) {
    EXPECT_EQ(job_spec_from_json({{"command", {"x"}}, {"time", text}})->time, meant) << text;
    JobSpec spec;
    const auto option = std::ranges::find(job_options(), "--time", &JobOption::name);
    ASSERT_TRUE(set_job_option(spec, *option, text));
    EXPECT_EQ(spec.time, meant) << text;
    for (const char* line : {"#SBATCH --time={}", "#SBATCH -t {}", "#TRAINYARD --time {}"}) {
      const auto script =
          parse_batch_script("#!/bin/sh\n" + fmt::format(fmt::runtime(line), text) + "\n", "a.sh");
      ASSERT_TRUE(script) << script.error().message;
      EXPECT_EQ(script->spec.time, meant) << line << text;
    }
  }
  EXPECT_EQ(job_spec_from_json({{"command", {"x"}}, {"time", 90}})->time, seconds(90))
      << "a number of JSON is of seconds, like every other";
}

}  // namespace
}  // namespace trainyard
