#include "model/machine_terms.h"

#include <gtest/gtest.h>

#include "model/workload.h"

namespace trainyard {
namespace {

constexpr std::int32_t kGib = 1024;

/// 128 CPUs for 8 GPUs, with ib; 32 for 4; and one without GPUs.
Cluster cluster_with_shares() {
  return *parse_cluster_toml(
      "[[rack]]\n[[rack.machine]]\ngpus = 8\ncpus = 128\nmemory = \"800GiB\"\nkind = \"A100\"\n"
      "features = [\"ib\"]\n"
      "[[rack.machine]]\ngpus = 4\ncpus = 32\nmemory = \"100GiB\"\nkind = \"T4\"\n"
      "[[rack.machine]]\ngpus = 0\ncpus = 64\nkind = \"T4\"\n",
      "");
}

Resources on(const MachineTerms& terms, const Resources& asked, std::size_t machine) {
  const Cluster cluster = cluster_with_shares();
  return demand_on(terms, asked, cluster, cluster.machines[machine]);
}

TEST(MachineTerms, AShareIsThatOfTheMachine) {
  const MachineTerms share{.shares_cpus = true, .shares_memory = true};
  EXPECT_EQ(on(share, {.gpus = 1}, 0), (Resources{1, 16'000, 100 * kGib}));
  EXPECT_EQ(on(share, {.gpus = 1}, 1), (Resources{1, 8'000, 25 * kGib}));
  EXPECT_EQ(on(share, {.gpus = 2}, 0), (Resources{2, 32'000, 200 * kGib}));
  EXPECT_EQ(on({.shares_cpus = true}, {1, 0, 7}, 1), (Resources{1, 8'000, 7}));
  EXPECT_EQ(on(share, {.gpus = 1}, 2), kForbidden) << "no GPUs";
  EXPECT_EQ(on(share, {.gpus = 5}, 1), kForbidden) << "more GPUs than it has";
}

TEST(MachineTerms, AWholeMachineIsAllOfIt) {
  const MachineTerms whole{.shares_memory = true, .whole_machine = true};
  EXPECT_EQ(on(whole, {.gpus = 1}, 0), (Resources{8, 128'000, 800 * kGib}));
  EXPECT_EQ(on(whole, {.gpus = 1}, 1), (Resources{4, 32'000, 100 * kGib}));
  EXPECT_EQ(on(whole, {.gpus = 1}, 2), kForbidden);
  const MachineTerms of_eight{.shares_memory = true, .whole_machine = true, .parts = 8};
  EXPECT_EQ(on(of_eight, {.gpus = 1}, 0).gpus, 8);
  EXPECT_EQ(on(of_eight, {.gpus = 1}, 1), kForbidden) << "4 GPUs do not divide by 8";
}

TEST(MachineTerms, AConstraintForbidsTheOthers) {
  const MachineTerms ib{.constraint = *parse_constraint("ib")};
  EXPECT_EQ(on(ib, {1, 2, 3}, 0), (Resources{1, 2, 3}));
  EXPECT_EQ(on(ib, {1, 2, 3}, 1), kForbidden);
}

TEST(MachineTerms, AMisfitNamesWhatMachinesHave) {
  const Cluster cluster = cluster_with_shares();
  Workload workload;
  Job job;
  job.terms = workload.terms.add({.constraint = *parse_constraint("nvlink&ib|h100")});
  EXPECT_EQ(
      misfit(workload, job, cluster),
      "asks for a machine with 'nvlink&ib|h100', and none has that: r0m0 has a100, ib; r0m1 to "
      "r0m2 have t4");
  job.terms = workload.terms.add({.constraint = *parse_constraint("ib")});
  EXPECT_EQ(misfit(workload, job, cluster), "");
  job.kind = KindId{static_cast<std::uint16_t>(workload.kinds.add("T4"))};
  EXPECT_EQ(
      misfit(workload, job, cluster),
      "asks for a machine with 'ib', and none with its kind of GPU has that: r0m0 has a100, ib; "
      "r0m1 to r0m2 have t4");
  job = {};
  job.per_worker.gpus = 8, job.workers = 2;
  job.terms = workload.terms.add({.shares_cpus = true, .shares_memory = true});
  EXPECT_EQ(
      misfit(workload, job, cluster),
      "needs 2 workers of 8 GPUs, a share of the CPUs and a share of the memory each; the empty "
      "cluster has room for 1");
}

TEST(TermsList, HoldsEachOnce) {
  TermsList list;
  EXPECT_EQ(list.add({.shares_cpus = true}), TermsId{0});
  EXPECT_EQ(list.add({.shares_memory = true}), TermsId{1});
  EXPECT_EQ(list.add({.shares_cpus = true}), TermsId{0});
  EXPECT_TRUE(list[TermsId{1}].shares_memory);
}

}  // namespace
}  // namespace trainyard
