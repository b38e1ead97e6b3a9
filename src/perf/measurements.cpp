#include "perf/measurements.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace trainyard {
namespace {

namespace fs = std::filesystem;

Expected<std::string> read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail("{}: cannot be opened; is the path right?", path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> cells(1);
  for (const char c : line)
    if (c == ',')
      cells.emplace_back();
    else if (c != '\r')
      cells.back() += c;
  return cells;
}

bool read_number(const std::string& text, double low, double high, double& value) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc{} && end == text.data() + text.size() && value >= low && value <= high;
}

/// "134" is 1, 3 and 4 GPUs on three machines.
bool read_placement(const std::string& digits, std::vector<int>& gpus) {
  for (const char c : digits) {
    if (c < '1' || c > '9') return false;
    gpus.push_back(c - '0');
  }
  return !digits.empty() && digits.size() <= 1000;
}

/// So many GPUs on so many machines, as evenly as they go.
bool read_counts(const std::string& machines, const std::string& gpus,
                 std::vector<int>& placement) {
  double m = 0, n = 0;
  if (!read_number(machines, 1, 1000, m) || !read_number(gpus, m, 1e6, n)) return false;
  const int all = static_cast<int>(n), on = static_cast<int>(m);
  for (int i = 0; i < on; ++i) placement.push_back(all / on + (i < all % on ? 1 : 0));
  return true;
}

bool read_row(const std::map<std::string, std::string>& row, MeasuredIteration& iteration) {
  const auto cell = [&](const char* column) {
    const auto found = row.find(column);
    return found == row.end() ? std::string() : found->second;
  };
  iteration.extrapolates = row.contains("num_nodes");
  iteration.unit =
      iteration.extrapolates ? cell("num_nodes") + "x" + cell("num_replicas") : cell("placement");
  const bool placed = iteration.extrapolates
                          ? read_counts(cell("num_nodes"), cell("num_replicas"), iteration.gpus)
                          : read_placement(cell("placement"), iteration.gpus);
  return placed && read_number(cell("local_bsz"), 1, 1e9, iteration.batch) &&
         read_number(cell("step_time"), 1e-9, 1e6, iteration.step_s) &&
         read_number(cell("sync_time"), 0, 1e6, iteration.sync_s);
}

bool read_epoch(const std::map<std::string, std::string>& row, LearningPoint& point) {
  const auto step = row.find("iteration"), metric = row.find("metric");
  return step != row.end() && metric != row.end() &&
         read_number(step->second, 1, 1e15, point.step) &&
         read_number(metric->second, 1e-9, 1e9, point.accuracy);
}

/// The rows below a header; `read` makes an item of the cells by column, or says that some lack.
template <class Item, class Read>
Expected<std::vector<Item>> read_rows(std::string_view text, std::string_view origin, Read read,
                                      std::string_view columns) {
  std::istringstream lines{std::string(text)};
  std::string line;
  if (!std::getline(lines, line)) return fail("{}: it is empty", origin);
  const std::vector<std::string> header = split(line);
  std::vector<Item> items;
  for (int number = 2; std::getline(lines, line); ++number) {
    if (line.empty()) continue;
    const std::vector<std::string> cells = split(line);
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < std::min(cells.size(), header.size()); ++i)
      row[header[i]] = cells[i];
    if (Item item; read(row, item))
      items.push_back(std::move(item));
    else
      return fail("{}:{}: {} has no {}", origin, number, trainyard::quoted(line), columns);
  }
  return items;
}

void add_sync_where_steps_lack_it(std::vector<MeasuredIteration>& iterations) {
  if (std::ranges::none_of(iterations,
                           [](const MeasuredIteration& i) { return i.sync_s > i.step_s; }))
    return;
  for (MeasuredIteration& iteration : iterations) iteration.step_s += iteration.sync_s;
}

/// Appends the file's rows, when there is such a file.
Expected<void> append_file(const fs::path& path, Measurements& measurements) {
  if (!fs::exists(path)) return {};
  const auto text = read_text(path);
  if (!text) return tl::make_unexpected(text.error());
  auto rows = parse_sia_csv(*text, path.string());
  if (!rows) return tl::make_unexpected(rows.error());
  std::ranges::move(*rows, std::back_inserter(measurements.iterations));
  return {};
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) entries.push_back(entry.path());
  std::ranges::sort(entries);
  return entries;
}

/// "('ResNet-18 (batch size 16)', 2)": model, batch and GPUs; without a batch it is 1.
bool read_gavel_key(std::string_view key, std::string& model, double& batch, int& gpus) {
  const std::size_t comma = key.rfind(", ");
  if (!key.starts_with("('") || comma == std::string_view::npos || comma < 3) return false;
  const std::string_view name = key.substr(2, comma - 3);
  const std::size_t open = name.find(" (batch size ");
  model = name.substr(0, open);
  batch = 1;
  const std::string digits(key.substr(comma + 2, key.size() - comma - 3));
  double n = 0;
  if (!read_number(digits, 1, 1000, n)) return false;
  gpus = static_cast<int>(n);
  if (open == std::string_view::npos) return true;
  const std::string_view rest = name.substr(open + 13);
  return read_number(std::string(rest.substr(0, rest.size() - 1)), 1, 1e9, batch);
}

}  // namespace

