// trainyard policies: what there is to choose from, from the registry itself.
#include <memory>

#include "cli/commands.h"
#include "policy/registry.h"

namespace trainyard::cli {
namespace {

std::string describe_params(const std::vector<ParamSpec>& params, std::string_view prefix) {
  std::string text;
  for (const ParamSpec& param : params) {
    text +=
        fmt::format("      {:<34} {}\n",
                    fmt::format("{}.{}={}", prefix, param.name, param.default_value), param.help);
    if (!param.choices.empty())
      text += fmt::format("      {:<34} one of: {}\n", "", fmt::join(param.choices, ", "));
    if (!param.from.empty()) text += fmt::format("      {:<34} {}\n", "", param.from);
  }
  return text;
}

std::string list_all() {
  std::string text = "Presets (--policy NAME):\n";
  for (const Preset& preset : presets())
    text += fmt::format("  {:<19} {}\n", preset.name, preset.summary);
  text +=
      "\nStages (--policy \"order=... place=...\"; the first of each is taken when none is "
      "named):\n";
  for (const StageInfo& stage : stage_infos()) {
    text += fmt::format("\n  {}: {}\n", stage.name, stage.question);
    for (const MemberInfo& member : stage.members) {
      text += fmt::format("    {:<20} {}\n", member.name, member.summary);
      text += describe_params(member.params, stage.name);
    }
  }
  return text + "\nNext: trainyard policies NAME tells more about one.\n";
}

std::string describe_member(const StageInfo& stage, const MemberInfo& member) {
  std::string text = fmt::format("{}={}: {}\n  source: {}\n", stage.name, member.name,
                                 member.summary, member.source);
  if (!member.params.empty())
    text += "  parameters, with their defaults:\n" + describe_params(member.params, stage.name);
  return text;
}

std::string describe_preset(const Preset& preset) {
  std::string text =
      fmt::format("{}: {}\n  source: {}\n  the same as: --policy \"{}\"\n\nmade of:\n", preset.name,
                  preset.summary, preset.source, preset.line);
  const auto spec = PolicySpec::parse(preset.name);
  for (const StageInfo& stage : stage_infos()) {
    if (stage.kind == StageInfo::Kind::stage && spec->decides_jointly()) continue;
    for (const MemberInfo& member : stage.members)
      if (member.name == spec->member(stage.name)) text += describe_member(stage, member);
  }
  return text;
}

Expected<void> describe_one(const std::string& name) {
  std::string text;
  std::vector<std::string> known;
  for (const Preset& preset : presets()) {
    known.push_back(preset.name);
    if (preset.name == name) text += describe_preset(preset);
  }
  for (const StageInfo& stage : stage_infos())
    for (const MemberInfo& member : stage.members) {
      known.push_back(member.name);
      // A preset of the same name has described it already.
      const bool is_told = text.find(stage.name + "=" + member.name + ":") != std::string::npos;
      if (!is_told && (member.name == name || stage.name + "=" + member.name == name))
        text += (text.empty() ? "" : "\n") + describe_member(stage, member);
    }
  if (!text.empty()) return print(text);
  return fail("there is no policy or stage member {}{}; trainyard policies lists them",
              trainyard::quoted(name), did_you_mean(name, known));
}

}  // namespace

void add_policies_command(Command& program) {
  const auto name = std::make_shared<std::string>();
  Command& command = program.add(
      "policies", "Lists policies, stages and their parameters, and says where they come from.",
      "trainyard policies\ntrainyard policies tiresias\ntrainyard policies order=las");
  command.option("name", name.get(), "a preset, a stage member, or stage=member",
                 {.type = "POLICY"});
  command.action = [name]() -> Expected<void> {
    return name->empty() ? print(list_all()) : describe_one(*name);
  };
}

}  // namespace trainyard::cli
