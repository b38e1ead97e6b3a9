// Findings on the terminal and in Markdown.
#include <fmt/format.h>

#include <algorithm>

#include "study/reproduce/tables.h"
#include "study/reproduce/write.h"

namespace trainyard {
namespace {

std::string extent_text(const Findings& findings) {
  const Extent& extent = findings.extent;
  return fmt::format("{} run: {} jobs, {} {}{}, {} runs", findings.quick ? "quick" : "full",
                     extent.jobs, extent.seeds, extent.seeds == 1 ? "seed" : "seeds",
                     extent.first_seed == 1 ? "" : fmt::format(" from {} on", extent.first_seed),
                     findings.runs);
}

/// A cell of a Markdown table, where a bar would end it.
std::string cell_text(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

std::string markdown_table(const SummaryTable& table) {
  std::string text = "|", rule = "|";
  for (const std::string& title : table.header) {
    text += fmt::format(" {} |", cell_text(title));
    rule += rule.size() == 1 ? "---|" : "---:|";
  }
  text += "\n" + rule + "\n";
  for (const auto& row : table.rows) {
    text += "|";
    for (const auto& cell : row) text += fmt::format(" {} |", cell_text(joined(cell)));
    text += "\n";
  }
  return text;
}

std::string markdown_paragraphs(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& paragraph : list) text += paragraph + "\n\n";
  return text;
}

std::string markdown_map(const Findings& findings, const SweepFinding& sweep) {
  std::string text = fmt::format("## {}\n\n", sweep.table.title);
  for (const SummaryTable& table : map_tables(findings, sweep)) {
    text += markdown_table(table) + "\n";
    if (!table.note.empty()) text += table.note + "\n\n";
  }
  return text;
}

/// The picture that a study begins with.
std::string terminal_map(const Findings& findings, bool terminal) {
  for (const SweepFinding& sweep : findings.sweeps)
    if (sweep.map != nullptr)
      return fmt::format("\n{}\n{}", sweep.table.title,
                         to_text(map_tables(findings, sweep).front(), terminal));
  return "";
}

std::string markdown_setup(const Findings& findings) {
  std::string text = fmt::format("Workload `{}`, network `{}`; a pause takes {}. Policies\n\n",
                                 findings.base.workload, findings.base.network,
                                 pause_text(findings.pause_takes_s));
  for (const StudyPolicy& policy : findings.base.policies) {
    text += fmt::format("- {}: `--policy \"{}\"`", policy.label, policy.line);
    for (const std::string& setting : policy.settings) text += fmt::format(" `--set {}`", setting);
    if (policy.pauses_are_free) text += ", whose pauses cost nothing";
    text += "\n";
  }
  return text + "\n";
}

}  // namespace

std::string to_terminal_text(const Findings& findings, bool terminal) {
  const Study& study = *findings.study;
  std::string text = fmt::format("{}\n{}\n{}\n\n", study.title, study.paper, extent_text(findings));
  const auto add = [&](const TableFinding& table, std::string_view format) {
    text += fmt::format(fmt::runtime(format), table.title,
                        to_text(table_of(table, findings.extent), terminal));
  };
  for (const TableFinding& table : findings.foremost) add(table, "{}\n{}\n");
  text += to_text(claims_table(findings, false), terminal);
  text += terminal_map(findings, terminal);
  for (const TableFinding& table : findings.tables) add(table, "\n{}\n{}");
  text += fmt::format("{} A pause takes {}.\n", interval_note(findings.extent),
                      pause_text(findings.pause_takes_s));
  for (const std::string& warning : findings.warnings) text += "warning: " + warning + "\n";
  return text;
}

std::string claims_to_terminal_text(std::span<const Findings> all, bool terminal) {
  std::string text = to_text(claims_table(all), terminal);
  for (const Findings& findings : all)
    for (const std::string& warning : findings.warnings)
      text += fmt::format("warning: {}: {}\n", findings.study->name, warning);
  return text;
}

std::string claims_to_markdown(std::span<const Findings> all) {
  return markdown_table(claims_table(all));
}

std::string tally_to_markdown(std::span<const Findings> all) {
  return markdown_table(tally_table(all));
}

std::string to_markdown(const Findings& findings) {
  const Study& study = *findings.study;
  std::string text = fmt::format("# {}\n\n", study.title);
  text += fmt::format("Made by `{}` ({}).\n\n", findings.command(), extent_text(findings));
  text += fmt::format("Paper: {}\n\n{}", study.paper, markdown_paragraphs(study.summary));
  const auto add = [&](const TableFinding& table) {
    text +=
        fmt::format("## {}\n\n{}\n", table.title, markdown_table(table_of(table, findings.extent)));
  };
  for (const TableFinding& table : findings.foremost) add(table);
  text += fmt::format("## Claims\n\n{}\n", markdown_table(claims_table(findings, true)));
  for (const std::string& warning : findings.warnings)
    text += fmt::format("**Warning**: {}\n\n", warning);
  text += interval_note(findings.extent) + "\n\n";
  for (const SweepFinding& sweep : findings.sweeps)
    if (sweep.map != nullptr) text += markdown_map(findings, sweep);
  text += "## What was run\n\n" + markdown_setup(findings);
  for (const TableFinding& table : findings.tables) add(table);
  for (const SweepFinding& sweep : findings.sweeps)
    if (sweep.is_plain())
      text += fmt::format("## {}\n\n{}\n", sweep.table.title,
                          markdown_table(table_of(sweep, findings.extent)));
  text += "## What is published, and what we chose\n\n" + markdown_paragraphs(study.assumptions);
  if (study.discussion && findings.only.empty())
    text += "## Discussion\n\n" + markdown_paragraphs(study.discussion(findings));
  text.pop_back();  // paragraphs end with an empty line
  return text;
}

}  // namespace trainyard
