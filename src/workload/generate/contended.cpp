// A burst of jobs whose models exchange much, as in the study of LWF-k and AdaDUAL: sizes, models
// and lengths are drawn apart from each other, and all arrive within minutes. Computing times are
// the catalogue's, on the first kind of GPU that the cluster has.
#include <algorithm>
#include <array>
#include <cmath>

#include "perf/catalogue.h"
#include "workload/generate/parts.h"

namespace trainyard {
namespace {

constexpr std::array<std::string_view, 2> kLengths{"uniform", "log-uniform"};

}  // namespace

std::vector<Parameter> contended_parameters() {
  return with_pause_parameters(
      {{"jobs", "160", "how many"},
       {"span", "20m", "they arrive within so much time, at instants drawn evenly"},
       {"gpus", "1:80/2:14/4:26/8:30/16:8/32:2", "GPUs a job, with weights"},
       {"models", "VGG-16/ResNet-50/InceptionV3/LSTM LM", "drawn evenly; names of the catalogue"},
       {"least", "1000", "fewest iterations"},
       {"most", "6000", "most iterations"},
       {"lengths", "uniform", "uniform or log-uniform between these"}});
}

Expected<Workload> make_contended(Settings& settings, const Cluster& cluster, std::uint64_t seed) {
  const auto jobs = static_cast<std::size_t>(settings.whole("jobs", 1, 1'000'000));
  const double span_s = settings.duration("span").seconds();
  const DemandMix mix = settings.mix("gpus", cluster.total_gpus);
  const std::vector<std::string> models = settings.words("models");
  const double least = settings.real("least", 1, 1e9), most = settings.real("most", 1, 1e9);
  const bool is_log = settings.choice("lengths", kLengths) == 1;
  const Pauses pauses = read_pauses(settings);
  if (auto ok = settings.finish(); !ok) return tl::make_unexpected(ok.error());
  if (least > most) return fail("contended: least={} is more than most={}", least, most);

  const Catalogue& catalogue = Catalogue::builtin();
  std::vector<double> iteration_s;
  for (const std::string& name : models) {
    const ModelProfile* model = catalogue.find(name);
    if (model == nullptr)
      return fail("contended: the catalogue has no model {} (trainyard models lists them)",
                  quoted(name));
    iteration_s.push_back(model->batch.value /
                          catalogue.samples_per_s(*model, cluster.kinds[0]).value);
  }

  Random arrivals = stream(seed, Stream::arrivals), demands = stream(seed, Stream::demands),
         durations = stream(seed, Stream::durations), kinds = stream(seed, Stream::kinds);
  std::vector<double> at_s;
  for (std::size_t i = 0; i < jobs; ++i) at_s.push_back(arrivals.uniform(0, span_s));
  std::ranges::sort(at_s);
  Workload workload;
  for (const double submit_s : at_s) {
    Job job;
    job.workers = job.min_workers = job.max_workers = mix.gpus[demands.pick(mix.weights)];
    const auto model = static_cast<std::size_t>(kinds.below(models.size()));
    job.model = ModelId{static_cast<std::uint16_t>(workload.models.add(models[model]))};
    const double iterations =
        std::round(is_log ? std::exp(durations.uniform(std::log(least), std::log(most)))
                          : durations.uniform(least, most));
    job.iterations = static_cast<std::uint64_t>(iterations);
    job.duration = job.estimate = job_duration(iterations * iteration_s[model]);
    job.submit = Time{std::llround(submit_s * 1e6)};
    workload.jobs.push_back(job);
  }
  if (auto ok = check_pause_scale(pauses, "the generator", workload); !ok)
    return fail_at("contended", ok.error());
  set_pauses(pauses, workload);
  return workload;
}

}  // namespace trainyard
