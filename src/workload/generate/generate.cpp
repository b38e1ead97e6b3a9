#include "workload/generate/generate.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "workload/generate/parts.h"

namespace trainyard {
namespace {

std::string_view name_part(std::string_view spec) {
  return spec.substr(0, spec.find(':'));
}

const Generator* find_generator(std::string_view name) {
  const auto all = generators();
  const auto found = std::ranges::find(all, name, &Generator::name);
  return found == all.end() ? nullptr : &*found;
}

/// What every generator has beside its own: generate() itself sees to it.
std::vector<Generator> with_declared(std::vector<Generator> all) {
  for (Generator& generator : all) generator.parameters.push_back(declared_parameter());
  return all;
}

}  // namespace

std::span<const Generator> generators() {
  static const std::vector<Generator> kGenerators = with_declared({
      {"poisson", "Poisson arrivals, independent demands and durations (M/M/c and its relatives)",
       with_common_parameters(poisson_parameters()), make_poisson},
      {"philly-like", "demands and durations as in Microsoft's Philly log of 2017",
       with_common_parameters(philly_like_parameters()), make_philly_like},
      {"trace", "a trace file, or a window of it, at another load and with costs of pauses",
       trace_parameters()},
      {"trial-batch", "trial jobs among batch jobs under a load held by FIFO, as in FitGpp's study",
       trial_batch_parameters(), make_trial_batch},
      {"dally-like", "distributed jobs with models, as in the workloads of Dally's study",
       dally_like_parameters(), make_dally_like},
      {"learning", "gangs with learning curves that share a network, as in the study of JPAS",
       learning_parameters(), make_learning, true},
      {"contended", "a burst of jobs whose models exchange much, as in the study of LWF",
       contended_parameters(), make_contended, true},
  });
  return kGenerators;
}

bool names_generator(std::string_view text) {
  return find_generator(name_part(text)) != nullptr;
}

std::string trace_file(std::string_view workload) {
  if (!names_generator(workload)) return std::string(workload);
  constexpr std::string_view kKey = "file=";
  if (name_part(workload) != "trace") return {};
  const std::size_t at = workload.find(kKey);
  if (at == std::string_view::npos) return {};
  workload.remove_prefix(at + kKey.size());
  return std::string(workload.substr(0, workload.find(',')));
}

Expected<Workload> generate(std::string_view spec, const Cluster& cluster, std::uint64_t seed,
                            const TraceOptions& trace) {
  const std::string_view name = name_part(spec);
  const Generator* generator = find_generator(name);
  if (generator == nullptr) {
    std::vector<std::string_view> names;
    for (const Generator& g : generators()) names.push_back(g.name);
    return fail("unknown generator {}{} (known: {})", quoted(name), did_you_mean(name, names),
                fmt::join(names, ", "));
  }
  if (cluster.total_gpus == 0) return fail("{}: the cluster has no GPUs to load", name);
  const std::string_view text = spec.substr(std::min(name.size() + 1, spec.size()));
  auto settings = Settings::parse(name, text, generator->parameters);
  if (!settings) return tl::make_unexpected(settings.error());
  const Declared declared = read_declared(*settings);  // an error of it is told by `make`
  const bool is_drawn = generator->make != nullptr;
  auto workload = is_drawn ? generator->make(*settings, cluster, seed)
                           : make_trace(*settings, cluster, seed, trace);
  if (!workload) return workload;
  set_declared(declared, seed, *workload);
  workload->source = fmt::format("{} (seed {})", spec, seed);
  if (is_drawn && !generator->leaves_pauses_open) workload->pause_costs = PauseCosts::given;
  return workload;
}

}  // namespace trainyard
