#include "perf/measurements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "perf/catalogue.h"

namespace trainyard {
namespace {

TEST(SiaCsv, ColumnsInAnyOrder) {
  const auto rows =
      parse_sia_csv("local_bsz,step_time,sync_time,placement\n4,0.5,0.125,134\n", "f");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->front().gpus, (std::vector<int>{1, 3, 4}));
  EXPECT_EQ(rows->front().batch, 4);
  EXPECT_EQ(rows->front().step_s, 0.5);
  EXPECT_EQ(rows->front().sync_s, 0.125);
  EXPECT_FALSE(rows->front().extrapolates);
}

TEST(SiaCsv, CountsAreSpreadEvenly) {
  const auto rows =
      parse_sia_csv("num_nodes,num_replicas,local_bsz,step_time,sync_time\n3,8,4,0.5,0.1\r\n", "f");
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->front().gpus, (std::vector<int>{3, 3, 2}));
  EXPECT_TRUE(rows->front().extrapolates);
}

TEST(SiaCsv, StepsWithoutSynchronisationGetIt) {
  const auto rows =
      parse_sia_csv("placement,local_bsz,step_time,sync_time\n2,1,0.1,0.05\n8,1,0.1,0.3\n", "f");
  ASSERT_TRUE(rows);
  EXPECT_DOUBLE_EQ((*rows)[0].step_s, 0.15);
  EXPECT_DOUBLE_EQ((*rows)[1].step_s, 0.4);
}

TEST(SiaCsv, ErrorsNameTheLine) {
  EXPECT_EQ(parse_sia_csv("", "f").error().message, "f: it is empty");
  for (const char* row : {"0,4,1,1", "1,x,1,1", "1,4,0,1", "1,4,1", "1a,4,1,1", "1,4,1,-1", ",,,"})
    EXPECT_TRUE(parse_sia_csv(
                    fmt::format("placement,local_bsz,step_time,sync_time\n1,4,1,1\n{}\n", row), "f")
                    .error()
                    .message.starts_with("f:3: "))
        << row;
}

TEST(SiaCurve, IsByTheShareOfTheIterations) {
  const auto curve = parse_sia_curve("progress,iteration,metric\n9,10,0.4\n8,40,0.8\n", "f");
  ASSERT_TRUE(curve) << curve.error().message;
  EXPECT_EQ(curve->measured, (std::vector<LearningCurve::Sample>{{0, 0}, {0.25, 0.4}, {1, 0.8}}));
  EXPECT_DOUBLE_EQ(curve->share_to(0.5), 0.25);
}

TEST(SiaCurve, AnErrorThatFallsIsAnAccuracyThatRises) {
  const auto curve = parse_sia_curve("iteration,metric\n1,100\n2,40\n4,20\n", "f");
  ASSERT_TRUE(curve) << curve.error().message;
  EXPECT_EQ(curve->measured,
            (std::vector<LearningCurve::Sample>{{0, 0}, {0.25, 0}, {0.5, 0.6}, {1, 0.8}}));
}

TEST(SiaCurve, ErrorsSayWhatIsWrong) {
  const auto error = [](const char* text) { return parse_sia_curve(text, "f").error().message; };
  EXPECT_EQ(error(""), "f: it is empty");
  EXPECT_EQ(error("iteration,metric\n1,0.5\n"), "f: a curve has at least two epochs");
  EXPECT_EQ(error("iteration,metric\n1,x\n"), "f:2: '1,x' has no iteration and metric");
  EXPECT_EQ(error("iteration,metric\n2,0.5\n2,0.6\n"),
            "f: iterations do not rise from epoch to epoch");
}

/// What Sia measured follows the form that is fitted, and the catalogue says when it is nearly
/// there.
TEST(SiaCurve, TheCatalogueAgreesWithWhatWasMeasured) {
  const auto measured = read_sia_curves("../shared/traces/sia");
  if (!measured) GTEST_SKIP() << "no sia/ in ../shared/traces";
  for (const auto& [folder, batch, name] : {std::tuple{"cifar10", 128, "ResNet-18"},
                                            {"imagenet", 200, "ResNet-50"},
                                            {"ncf", 256, "NCF"},
                                            {"yolov3", 8, "YOLOv3"},
                                            {"deepspeech2", 20, "DeepSpeech2"}}) {
    const auto found = std::ranges::find_if(
        *measured, [&](const MeasuredCurve& m) { return m.model == folder && m.batch == batch; });
    ASSERT_NE(found, measured->end()) << folder;
    const ModelProfile* model = Catalogue::builtin().find(name);
    ASSERT_TRUE(model != nullptr && model->curve) << name;
    const LearningCurve said = model->curve->learning_curve();
    EXPECT_NEAR(said.converged(), found->curve.converged(), 0.002) << name;
    EXPECT_NEAR(said.share_to(0.95), found->curve.share_to(0.95), 0.002) << name;
  }
}

class MeasurementFiles : public testing::Test {
 protected:
  MeasurementFiles() { std::filesystem::create_directories(folder_ + "/sia/net"); }
  ~MeasurementFiles() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& file, std::string_view text) const {
    std::ofstream(folder_ + "/" + file) << text;
  }

  const std::string folder_ = testing::TempDir() + "trainyard_measurements_test";
};

TEST_F(MeasurementFiles, SiasFolderIsReadBySystem) {
  write("sia/net/placements-a.csv", "placement,local_bsz,step_time,sync_time\n1,4,1,0\n");
  write("sia/net/scalability-a.csv",
        "num_nodes,num_replicas,local_bsz,step_time,sync_time\n2,4,4,1,0\n");
  write("sia/net/placements-b.csv", "placement,local_bsz,step_time,sync_time\n1,4,1,0\n");
  write("sia/net/validation-4.csv", "whatever");
  const auto all = read_sia(folder_ + "/sia");
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0].model, "net");
  EXPECT_EQ((*all)[0].system, "a");
  EXPECT_EQ((*all)[0].iterations.size(), 2U);
  EXPECT_EQ((*all)[1].iterations.size(), 1U);
  EXPECT_FALSE(read_sia(folder_ + "/gavel"));
}

TEST_F(MeasurementFiles, GavelCountsTheStepsOfEveryGpu) {
  write("g.json", R"json({
    "v100": {"('Net (batch size 16)', 1)": {"null": 10.0},
             "('Net (batch size 16)', 4)": {"null": 20.0},
             "('Other', 2)": {"null": 0.0}},
    "v100_unconsolidated": {"('Net (batch size 16)', 1)": {"null": 10.0},
                            "('Net (batch size 16)', 4)": {"null": 16.0}}})json");
  const auto all = read_gavel(folder_ + "/g.json");
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), 1U) << "what did not run is left out";
  const auto& rows = all->front().iterations;
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].step_s, 0.1);
  EXPECT_EQ(rows[1].step_s, 0.2);
  EXPECT_EQ(rows[2].step_s, 0.25);
  EXPECT_EQ(rows[2].gpus, (std::vector<int>{1, 1, 1, 1}));
}

TEST_F(MeasurementFiles, WhatIsNotGavelsIsRefused) {
  for (const char* text :
       {"", "[]", "{\"v100\": 3}", "{\"v100\": {\"Net\": {}}}",
        "{\"v100\": {\"('Net (batch size x)', 1)\": {}}}", "{\"v100\": {\"('Net', 1\": {}}}",
        "{\"v100\": {\"('Net', 1)\": {\"null\": \"fast\"}}}"}) {
    write("g.json", text);
    EXPECT_FALSE(read_gavel(folder_ + "/g.json")) << text;
  }
}

}  // namespace
}  // namespace trainyard
