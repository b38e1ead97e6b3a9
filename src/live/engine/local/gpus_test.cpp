#include "live/engine/local/gpus.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "live/engine/local/machine.h"

namespace trainyard {
namespace {

/// A machine with the driver that a test gives it.
class GpusTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "trainyard-gpus-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Built from C; empty if there is no compiler.
  std::string library(const std::string& source) {
    const std::string path = folder_ + "/libfake.so";
    std::ofstream(folder_ + "/fake.c") << source;
    const std::string build = "cc -shared -fPIC -o " + path + " " + folder_ + "/fake.c 2>/dev/null";
    return std::system(build.c_str()) == 0 ? path : "";
  }

  std::string program(const std::string& script) {
    const std::string path = folder_ + "/nvidia-smi";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    ::chmod(path.c_str(), 0755);
    return path;
  }

  std::string folder_;
};

constexpr const char* kTwoGpus = R"(
#include <stdio.h>
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned* n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** d) { *d = (void*)(long)(i + 1); return 0; }
int nvmlDeviceGetName(void* d, char* s, unsigned n) {
  snprintf(s, n, "NVIDIA A100-SXM4-%dGB", (int)(long)d * 40);
  return 0;
}
int nvmlDeviceGetUUID(void* d, char* s, unsigned n) { snprintf(s, n, "GPU-%d", (int)(long)d); return 0; }
)";

TEST_F(GpusTest, AreReadFromNvml) {
  const std::string fake = library(kTwoGpus);
  if (fake.empty()) GTEST_SKIP() << "no C compiler here";
  EXPECT_EQ(gpus_from_nvml(fake),
            (std::vector<Gpu>{{0, "A100-SXM4-40GB", "GPU-1"}, {1, "A100-SXM4-80GB", "GPU-2"}}));
}

TEST_F(GpusTest, DeviceMinorsAreNotInTheOrderOfNumbers) {
  const std::string fake = library(std::string(kTwoGpus) + R"(
int nvmlDeviceGetMinorNumber(void* d, unsigned* n) { *n = 8 - (unsigned)(long)d; return 0; }
)");
  if (fake.empty()) GTEST_SKIP() << "no C compiler here";
  EXPECT_EQ(gpus_from_nvml(fake), (std::vector<Gpu>{{0, "A100-SXM4-40GB", "GPU-1", 7},
                                                    {1, "A100-SXM4-80GB", "GPU-2", 6}}));
}

/// The first GPU is divided: instances 0 and 2 exist. The second has MIG too, and it is off.
constexpr const char* kMig = R"(
int nvmlDeviceGetMinorNumber(void* d, unsigned* n) { *n = 4 + (unsigned)(long)d; return (long)d > 2; }
int nvmlDeviceGetMigMode(void* d, unsigned* now, unsigned* pending) {
  *now = (long)d == 1;
  *pending = 1;
  return 0;
}
int nvmlDeviceGetMaxMigDeviceCount(void* d, unsigned* n) { *n = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void* d, unsigned i, void** instance) {
  *instance = (void*)(long)(100 + i);
  return i == 0 || i == 2 ? 0 : 6;
}
)";

TEST_F(GpusTest, InstancesOfMigAreGpusOfTheirOwn) {
  std::string source = kTwoGpus;
  source.replace(source.find(R"("GPU-%d")"), 8, R"((long)d < 100 ? "GPU-%d" : "MIG-%d")");
  const std::string fake = library(source + kMig);
  if (fake.empty()) GTEST_SKIP() << "no C compiler here";
  const auto gpus = gpus_from_nvml(fake);
  ASSERT_TRUE(gpus);
  ASSERT_EQ(gpus->size(), 3U);
  EXPECT_EQ((*gpus)[0].uuid, "MIG-100");
  EXPECT_EQ((*gpus)[1].uuid, "MIG-102");
  EXPECT_EQ((*gpus)[2], (Gpu{1, "A100-SXM4-80GB", "GPU-2", 6}));
  for (const std::size_t instance : {0, 1}) {
    EXPECT_EQ((*gpus)[instance].number, 0) << "the divided GPU's";
    EXPECT_EQ((*gpus)[instance].device_minor, 5) << "the divided GPU's";
  }
  const auto machine = this_machine(*gpus);
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->machines[0].gpu_names,
            (std::vector<std::string>{"MIG-100", "MIG-102", "GPU-2"}));
}

