// Trainings that learn, as in the study of JPAS: gangs of equal size with learning curves, which
// arrive evenly over a while. What they send is up to their model.
#include <cmath>
#include <iterator>
#include <map>

#include "perf/measurements.h"
#include "workload/generate/parts.h"

namespace trainyard {

std::vector<Parameter> learning_parameters() {
  return with_pause_parameters(
      {{"jobs", "12", "how many"},
       {"workers", "4", "GPUs of each, one a worker"},
       {"length", "1000", "mean time of computing"},
       {"length_spread", "0.2", "deviation of lengths over their mean"},
       {"iterations", "1000", "of a job of mean length"},
       {"span", "1000", "they arrive within so much time, at instants drawn evenly"},
       {"early", "0.3", "mean share of a job after which it has 95% of its final accuracy"},
       {"early_spread", "0.2", "shares lie within so much of the mean, evenly"},
       {"noise", "0.05", "what jobs tell of their accuracy is off by so much, relative, by lot"},
       {"model", "ResNet-50", "of all jobs"},
       {"curves", "formula",
        "as above, or a folder with MODEL/validation-BATCH.csv, as Sia's: "
        "jobs learn as was measured, each as one of the files, by lot"},
       {"curves_of", "all", "the models of that folder"}});
}

namespace {

/// By model; a model that was measured with more batches is not drawn more often.
using CurvesByModel = std::map<std::string, std::vector<LearningCurve>>;

Expected<CurvesByModel> measured_curves(const std::string& folder,
                                        const std::vector<std::string>& wanted) {
  auto measured = read_sia_curves(folder);
  if (!measured) return tl::make_unexpected(measured.error());
  CurvesByModel all;
  for (MeasuredCurve& one : *measured) all[one.model].push_back(std::move(one.curve));
  if (wanted == std::vector<std::string>{"all"}) return all;
  CurvesByModel chosen;
  for (const std::string& model : wanted) {
    const auto found = all.find(model);
    if (found == all.end())
      return fail("learning: curves_of: {} has no curve of {}", folder, quoted(model));
    chosen.insert(*found);
  }
  return chosen;
}

const LearningCurve& curve_by_lot(const CurvesByModel& measured, Random& random) {
  const auto model =
      std::next(measured.begin(), static_cast<std::ptrdiff_t>(random.below(measured.size())));
  return model->second[random.below(model->second.size())];
}

}  // namespace

Expected<Workload> make_learning(Settings& settings, const Cluster& cluster, std::uint64_t seed) {
  const auto jobs = static_cast<std::size_t>(settings.whole("jobs", 1, 1'000'000));
  const auto workers = static_cast<std::int32_t>(settings.whole("workers", 1, cluster.total_gpus));
  const double length_s = settings.positive_duration("length").seconds();
  const double length_spread = settings.real("length_spread", 0, 1);
  const double iterations = settings.real("iterations", 1, 1e9);
  const double span_s = settings.duration("span").seconds();
  const double early = settings.real("early", 0.01, 0.6);
  const double early_spread = settings.real("early_spread", 0, 0.5);
  const double noise = settings.real("noise", 0, 1);
  const std::string model = settings.word("model"), folder = settings.word("curves");
  const std::vector<std::string> wanted = settings.words("curves_of");
  const Pauses pauses = read_pauses(settings);
  if (auto ok = settings.finish(); !ok) return tl::make_unexpected(ok.error());

  CurvesByModel measured;
  if (folder != "formula") {
    auto read = measured_curves(folder, wanted);
    if (!read) return tl::make_unexpected(read.error());
    measured = std::move(*read);
  }

  Random arrivals = stream(seed, Stream::arrivals), durations = stream(seed, Stream::durations),
         curves = stream(seed, Stream::curves);
  std::vector<double> at_s;
  for (std::size_t i = 0; i < jobs; ++i) at_s.push_back(arrivals.uniform(0, span_s));
  std::ranges::sort(at_s);
  Workload workload;
  workload.curve_noise = noise;
  for (const double submit_s : at_s) {
    Job job;
    job.workers = job.min_workers = job.max_workers = workers;
    const double part = durations.truncated_normal(1, length_spread, 0.2, 1.8);
    job.duration = job.estimate = job_duration(length_s * part);
    job.iterations = static_cast<std::uint64_t>(std::max(1.0, std::round(iterations * part)));
    job.model = ModelId{static_cast<std::uint16_t>(workload.models.add(model))};
    job.submit = Time{std::llround(submit_s * 1e6)};
    workload.jobs.push_back(job);
    if (!measured.empty()) {
      workload.curves.push_back(curve_by_lot(measured, curves));
      continue;
    }
    const double limit = curves.uniform(0.7, 0.95), start = limit * curves.uniform(0.05, 0.3);
    const double to_95 = early * curves.uniform(1 - early_spread, 1 + early_spread);
    auto curve = make_learning_curve(limit, start, to_95);
    if (!curve) return fail("learning: early={}: {}", early, curve.error().message);
    workload.curves.push_back(std::move(*curve));
  }
  if (auto ok = check_pause_scale(pauses, "the generator", workload); !ok)
    return fail_at("learning", ok.error());
  set_pauses(pauses, workload);
  return workload;
}

}  // namespace trainyard
