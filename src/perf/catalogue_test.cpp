#include "perf/catalogue.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "perf/describe_models.h"

namespace trainyard {
namespace {

constexpr std::string_view kMine = R"(
[[model]]
name = "MyNet"
aliases = ["my-net-large"]
parameters = 30e6
batch = 64
optimiser = "adam"
collective = "hierarchical"
overlap = 0.5
start_up_s = 30
largest_tensor = 0.6
source = "measured here"
sources.overlap = "assumed: a guess"
[[model.speed]]
kind = "V100"
samples_per_s = 800
[[kind]]
name = "L4"
relative = 0.5
)";

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path << ": run in the root of the project";
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Catalogue with_mine() {
  Catalogue catalogue = Catalogue::builtin();
  const auto ok = catalogue.add_toml(kMine, "mine.toml");
  EXPECT_TRUE(ok) << ok.error().message;
  return catalogue;
}

std::string error_of(std::string_view toml) {
  Catalogue catalogue;
  const auto ok = catalogue.add_toml(toml, "m.toml");
  return ok ? "no error" : ok.error().message;
}

/// The error of one more line in a model that is right; it is line 5.
std::string field_error(std::string_view field) {
  return error_of(
      fmt::format("[[model]]\nname = \"M\"\nparameters = 1e6\nbatch = 8\n{}\n"
                  "[[model.speed]]\nkind = \"V100\"\nsamples_per_s = 1\n",
                  field));
}

TEST(Catalogue, HasTheModelsThatTracesName) {
  for (const char* name :
       {"AlexNet",      "VGG-16",      "ResNet-18",     "ResNet-50", "MobileNetV3", "InceptionV3",
        "DeepSpeech2",  "LSTM LM",     "Transformer",   "BERT-base", "BERT-large",  "GPT-2",
        "GPT-2 medium", "GPT-2 large", "ViT",           "NCF",       "ResNet50",    "VGG16",
        "vgg",          "BERT",        "Recommendation"})
    EXPECT_NE(Catalogue::builtin().find(name), nullptr) << name;
}

TEST(Catalogue, EveryFigureHasASource) {
  for (const ModelProfile& model : Catalogue::builtin().models()) {
    for (const Figure* figure : {&model.parameters, &model.gradient_bytes, &model.largest_tensor,
                                 &model.batch, &model.start_up_s, &model.overlap})
      EXPECT_TRUE(!figure->source.empty() && figure->source != "catalogue") << model.name;
    const bool has_no_source = model.curve && !model.curve->to_95.source.starts_with("Sia");
    EXPECT_FALSE(has_no_source) << model.name;
    for (const KindSpeed& speed : model.speeds) {
      EXPECT_NE(speed.samples_per_s.source, "catalogue") << model.name << " on " << speed.kind;
      EXPECT_TRUE(std::ranges::any_of(Catalogue::builtin().kinds(), [&](const KindFactor& kind) {
        return kind.kind == speed.kind;
      })) << speed.kind;
    }
    EXPECT_GT(model.gradient_bytes.value, 3 * model.parameters.value) << model.name;
    EXPECT_LT(model.gradient_bytes.value, 5 * model.parameters.value) << model.name;
  }
  for (const KindFactor& kind : Catalogue::builtin().kinds())
    EXPECT_NE(kind.relative.source, "catalogue") << kind.kind;
}

TEST(Catalogue, AUsersModelArrives) {
  const Catalogue catalogue = with_mine();
  const ModelProfile* model = catalogue.find("my_net-LARGE");
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->name, "MyNet");
  EXPECT_EQ(model->gradient_bytes.value, 120e6);
  EXPECT_EQ(model->gradient_bytes.source, "4 bytes for each parameter");
  EXPECT_EQ(model->checkpoint_bytes(), 360e6);
  EXPECT_EQ(model->collective, Collective::hierarchical);
  EXPECT_EQ(model->parameters.source, "measured here");
  EXPECT_TRUE(model->overlap.assumed());
  EXPECT_FALSE(model->start_up_s.assumed());
  EXPECT_TRUE(model->skewed());
}

