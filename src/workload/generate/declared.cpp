// What generated jobs declare of their time: the key `declared` of every generator.
#include <algorithm>
#include <array>
#include <cmath>

#include "workload/generate/parts.h"

namespace trainyard {
namespace {

constexpr std::array<std::string_view, 4> kDeclared{"given", "exact", "limits", "none"};
/// What the live scheduler assumes of a job whose user says nothing.
constexpr Duration kUndeclared = hours(1);
/// Limits that people write.
constexpr std::array kLimits{minutes(10), minutes(30), hours(1), hours(2),  hours(4), hours(8),
                             hours(12),   days(1),     days(2),  days(3),   days(7),  days(14),
                             days(30),    days(60),    days(90), days(180), days(365)};
/// Of users who write what the partition grants, and of what it is at least.
constexpr double kShareOfCareless = 0.2;
constexpr Duration kCareless = days(7);

Duration usual_limit(Duration least) {
  const auto limit = std::lower_bound(kLimits.begin(), kLimits.end(), least);
  return limit == kLimits.end() ? least : *limit;
}

Duration draw_limit(Duration duration, Random& random) {
  const double times = std::pow(10, random.uniform());
  const Duration limit = usual_limit(job_duration(duration.seconds() * times));
  return random.uniform() < kShareOfCareless ? std::max(limit, kCareless) : limit;
}

}  // namespace

Parameter declared_parameter() {
  return {"declared", "given",
          "what jobs declare of their time: as given (generated ones the truth), exact (the "
          "truth), limits (1 to 10 times as long, rounded up to usual limits, a fifth of them 7 "
          "days or more), or none (an hour, as assumed of a job whose user says nothing)"};
}

Declared read_declared(Settings& settings) {
  return Declared{settings.choice("declared", kDeclared)};
}

void set_declared(Declared declared, std::uint64_t seed, Workload& workload) {
  if (declared == Declared::given) return;
  Random random = stream(seed, Stream::estimates);
  for (Job& job : workload.jobs)
    job.estimate = declared == Declared::exact    ? job.duration
                   : declared == Declared::limits ? draw_limit(job.duration, random)
                                                  : kUndeclared;
}

}  // namespace trainyard
