// trainyard reproduce: a paper's claims beside what Trainyard measures.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/progress.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "study/json.h"
#include "study/reproduce/fingerprint.h"
#include "study/reproduce/runner.h"
#include "study/reproduce/write.h"
#include "study/studies.h"

namespace trainyard::cli {
namespace {

struct ReproduceOptions {
  std::string name;
  bool all = false, live = false;
  PlanOptions plan;
  int threads = 0;
  std::string instead;
  std::string json, report, markdown, tally;
};

std::vector<std::string> study_names() {
  std::vector<std::string> names;
  for (const Study& study : studies()) names.push_back(study.name);
  return names;
}

Expected<void> list_studies() {
  std::string text;
  for (const Study& study : studies()) text += fmt::format("{:<12} {}\n", study.name, study.title);
  return print(text);
}

Expected<void> read_instead(ReproduceOptions& options) {
  if (options.instead.empty()) return {};
  const std::size_t equals = options.instead.find('=');
  if (equals == 0 || equals == std::string::npos)
    return fail("--instead: '{}' is not LABEL=LINE, as trainyard=order=las backfill=greedy",
                options.instead);
  options.plan.instead = {options.instead.substr(0, equals), options.instead.substr(equals + 1)};
  return {};
}

/// --traces, else the environment's; a folder that was named must be there.
Expected<void> find_traces(ReproduceOptions& options) {
  const char* named = std::getenv("TRAINYARD_TRACES");
  const bool is_given = !options.plan.traces.empty();
  if (!is_given && named != nullptr) options.plan.traces = named;
  std::error_code ignored;
  if (options.plan.traces.empty() || std::filesystem::is_directory(options.plan.traces, ignored))
    return {};
  return fail("{}: {} is not a folder; give the one that has the public traces",
              is_given ? "--traces" : "TRAINYARD_TRACES", quoted(options.plan.traces));
}

/// A study may take an hour; what could not be written then is better known now.
Expected<void> check_outputs(const ReproduceOptions& options) {
  for (const std::string* path :
       {&options.json, &options.report, &options.markdown, &options.tally})
    if (!path->empty() && *path != "-")
      if (auto ok = check_writable(*path); !ok) return ok;
  return {};
}

Expected<std::unique_ptr<RunJournal>> open_journal(const Study& study,
                                                   const ReproduceOptions& options) {
  const auto folder = journal_folder();
  if (!folder) return tl::make_unexpected(folder.error());
  auto program = program_fingerprint();
  if (!program) return tl::make_unexpected(program.error());
  const auto& [quick, seeds, first_seed, only, instead, traces] = options.plan;
  std::string name = fmt::format("{}.{}", study.name, quick ? "quick" : "full");
  // A part that ends takes its own file away, and not that of the whole.
  if (first_seed != 0 || !only.empty() || !instead.label.empty())
    name +=
        "." + Fingerprint().add(std::to_string(first_seed)).add(only).add(options.instead).hex();
  return RunJournal::open(fmt::format("{}/{}.jsonl", *folder, name), std::move(*program));
}

Expected<std::vector<Metrics>> run(const Study& study, const StudyPlan& plan,
                                   const ReproduceOptions& options, RunJournal* journal) {
  std::unique_ptr<Progress> progress;
  RunnerOptions runner;
  runner.threads = options.threads;
  runner.journal = journal;
  runner.on_begin = [&](std::size_t there_already) {
    if (there_already > 0)
      note(fmt::format("{} of {} runs were there already", there_already, plan.runs.size()));
    progress =
        std::make_unique<Progress>("reproducing " + study.name, plan.runs.size() - there_already);
  };
  runner.on_run_done = [&] { progress->add(); };
  return run_plan(plan, runner);
}

Expected<void> show(const Findings& findings, const ReproduceOptions& options) {
  if (!options.report.empty())
    if (auto ok = write_output(options.report, to_html(findings)); !ok) return ok;
  if (!options.markdown.empty())
    if (auto ok = write_output(options.markdown, to_markdown(findings)); !ok) return ok;
  if (!options.json.empty())
    if (auto ok = write_output(options.json, to_text(to_json(findings))); !ok) return ok;
  if (!options.tally.empty())
    if (auto ok = write_output(options.tally, tally_to_markdown({&findings, 1})); !ok) return ok;
  const std::array outputs{options.report, options.markdown, options.json, options.tally};
  if (std::ranges::find(outputs, "-") != outputs.end()) return {};
  const std::string& page = options.report.empty() ? options.markdown : options.report;
  return print(
      fmt::format("{}\nThe sweeps, the assumptions and a discussion are in {}.\n",
                  to_terminal_text(findings, ::isatty(STDOUT_FILENO) == 1),
                  page.empty() ? "what --report FILE.html or --markdown FILE.md writes" : page));
}

/// The runs of a study that are kept until all that was asked for has been shown.
struct Done {
  Findings findings;
  std::unique_ptr<RunJournal> journal;  // null: it could not be opened
};

Expected<Done> carry_out(const Study& study, const ReproduceOptions& options) {
  const auto plan = make_plan(study, options.plan);
  if (!plan) return tl::make_unexpected(plan.error());
  auto journal = open_journal(study, options);
  if (!journal) note(fmt::format("not resumable when stopped: {}", journal.error().message));
  RunJournal* kept = journal ? journal->get() : nullptr;
  const auto results = run(study, *plan, options, kept);
  if (!results) return tl::make_unexpected(results.error());
  return Done{evaluate(study, *plan, *results), journal ? std::move(*journal) : nullptr};
}

Expected<void> reproduce(const ReproduceOptions& options) {
  if (auto ok = check_outputs(options); !ok) return ok;
  const auto done = carry_out(*std::ranges::find(studies(), options.name, &Study::name), options);
  if (!done) return tl::make_unexpected(done.error());
  if (auto ok = show(done->findings, options); !ok) return ok;
  if (done->journal) done->journal->remove();
  return {};
}

Expected<void> show_all(const std::vector<Findings>& all, const ReproduceOptions& options) {
  if (!options.markdown.empty())
    if (auto ok = write_output(options.markdown, claims_to_markdown(all)); !ok) return ok;
  if (!options.json.empty()) {
    auto documents = nlohmann::ordered_json::array();
    for (const Findings& findings : all) documents.push_back(to_json(findings));
    if (auto ok = write_output(options.json, to_text(documents)); !ok) return ok;
  }
  if (options.markdown == "-" || options.json == "-") return {};
  return print(claims_to_terminal_text(all, ::isatty(STDOUT_FILENO) == 1));
}

/// Every study, and one table of all claims.
Expected<void> reproduce_all(const ReproduceOptions& options) {
  if (!options.name.empty()) return fail("--all runs every study: name none beside it");
  if (!options.report.empty())
    return fail("--report has one study: name it, or leave out --report beside --all");
  if (!options.tally.empty())
    return fail("--tally has one study: beside --all, --markdown has the claims of every study");
  if (auto ok = check_outputs(options); !ok) return ok;
  std::vector<Findings> all;
  std::vector<std::unique_ptr<RunJournal>> journals;
  for (const Study& study : studies()) {
    auto done = carry_out(study, options);
    if (!done) return tl::make_unexpected(done.error());
    all.push_back(std::move(done->findings));
    journals.push_back(std::move(done->journal));
  }
  if (auto ok = show_all(all, options); !ok) return ok;
  for (const auto& journal : journals)
    if (journal) journal->remove();
  return {};
}

/// The scripts of the testbed (testbed/): beside the program, or where they are installed.
std::string testbed_script() {
  std::error_code none;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  const auto beside = folder / "testbed/jpas_live.py";
  if (std::filesystem::exists(beside, none)) return beside.string();
  return (folder.parent_path() / "libexec/trainyard/testbed/jpas_live.py").string();
}

Expected<std::vector<std::string>> live_command(const ReproduceOptions& options) {
  const auto folder = journal_folder();
  if (!folder) return tl::make_unexpected(folder.error());
  std::error_code none;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", none);
  const char* extent = options.plan.quick ? "quick" : "full";
  std::vector<std::string> words{"/usr/bin/python3", "-B", testbed_script()};
  const auto add = [&](const char* name, const std::string& value) {
    words.insert(words.end(), {name, value});
  };
  add("--trainyard", program);
  add("--runs", fmt::format("{}/jpas-live.{}.jsonl", *folder, extent));
  if (options.plan.quick) words.emplace_back("--quick");
  if (options.plan.seeds != 0) add("--seeds", std::to_string(options.plan.seeds));
  if (options.plan.first_seed != 0) add("--first-seed", std::to_string(options.plan.first_seed));
  if (!options.plan.only.empty()) add("--only", options.plan.only);
  if (!options.json.empty()) add("--json", options.json);
  if (!options.markdown.empty()) add("--markdown", options.markdown);
  return words;
}

/// On this machine's kernel instead of the simulator; becomes the program that does it. That one
/// ends with 77 where it cannot be done.
Expected<void> reproduce_live(const ReproduceOptions& options) {
  if (options.name != "jpas") return fail("--live: only the study jpas can be run so");
  if (options.all || options.threads != 0 || !options.instead.empty() || !options.report.empty() ||
      !options.tally.empty())
    return fail("--live goes with --quick, --seeds, --first-seed, --only, --json and --markdown");
  if (auto ok = check_outputs(options); !ok) return ok;
  auto words = live_command(options);
  if (!words) return tl::make_unexpected(words.error());
  std::vector<char*> arguments;
  for (std::string& word : *words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(arguments.front(), arguments.data());
  return fail("{}: {}", words->front(), std::strerror(errno));
}

}  // namespace

void add_reproduce_command(Command& program) {
  const auto options = std::make_shared<ReproduceOptions>();
  Command& command = program.add(
      "reproduce",
      "Runs the study of a paper and tells which of its claims hold; without a name, lists them.",
      "trainyard reproduce\n"
      "trainyard reproduce --all --quick\n"
      "trainyard reproduce fitgpp --quick\n"
      "trainyard reproduce fitgpp --report fitgpp.html --json fitgpp.json");
  command.option("study", &options->name, "which study", {.words = study_names()});
  command.flag("--all", &options->all, "every study, and one table of all their claims");
  command.flag("--live", &options->live,
               "with jpas: real jobs, real TCP and Trainyard's own daemon and agents, in network "
               "namespaces that it makes and removes. For root; takes 1.5 hours, with --quick 15 "
               "minutes (docs/studies/jpas-live.md)");
  command.flag("--quick", &options->plan.quick,
               "fewer jobs and seeds, the same claims; within a minute");
  command.option("--seeds", &options->plan.seeds,
                 "how many seeds to run (default: as the study says)",
                 {.type = "NUMBER", .range = Range{1, 10'000}});
  command.option("--first-seed", &options->plan.first_seed,
                 "the first of them (default: the study's, mostly 1); for choosing parameters, on "
                 "other seeds than those of the study",
                 {.type = "NUMBER", .range = Range{1, 1'000'000}});
  command.option("--only", &options->plan.only,
                 "only the sweeps whose titles begin so, without the base condition",
                 {.type = "TITLE"});
  command.option("--instead", &options->instead,
                 "runs this line for the policy with that label in the study",
                 {.type = "LABEL=LINE"});
  command.option("--traces", &options->plan.traces,
                 "the folder of public traces (default: TRAINYARD_TRACES); without it, or where a "
                 "file is missing, conditions that need one are left out, and named",
                 {.type = "DIR"});
  command.option("--threads", &options->threads,
                 "how many runs go on at once (default: one for each core)",
                 {.type = "NUMBER", .range = Range{1, 1'024}});
  command.option("--json", &options->json, "claims and tables as JSON; - is standard output",
                 {.type = "FILE|-"});
  command.option("--report", &options->report, "an HTML page with plots, in one file",
                 {.type = "FILE|-"});
  command.option("--markdown", &options->markdown, "the same as Markdown, without plots",
                 {.type = "FILE|-"});
  command.option("--tally", &options->tally,
                 "how many claims have which verdict, as a row of a Markdown table",
                 {.type = "FILE|-"});
  command.action = [options, &command]() -> Expected<void> {
    if (command.is_bare) return list_studies();
    if (options->live) return reproduce_live(*options);
    if (auto ok = read_instead(*options); !ok) return ok;
    if (auto ok = find_traces(*options); !ok) return ok;
    if (options->all) return reproduce_all(*options);
    if (!options->name.empty()) return reproduce(*options);
    return fail("which study? One of {}", fmt::join(study_names(), ", "));
  };
}

}  // namespace trainyard::cli