TEST(Catalogue, AModelMaySayHowItLearns) {
  const auto learns = [](const std::string& curve) {
    return "[[model]]\nname = \"M\"\nparameters = 1\nbatch = 1\n" + curve +
           "\n[[model.speed]]\nkind = \"T4\"\nsamples_per_s = 1\n";
  };
  Catalogue catalogue;
  ASSERT_TRUE(catalogue.add_toml(
      learns("curve = {limit = 0.9, start = 0.1, to_95 = 0.25}\nsources.curve = \"here\""), "m"));
  const ModelProfile* model = catalogue.find("M");
  ASSERT_TRUE(model->curve);
  EXPECT_NEAR(model->curve->learning_curve().share_to(0.95), 0.25, 1e-9);
  EXPECT_EQ(model->curve->limit.source, "here");
  EXPECT_EQ(error_of(learns("curve = {limit = 0.9, start = 0.95, to_95 = 0.25}")),
            "m.toml:5: curve: a learning curve begins at 0 or above and below its limit, not at "
            "0.95 below 0.9");
  EXPECT_EQ(error_of(learns("curve = {limit = 0.9, start = 0.1, to_95 = 2}")).substr(0, 14),
            "m.toml:5: to_9");
  EXPECT_EQ(error_of(learns("curve = {limits = 0.9, to_95 = 0.5}")).substr(0, 16),
            "m.toml:5: curve:");
}

TEST(Catalogue, AKnownNameIsReplaced) {
  Catalogue catalogue = Catalogue::builtin();
  const std::size_t models = catalogue.models().size();
  ASSERT_TRUE(
      catalogue.add_toml("[[model]]\nname = \"resnet_50\"\nparameters = 1\nbatch = 1\n"
                         "[[model.speed]]\nkind = \"T4\"\nsamples_per_s = 1\n",
                         "m.toml"));
  EXPECT_EQ(catalogue.models().size(), models);
  EXPECT_EQ(catalogue.find("ResNet-50")->parameters.value, 1);
  ASSERT_TRUE(
      catalogue.add_toml("[[model]]\nname = \"VGG\"\nparameters = 1\nbatch = 1\n"
                         "[[model.speed]]\nkind = \"T4\"\nsamples_per_s = 1\n",
                         "m.toml"));
  EXPECT_EQ(catalogue.models().size(), models + 1) << "an alias is no reason to lose VGG-11";
  EXPECT_EQ(catalogue.find("VGG")->parameters.value, 1);
  EXPECT_GT(catalogue.find("VGG-11")->parameters.value, 1e8);
}

TEST(Catalogue, SpeedsThatNobodyMeasuredAreScaled) {
  const Catalogue catalogue = with_mine();
  const ModelProfile& model = *catalogue.find("MyNet");
  EXPECT_EQ(catalogue.samples_per_s(model, "v100").value, 800);
  EXPECT_EQ(catalogue.samples_per_s(model, "L4").value, 400);
  EXPECT_TRUE(catalogue.samples_per_s(model, "L4").assumed());
  EXPECT_EQ(catalogue.samples_per_s(model, "RTX-2080-Ti").value, 800 * 0.73);
  EXPECT_EQ(catalogue.samples_per_s(model, "TPU").value, 800) << "an unknown kind is a V100";
}

TEST(Catalogue, SuggestsTheNearestName) {
  EXPECT_EQ(Catalogue::builtin().get("ResNet-5").error().message,
            "there is no model 'ResNet-5', did you mean 'ResNet-50'?; trainyard models lists them");
}

TEST(Catalogue, TellsAMisspeltKindFromAnUnknownOne) {
  const Catalogue& catalogue = Catalogue::builtin();
  EXPECT_EQ(catalogue.meant_by("V10O"), "V100");
  EXPECT_EQ(catalogue.meant_by("v010"), "V100");
  EXPECT_EQ(catalogue.meant_by("RTX 208O Ti"), "RTX 2080 Ti");
  for (const char* fine : {"V100", "v-100", "A800", "A10", "H200", "cpu", "my kind"})
    EXPECT_EQ(catalogue.meant_by(fine), "") << fine;
}