TEST_F(GpusTest, OneThatDoesNotAnswerIsLeftOut) {
  std::string source = kTwoGpus;
  const std::string uuid = "int nvmlDeviceGetUUID(void* d, char* s, unsigned n) {";
  source.replace(source.find(uuid), uuid.size(), uuid + " if ((long)d == LOST) return 15;");
  for (const auto& [lost, left] : {std::pair{"1", "GPU-2"}, std::pair{"2", "GPU-1"}}) {
    const std::string fake = library(fmt::format("#define LOST {}\n{}", lost, source));
    if (fake.empty()) GTEST_SKIP() << "no C compiler here";
    const auto gpus = gpus_from_nvml(fake);
    ASSERT_TRUE(gpus);
    ASSERT_EQ(gpus->size(), 1U);
    EXPECT_EQ(gpus->front().uuid, left);
  }
  EXPECT_FALSE(gpus_from_nvml(library("#define LOST (long)d\n" + source))) << "none is left";
}

TEST_F(GpusTest, ALibraryThatIsMissingOrFailsIsNone) {
  EXPECT_FALSE(gpus_from_nvml("libno-such-library.so.1"));
  const std::string hollow = library("int nvmlInit_v2(void) { return 0; }");
  if (hollow.empty()) GTEST_SKIP() << "no C compiler here";
  EXPECT_FALSE(gpus_from_nvml(hollow)) << "functions are missing";
  std::string failing = kTwoGpus;
  failing.replace(failing.find("return 0"), 8, "return 9");
  EXPECT_FALSE(gpus_from_nvml(library(failing))) << "a driver that does not work";
}

TEST_F(GpusTest, AreReadFromNvidiaSmi) {
  const std::string fake = program(
      "[ \"$*\" = '--query-gpu=uuid,name --format=csv,noheader' ] || exit 1\n"
      "echo 'GPU-1f, Tesla V100-SXM2-16GB'; echo 'GPU-2e, NVIDIA GeForce RTX 3090'\n");
  EXPECT_EQ(gpus_from_nvidia_smi(fake),
            (std::vector<Gpu>{{0, "V100-SXM2-16GB", "GPU-1f"}, {1, "RTX-3090", "GPU-2e"}}));
  EXPECT_FALSE(gpus_from_nvidia_smi(program("echo 'no comma'\n")));
  EXPECT_FALSE(gpus_from_nvidia_smi(program("echo 'no devices'; exit 6\n")));
  EXPECT_FALSE(gpus_from_nvidia_smi(folder_ + "/no-such-program"));
  EXPECT_FALSE(gpus_from_nvidia_smi(program("exec sleep 1000\n"), microseconds(50'000)))
      << "one that hangs";
}

TEST_F(GpusTest, TheLibraryIsAskedBeforeTheProgramAndBothBeforeTheCores) {
  const std::string fake = program("echo 'GPU-1, NVIDIA H100'\n");
  EXPECT_EQ(find_gpus("libno-such-library.so.1", fake), (std::vector<Gpu>{{0, "H100", "GPU-1"}}));
  EXPECT_FALSE(find_gpus("libno-such-library.so.1", folder_ + "/no-such-program"));
  const std::string nvml = library(kTwoGpus);
  if (nvml.empty()) GTEST_SKIP() << "no C compiler here";
  EXPECT_EQ(find_gpus(nvml, fake)->size(), 2U);
}

TEST_F(GpusTest, TheProgramIsFoundInThePath) {
  if (find_gpus()) GTEST_SKIP() << "this machine has a driver of its own";
  const std::string path = std::getenv("PATH");
  program("echo 'GPU-1, NVIDIA H100'\n");
  ::setenv("PATH", (folder_ + ":" + path).c_str(), 1);
  const auto found = find_gpus();
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(describe(this_machine(*found).value()), "1 rack, 1 machine, 1 GPU (1 H100)");
  const std::string without = describe(this_machine({}).value());
  EXPECT_NE(without.find(" cpu)"), std::string::npos) << without;
}

TEST(ThisMachine, IsOneMachineWithWhatItHas) {
  const auto machine = this_machine({{0, "A100", "a"}, {1, "A100", "b"}, {3, "A100", "d"}});
  ASSERT_TRUE(machine);
  ASSERT_EQ(machine->machines.size(), 1U);
  EXPECT_EQ(machine->machines[0].name, host_name());
  EXPECT_EQ(machine->total_gpus, 3);
  EXPECT_GE(machine->machines[0].capacity.milli_cpus, 1000);
  EXPECT_GT(machine->machines[0].capacity.memory_mib, 100);
}

TEST(ThisMachine, CoresStandInForGpusThatItHasNot) {
  const auto machine = this_machine({});
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->total_gpus,
            std::min(kMaxGpusPerMachine, machine->machines[0].capacity.milli_cpus / 1000));
  EXPECT_EQ(this_machine({}, 5)->total_gpus, 5);
  EXPECT_FALSE(this_machine({}, kMaxGpusPerMachine + 1));
  EXPECT_FALSE(this_machine({}, -1));
}

}  // namespace
}  // namespace trainyard
