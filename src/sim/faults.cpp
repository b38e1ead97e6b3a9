#include "sim/faults.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <unordered_map>

#include "base/random.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kStream = 201;
constexpr double kMostFailures = 1e6;
constexpr double kLeastSpeed = 0.001;

Time instant(double us) {
  return us < 9e18 ? Time{static_cast<std::int64_t>(us)} : Time::never();
}

void sort_by_time(std::vector<Fault>& faults) {
  std::stable_sort(faults.begin(), faults.end(),
                   [](const Fault& a, const Fault& b) { return a.at < b.at; });
}

std::string_view cut_at(std::string_view& rest, char separator) {
  const std::size_t cut = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, cut);
  rest.remove_prefix(std::min(cut + 1, rest.size()));
  return part;
}

std::optional<double> parse_speed(std::string_view text) {
  double speed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), speed);
  const bool is_sensible = error == std::errc{} && end == text.data() + text.size() &&
                           speed >= kLeastSpeed && speed <= 1 / kLeastSpeed;
  return is_sensible ? std::optional(speed) : std::nullopt;
}

Expected<std::vector<Fault>> parse_rates(std::string_view spec, const Cluster& cluster,
                                         Duration horizon, std::uint64_t seed) {
  Duration mtbf, repair = hours(4);
  std::string_view rest = spec;
  while (!rest.empty()) {
    std::string_view value = cut_at(rest, ',');
    const std::string_view name = cut_at(value, '=');
    if (name != "mtbf" && name != "repair")
      return fail("faults: unknown {}; write mtbf=30d,repair=4h or name a file", quoted(name));
    const auto duration = parse_duration(value);
    if (!duration) return fail("faults: {}: {}", name, duration.error().message);
    (name == "mtbf" ? mtbf : repair) = *duration;
  }
  if (mtbf < seconds(1)) return fail("faults: {}: mtbf must be at least 1s", quoted(spec));
  const double expected = horizon.seconds() / mtbf.seconds();
  if (expected * static_cast<double>(cluster.machines.size()) > kMostFailures)
    return fail("faults: {}: that is over a million failures in {}", quoted(spec), format(horizon));
  return draw_faults(cluster, mtbf, repair, horizon, seed);
}

}  // namespace

std::vector<Fault> draw_faults(const Cluster& cluster, Duration mtbf, Duration repair,
                               Duration horizon, std::uint64_t seed) {
  std::vector<Fault> faults;
  for (std::size_t m = 0; m < cluster.machines.size(); ++m) {
    Random random(seed, kStream + m);
    const MachineId machine{static_cast<std::uint32_t>(m)};
    double at = 0;
    while (true) {
      at += random.exponential(static_cast<double>(mtbf.us));
      if (at > static_cast<double>(horizon.us)) break;
      faults.push_back({instant(at), machine, false});
      at += random.exponential(static_cast<double>(repair.us)) + 1;
      faults.push_back({instant(at), machine, true});
    }
  }
  sort_by_time(faults);
  return faults;
}

Expected<std::vector<Fault>> parse_faults(std::string_view text, std::string_view origin,
                                          const Cluster& cluster) {
  std::unordered_map<std::string_view, std::uint32_t> machines;
  for (std::size_t m = 0; m < cluster.machines.size(); ++m)
    machines.emplace(cluster.machines[m].name, static_cast<std::uint32_t>(m));
  std::vector<Fault> faults;
  for (std::size_t line = 1; !text.empty(); ++line) {
    std::string_view rest = cut_at(text, '\n');
    if (rest.ends_with('\r')) rest.remove_suffix(1);
    if (rest.empty() || rest.starts_with('#')) continue;
    const std::string_view time = cut_at(rest, ','), machine = cut_at(rest, ',');
    const auto at = parse_duration(time);
    if (!at) return fail("{}:{}: time: {}", origin, line, at.error().message);
    const auto found = machines.find(machine);
    if (found == machines.end())
      return fail("{}:{}: machine: there is no {}; the first is {}", origin, line, quoted(machine),
                  cluster.machines.front().name);
    Fault fault{Time{at->us}, MachineId{found->second}, rest == "up"};
    if (rest != "down" && rest != "up") {
      fault.speed = parse_speed(rest);
      if (!fault.speed)
        return fail("{}:{}: {} must be down, up, or a speed from 0.001 to 1000, as in 0.5", origin,
                    line, quoted(rest));
    }
    faults.push_back(fault);
  }
  sort_by_time(faults);
  return faults;
}

Expected<std::vector<Fault>> read_faults(const std::string& spec, const Cluster& cluster,
                                         Duration horizon, std::uint64_t seed) {
  if (spec.find('=') != std::string::npos) return parse_rates(spec, cluster, horizon, seed);
  std::ifstream file(spec, std::ios::binary);
  if (!file) return fail("{}: cannot be opened; is the path right?", spec);
  std::ostringstream text;
  text << file.rdbuf();
  return parse_faults(text.str(), spec, cluster);
}

}  // namespace trainyard