TEST(CatalogueToml, ErrorsNameLineFieldAndWhatWouldBeRight) {
  EXPECT_EQ(error_of(""), "m.toml: nothing in it; describe a model in a [[model]] table");
  EXPECT_EQ(error_of("[[models]]\n"), "m.toml:1: unknown field 'models', did you mean 'model'?");
  EXPECT_EQ(error_of("[[model]]\nname = \"M\"\n"), "m.toml:1: a model without parameters");
  EXPECT_EQ(error_of("[[model]]\nparameters = 1\nbatch = 1\n"), "m.toml:1: a model without a name");
  EXPECT_EQ(error_of("[[model]]\nname = \"M\"\nparameters = 1\nbatch = 1\n"),
            "m.toml:1: a model without speed; add a [[model.speed]] table");
  EXPECT_EQ(field_error(""), "no error");
  EXPECT_EQ(field_error("overlap = 1.5"),
            "m.toml:5: overlap = '1.5'; it must be a number from 0 to 1");
  EXPECT_EQ(field_error("overlp = 1"), "m.toml:5: unknown field 'overlp', did you mean 'overlap'?");
  EXPECT_EQ(field_error("collective = \"rings\""),
            "m.toml:5: collective = 'rings' is not known, did you mean 'ring'?; it must be one of "
            "ring, hierarchical, parameter-server, single-server");
  EXPECT_EQ(field_error("sources.color = \"x\""), "m.toml:5: unknown field 'color'");
  EXPECT_EQ(field_error("aliases = \"x\""),
            "m.toml:5: aliases = 'x'; it must be a list of texts of 1 to 100 characters");
  EXPECT_EQ(field_error("[[model.speed]]\nkind = \"v100\"\nsamples_per_s = 2"),
            "m.toml:8: 'M' has two speeds on 'V100'");
  EXPECT_EQ(error_of("[[kind]]\nname = \"L4\"\n"),
            "m.toml:1: a kind without relative, its speed (a V100 is 1)");
}

TEST(CatalogueToml, AFileWithAnErrorAddsNothing) {
  Catalogue catalogue;
  EXPECT_FALSE(catalogue.add_toml(fmt::format("{}[[kind]]\n", kMine), "m.toml"));
  EXPECT_TRUE(catalogue.models().empty());
}

TEST(CataloguePage, HasTheTableOfTheProgram) {
  EXPECT_NE(read("docs/models.md").find("```\n" + list_models(Catalogue::builtin()) + "```\n"),
            std::string::npos)
      << "replace the table in docs/models.md by that of trainyard models";
}

TEST(CataloguePage, ItsExampleIsRead) {
  const std::string page = read("docs/models.md");
  const std::size_t begin = page.find("```toml\n") + 8;
  Catalogue catalogue;
  const auto ok = catalogue.add_toml(page.substr(begin, page.find("```", begin) - begin), "page");
  ASSERT_TRUE(ok) << ok.error().message;
  EXPECT_NE(catalogue.find("MyNet"), nullptr);
}

TEST(DescribeModel, NamesEverySourceAndMarksWhatIsScaled) {
  const Catalogue catalogue = with_mine();
  const std::string text = describe_model(catalogue, *catalogue.find("MyNet"));
  EXPECT_NE(text.find("assumed: a guess"), std::string::npos) << text;
  EXPECT_NE(text.find("~400   assumed: from V100 by how the kinds compare"), std::string::npos)
      << text;
}

TEST(DescribeSpeed, HasAColumnForEachTier) {
  const auto cluster = parse_cluster_shorthand("2x2x4xV100");
  const Catalogue catalogue = with_mine();
  const std::string text = describe_speed(catalogue, *catalogue.find("MyNet"), *cluster);
  EXPECT_NE(text.find("   1         80 ms, x1.000                     -                     -\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n    16                     -                     -"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace trainyard
