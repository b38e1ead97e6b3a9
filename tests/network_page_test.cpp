// The example of docs/network.md: the cluster, the jobs and the rates that stand there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "network/fair_share.h"
#include "network/flow.h"
#include "testing.h"

namespace trainyard {
namespace {

std::string network_page() {
  std::ostringstream text;
  text << std::ifstream("docs/network.md").rdbuf();
  return text.str();
}

std::string first_match(const std::string& text, const std::string& pattern) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(pattern)) ? match[1].str() : std::string{};
}

Share half_of(const Cluster& cluster, const std::string& name) {
  const auto at = std::ranges::find(cluster.machines, name, &Machine::name);
  EXPECT_NE(at, cluster.machines.end()) << name;
  return {MachineId{static_cast<std::uint32_t>(at - cluster.machines.begin())}, 4};
}

struct Row {
  std::string job;
  Flow flow;
  std::vector<double> rates;  // by column
};

std::vector<Row> rows_of(const std::string& page, const Cluster& cluster, const Links& links) {
  const std::regex row(R"(\| (\w) \| (\w+), (\w+) \| ([0-9.]+) \| ([0-9.]+) \| ([0-9.]+) \|)");
  std::vector<Row> rows;
  for (std::sregex_iterator at(page.begin(), page.end(), row), end; at != end; ++at) {
    const std::smatch& cells = *at;
    const Placement placement{half_of(cluster, cells[2]), half_of(cluster, cells[3])};
    ModelProfile model;
    model.gradient_bytes.value = 100e6;
    rows.push_back({cells[1],
                    flow_of(links, cluster, placement, 1, model),
                    {std::stod(cells[4]), std::stod(cells[5]), std::stod(cells[6])}});
  }
  return rows;
}

TEST(NetworkPage, TheRatesOfTheExample) {
  const std::string page = network_page();
  const Cluster cluster =
      unwrap(parse_cluster_toml(first_match(page, "```toml\n([^`]*)```"), "docs/network.md"));
  const Links links(cluster);
  const std::vector<Row> rows = rows_of(page, cluster, links);
  ASSERT_EQ(rows.size(), 4U);
  for (std::size_t column = 0; column < 3; ++column) {
    FairShare fair(links.capacities(), {.floor = column == 2 ? 0.1 : 0});
    std::vector<FlowId> flows;
    for (const Row& row : rows) {
      const FlowClass flow_class{column > 0 && row.job != "B" ? std::uint8_t{1} : std::uint8_t{0}};
      flows.push_back(fair.add(row.flow.links, row.flow.most, flow_class));
    }
    fair.settle();
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_NEAR(fair.rate(flows[i]) / 1e9, rows[i].rates[column], 1e-9)
          << rows[i].job << " in column " << column;
  }
}

}  // namespace
}  // namespace trainyard
