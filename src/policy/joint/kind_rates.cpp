#include "policy/joint/kind_rates.h"

#include <algorithm>

#include "perf/speed.h"

namespace trainyard {

const KindRates::Fits& KindRates::fits(JobId job) {
  const std::size_t known = fits_.size(), wanted = index(yard_.state(job).shape);
  if (wanted >= known) fits_.resize(wanted + 1);
  Fits& fits = fits_[wanted];
  if (!fits.on.empty()) return fits;
  const Cluster& cluster = yard_.cluster();
  const Shape& shape = yard_.shape(job);
  std::vector<std::int64_t> room(cluster.kinds.size());
  for (std::uint32_t m = 0; m < cluster.machines.size(); ++m) {
    const Machine& machine = cluster.machines[m];
    room[index(machine.kind)] += shape.fitting(MachineId{m}, machine.capacity, shape.workers);
  }
  for (std::size_t kind = 0; kind < room.size(); ++kind) {
    const bool suits = shape.suits(KindId{static_cast<std::uint16_t>(kind)});
    fits.on.push_back(suits && room[kind] >= shape.workers);
    fits.any |= fits.on.back();
  }
  return fits;
}

std::vector<double> KindRates::of(JobId id) {
  const Job& job = yard_.job(id);
  const std::vector<bool>& fits_on = fits(id).on;
  std::vector<double> rates(fits_on.begin(), fits_on.end());
  if (yard_.speed() == nullptr) return rates;
  const GangSpeed gang = yard_.speed()->gang(job);
  for (std::size_t k = 0; k < rates.size(); ++k) {
    const KindId kind{static_cast<std::uint16_t>(k)};
    if (rates[k] > 0) rates[k] = yard_.speed()->power(job, kind);
    if (rates[k] <= 0) continue;
    const double compute_s = gang.unit_s / (job.workers * rates[k]);
    const double exposed_s =
        gang.communication_s.empty()
            ? 0
            : exposed_time(gang.communication_s[static_cast<std::size_t>(job.workers)], compute_s,
                           gang.overlap);
    rates[k] = gang.work_s / (compute_s + exposed_s);
  }
  return rates;
}

}  // namespace trainyard
