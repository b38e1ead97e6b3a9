// trainyard models: what is known of neural networks, and how well the speed model predicts.
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "perf/describe_fit.h"
#include "perf/describe_models.h"

namespace trainyard::cli {
namespace {

struct ModelsOptions : WorkloadOptions {
  std::string name;
  std::string fit;
};

Expected<void> models(const ModelsOptions& options) {
  const auto loaded = load_models(options);
  if (!loaded) return tl::make_unexpected(loaded.error());
  const Catalogue& catalogue = *loaded;
  if (!options.fit.empty()) {
    const auto text = describe_fit(catalogue, options.fit);
    return text ? print(*text) : tl::make_unexpected(text.error());
  }
  if (options.name.empty())
    return print(
        list_models(catalogue) +
        "\nThe columns by kind are samples/s of one GPU. ~ is assumed; - has no source, and is "
        "scaled from the first kind that has one.\nNext: trainyard models NAME --cluster "
        "SHAPE tells more about one.\n");
  const auto model = catalogue.get(options.name);
  if (!model) return tl::make_unexpected(model.error());
  const auto cluster = load_cluster(options);
  if (!cluster) return tl::make_unexpected(cluster.error());
  return print(describe_model(catalogue, **model) + "\n" +
               describe_speed(catalogue, **model, *cluster));
}

}  // namespace

void add_models_command(Command& program) {
  const auto options = std::make_shared<ModelsOptions>();
  Command& command =
      program.add("models", "Lists neural networks: their size, speed by kind of GPU, and sources.",
                  "trainyard models\n"
                  "trainyard models ResNet-50 --cluster 4x16x8xV100\n"
                  "trainyard models MyNet --models mine.toml\n"
                  "trainyard models --fit ../shared/traces");
  command.option("name", &options->name,
                 "the network to tell about, with every source and its speed");
  add_cluster_option(command, *options);
  add_models_option(command, *options);
  command.option("--fit", &options->fit,
                 "fit the speed model to the measurements of Sia and Gavel in this folder (sia/, "
                 "gavel/) and print its errors",
                 {.type = "FOLDER"});
  command.action = [options] { return models(*options); };
}

}  // namespace trainyard::cli