Expected<std::vector<MeasuredIteration>> parse_sia_csv(std::string_view text,
                                                       std::string_view origin) {
  auto iterations = read_rows<MeasuredIteration>(
      text, origin, read_row,
      "placement (or num_nodes and num_replicas), local_bsz, step_time and sync_time");
  if (iterations) add_sync_where_steps_lack_it(*iterations);
  return iterations;
}

Expected<LearningCurve> parse_sia_curve(std::string_view text, std::string_view origin) {
  auto points = read_rows<LearningPoint>(text, origin, read_epoch, "iteration and metric");
  if (!points) return tl::make_unexpected(points.error());
  if (points->size() < 2) return fail("{}: a curve has at least two epochs", origin);
  if (std::ranges::adjacent_find(*points, std::ranges::greater_equal{}, &LearningPoint::step) !=
      points->end())
    return fail("{}: iterations do not rise from epoch to epoch", origin);
  const double first = points->front().accuracy, last = points->back().accuracy;
  LearningCurve curve{.measured = {{0, 0}}};
  for (const LearningPoint& point : *points)
    curve.measured.push_back({point.step / points->back().step,
                              last < first ? (first - point.accuracy) / first : point.accuracy});
  return curve;
}

Expected<std::vector<MeasuredCurve>> read_sia_curves(const std::string& folder) {
  std::vector<MeasuredCurve> all;
  for (const fs::path& model : entries_of(folder))
    for (const fs::path& file : entries_of(model)) {
      const std::string name = file.stem().string();
      MeasuredCurve measured{.model = model.filename().string()};
      if (!name.starts_with("validation-") || !read_number(name.substr(11), 1, 1e9, measured.batch))
        continue;
      const auto text = read_text(file);
      if (!text) return tl::make_unexpected(text.error());
      auto curve = parse_sia_curve(*text, file.string());
      if (!curve) return tl::make_unexpected(curve.error());
      measured.curve = std::move(*curve);
      all.push_back(std::move(measured));
    }
  if (all.empty())
    return fail("{}: no MODEL/validation-BATCH.csv in it; is the path right?", folder);
  std::ranges::sort(all, {}, [](const MeasuredCurve& m) { return std::pair(m.model, m.batch); });
  return all;
}

Expected<std::vector<Measurements>> read_sia(const std::string& folder) {
  std::vector<Measurements> all;
  for (const fs::path& model : entries_of(folder))
    for (const fs::path& file : entries_of(model)) {
      const std::string name = file.stem().string();
      if (!name.starts_with("placements-")) continue;
      Measurements measurements{model.filename().string(), name.substr(11), {}};
      for (const char* prefix : {"placements-", "scalability-"})
        if (auto ok = append_file(model / (prefix + measurements.system + ".csv"), measurements);
            !ok)
          return tl::make_unexpected(ok.error());
      all.push_back(std::move(measurements));
    }
  if (all.empty()) return fail("{}: no MODEL/placements-TAG.csv in it; is the path right?", folder);
  return all;
}

Expected<std::vector<Measurements>> read_gavel(const std::string& file) {
  const auto text = read_text(file);
  if (!text) return tl::make_unexpected(text.error());
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object()) return fail("{}: it is not a JSON object by kind of GPU", file);
  std::map<std::pair<std::string, std::string>, Measurements> all;
  for (const auto& [worker, jobs] : json.items()) {
    if (!jobs.is_object())
      return fail("{}: {} is not an object by job", file, trainyard::quoted(worker));
    const bool spread = worker.ends_with("_unconsolidated");
    const std::string kind = worker.substr(0, worker.find('_'));
    for (const auto& [key, pairs] : jobs.items()) {
      std::string model;
      MeasuredIteration iteration;
      int gpus = 0;
      if (!read_gavel_key(key, model, iteration.batch, gpus))
        return fail("{}: {} is not ('MODEL (batch size N)', GPUS)", file, trainyard::quoted(key));
      const auto alone = pairs.is_object() ? pairs.find("null") : pairs.end();
      if (alone == pairs.end() || !alone->is_number())
        return fail("{}: {} has no number of steps per second as \"null\"", file,
                    trainyard::quoted(key));
      const double steps_per_s = alone->get<double>();
      if (steps_per_s <= 0 || (spread && gpus == 1)) continue;  // did not run; the same row again
      iteration.gpus = spread ? std::vector<int>(gpus, 1) : std::vector<int>{gpus};
      iteration.step_s = gpus / steps_per_s;  // every GPU's steps are counted
      iteration.unit = fmt::format("{:09.0f}", iteration.batch);
      Measurements& of_model = all[{model, kind}];
      of_model.model = model, of_model.system = kind;
      of_model.iterations.push_back(std::move(iteration));
    }
  }
  std::vector<Measurements> list;
  for (auto& [key, measurements] : all) list.push_back(std::move(measurements));
  return list;
}

}  // namespace trainyard
