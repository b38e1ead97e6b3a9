// Completion scripts for shells, written from the description of the commands: they cannot go
// stale. Each follows the words typed so far down the tree of commands, then offers what the
// command it ends at takes; where it has nothing to offer, the shell completes file names. Numbers
// of jobs are asked of the daemon, by `trainyard completion jobs`.
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/answer_text.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "policy/registry.h"

namespace trainyard::cli {
namespace {

struct Entry {
  std::string word;  // a subcommand, an option with its dashes, or an allowed argument
  std::string description;
  bool takes_value = false;
  std::vector<std::string> values;  // those allowed or usual, where they are known
  bool takes_jobs = false;          // or numbers of jobs
};

struct Node {
  std::string path;
  std::vector<Entry> entries;
  bool takes_jobs = false;  // as an argument
};

/// What may be typed for a value, where that is known: its words, or those of its type.
std::vector<std::string> values_of(const Option& option) {
  if (!option.takes.type.starts_with("POLICY")) return option.known_words();
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.emplace_back(preset.name);
  return names;
}

bool takes_jobs(const Option& option) {
  return option.takes.type.starts_with("JOB");
}

void walk(const Command& command, std::vector<Node>& nodes) {
  Node node{.path = command.path, .entries = {}};
  for (const Command& below : command.commands)
    node.entries.push_back({below.name(), below.description, false, {}});
  for (const Option& option : command.options) {
    for (const std::string& name : option.names)
      if (name.starts_with("--"))
        node.entries.push_back(
            {name, option.help, option.takes_value(), values_of(option), takes_jobs(option)});
    if (!option.is_argument()) continue;
    for (const std::string& word : values_of(option))
      node.entries.push_back({word, option.help, false, {}});
    node.takes_jobs = node.takes_jobs || takes_jobs(option);
  }
  nodes.push_back(std::move(node));
  for (const Command& below : command.commands) walk(below, nodes);
}

std::string words_of(const Node& node) {
  std::string words;
  for (const Entry& entry : node.entries) words += (words.empty() ? "" : " ") + entry.word;
  return words;
}

/// The `case` branch, for bash and zsh, that recognises a path one word longer.
std::string branches_down(const std::vector<Node>& nodes) {
  std::string patterns;
  for (const Node& node : nodes)
    if (node.path.find(' ') != std::string::npos)
      patterns += (patterns.empty() ? "" : "|") + shell_quoted(node.path);
  return patterns;
}

template <class... Args>
void add(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
}

constexpr const char* kBashJobs =
    "\"$(\"${COMP_WORDS[0]}\" completion jobs 2>/dev/null | cut -f 1)\"";

std::string bash_script(const std::vector<Node>& nodes) {
  std::string text =
      "# Completion of trainyard for bash; load it with: source <(trainyard completion bash)\n"
      "_trainyard() {\n"
      "  local word words='' jobs='' at=trainyard\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
      "  local last=${current##*,}\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \"$at $word\" in\n";
  add(text, "      {}) at=\"$at $word\" ;;\n    esac\n  done\n", branches_down(nodes));
  text += "  case \"$at $before\" in\n";
  for (const Node& node : nodes)
    for (const Entry& entry : node.entries)
      if (entry.takes_value)
        add(text,
            "    {}) COMPREPLY=($(compgen -P \"${{current%\"$last\"}}\" -W {} -- \"$last\")); "
            "return ;;\n",
            shell_quoted(node.path + " " + entry.word),
            entry.takes_jobs ? kBashJobs
                             : shell_quoted(fmt::format("{}", fmt::join(entry.values, " "))));
  text += "  esac\n  case \"$at\" in\n";
  for (const Node& node : nodes)
    add(text, "    {}) words={}{} ;;\n", shell_quoted(node.path), shell_quoted(words_of(node)),
        node.takes_jobs ? " jobs=yes" : "");
  add(text, "  esac\n  [ -z \"$jobs\" ] || words=\"$words \"{}\n", kBashJobs);
  text +=
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}\n"
      "complete -o default -F _trainyard trainyard\n";
  return text;
}

/// "word:description" as zsh's _describe takes it.
std::string zsh_entry(const Entry& entry) {
  std::string word;
  for (const char c : entry.word) word += c == ':' ? std::string("\\:") : std::string(1, c);
  return shell_quoted(word + ":" + entry.description);
}

/// "7:name, running" for each.
constexpr const char* kZshJobs =
    "(${${(f)\"$(${words[1]} completion jobs 2>/dev/null)\"}//$'\\t'/:})";

std::string zsh_script(const std::vector<Node>& nodes) {
  std::string text =
      "#compdef trainyard\n"
      "# Completion of trainyard for zsh; load it with: source <(trainyard completion zsh)\n"
      "_trainyard() {\n"
      "  local word jobs='' at=trainyard\n"
      "  local -a entries\n"
      "  for word in ${words[2,CURRENT-1]}; do\n"
      "    case \"$at $word\" in\n";
  add(text, "      ({}) at=\"$at $word\" ;;\n    esac\n  done\n", branches_down(nodes));
  text += "  case \"$at ${words[CURRENT-1]}\" in\n";
  for (const Node& node : nodes)
    for (const Entry& entry : node.entries)
      if (entry.takes_value)
        add(text, "    ({}) {}; return ;;\n", shell_quoted(node.path + " " + entry.word),
            entry.takes_jobs ? fmt::format("entries={}; _describe job entries", kZshJobs)
            : entry.values.empty()
                ? "_files"
                : fmt::format("compset -P '*,'; compadd -- {}", fmt::join(entry.values, " ")));
  text += "  esac\n  case \"$at\" in\n";
  for (const Node& node : nodes) {
    add(text, "    ({}) entries=(", shell_quoted(node.path));
    for (const Entry& entry : node.entries) add(text, "\n      {}", zsh_entry(entry));
    text += node.takes_jobs ? ") jobs=yes ;;\n" : ") ;;\n";
  }
  add(text, "  esac\n  [[ -z $jobs ]] || entries+={}\n", kZshJobs);
  text +=
      "  _describe trainyard entries\n"
      "  _files\n"
      "}\n"
      "compdef _trainyard trainyard\n";
  return text;
}

/// In single quotes, for fish, where a backslash escapes within them too.
std::string fish_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

constexpr const char* kFishJobs = "(trainyard completion jobs 2>/dev/null)";

std::string fish_entry(const Node& node, const Entry& entry) {
  const bool option = entry.word.starts_with("--");
  std::string text =
      fmt::format("complete -c trainyard -n \"__trainyard_at '{}'\" {} {} -d {}", node.path,
                  option ? "-l" : "-a", option ? entry.word.substr(2) : entry.word,
                  fish_quoted(entry.description));
  if (entry.takes_jobs)
    text += fmt::format(" -x -a '{}'", kFishJobs);
  else if (!entry.values.empty())
    text += " -x -a " + fish_quoted(fmt::format("{}", fmt::join(entry.values, " ")));
  else if (entry.takes_value)
    text += " -r";
  return text + '\n';
}

std::string fish_script(const std::vector<Node>& nodes) {
  std::string paths;
  for (const Node& node : nodes) paths += " " + fish_quoted(node.path);
  std::string text =
      "# Completion of trainyard for fish; load it with: trainyard completion fish | source\n"
      "function __trainyard_at\n"
      "  set -l at trainyard\n"
      "  for word in (commandline -opc)[2..-1]\n";
  add(text, "    contains -- \"$at $word\"{}; and set at \"$at $word\"\n  end\n", paths);
  text += "  test \"$at\" = \"$argv[1]\"\nend\n";
  for (const Node& node : nodes)
    for (const Entry& entry : node.entries) text += fish_entry(node, entry);
  for (const Node& node : nodes)
    if (node.takes_jobs)
      add(text, "complete -c trainyard -n \"__trainyard_at '{}'\" -x -a '{}'\n", node.path,
          kFishJobs);
  return text;
}

/// "7<tab>name, running" for each of the newest jobs. Somebody is typing: whatever is wrong is not
/// said, and not waited for.
Expected<void> print_jobs() {
  auto client = Client::open({.state = {}, .server = {}, .patience = std::chrono::seconds(1)});
  const auto page = client ? client->get("/v1/jobs?limit=50") : tl::make_unexpected(client.error());
  if (!page) return {};
  std::string text;
  for (const nlohmann::json& job : page->at("jobs"))
    text += fmt::format("{}\t{}, {}\n", job.at("id").get<std::string>(),
                        job.at("name").get<std::string>(), job.at("state").get<std::string>());
  return print(text);
}

Expected<void> print_completion(const Command& program, const std::string& shell) {
  if (shell == "jobs") return print_jobs();
  std::vector<Node> nodes;
  walk(program, nodes);
  if (shell == "bash") return print(bash_script(nodes));
  if (shell == "zsh") return print(zsh_script(nodes));
  return print(fish_script(nodes));
}

}  // namespace

void add_completion_command(Command& program) {
  const auto shell = std::make_shared<std::string>();
  Command& command =
      program.add("completion", "Prints a script that completes commands in your shell.",
                  "source <(trainyard completion bash)\n"
                  "trainyard completion zsh > ~/.zfunc/_trainyard\n"
                  "trainyard completion fish > ~/.config/fish/completions/trainyard.fish");
  command.option("shell", shell.get(),
                 "which shell; jobs prints what the scripts ask of the daemon",
                 {.required = true, .words = {"bash", "zsh", "fish", "jobs"}});
  command.action = [shell, &program] { return print_completion(program, *shell); };
}

}  // namespace trainyard::cli
