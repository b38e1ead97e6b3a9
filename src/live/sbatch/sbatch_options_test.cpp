#include "live/sbatch/sbatch_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace trainyard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string row_of(const SbatchOption& option) {
  const char* fate = option.fate == SbatchOption::Fate::taken     ? "taken"
                     : option.fate == SbatchOption::Fate::ignored ? "ignored"
                                                                  : "refused";
  std::string text(option.text);
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return fmt::format("| `{}`{} | {} | {} |\n", option.name,
                     option.letter == 0 ? "" : fmt::format(", `-{}`", option.letter), fate, text);
}

TEST(SbatchOptions, TheDocumentationListsEachWithWhatBecomesOfIt) {
  std::ifstream file("docs/slurm-users.md");
  std::stringstream text;
  text << file.rdbuf();
  std::string table;
  for (const SbatchOption& option : sbatch_options()) table += row_of(option);
  EXPECT_THAT(text.str(), HasSubstr(table));
}

TEST(SbatchOptions, NamesAndLettersAreOnesOwn) {
  std::set<std::string_view> names;
  std::set<char> letters;
  for (const SbatchOption& option : sbatch_options()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_TRUE(option.letter == 0 || letters.insert(option.letter).second) << option.letter;
    const bool is_taken = option.fate == SbatchOption::Fate::taken;
    EXPECT_EQ(option.set != nullptr || !option.field.empty(), is_taken) << option.name;
    EXPECT_EQ(find_sbatch_option(option.name), &option);
  }
  EXPECT_EQ(find_sbatch_option("-n")->name, "--ntasks");
  for (const std::string& word : {std::string("--no-such"), std::string("-Z"), std::string("-"),
                                  std::string(""), std::string("-\0", 2)})
    EXPECT_EQ(find_sbatch_option(word), nullptr) << word;
}

TEST(SbatchMemory, IsInMebibytesWithoutAUnit) {
  EXPECT_EQ(*parse_sbatch_memory("4000"), 4000);
  EXPECT_EQ(*parse_sbatch_memory("64G"), 64 * 1024);
  EXPECT_EQ(*parse_sbatch_memory("1T"), 1024 * 1024);
  EXPECT_EQ(*parse_sbatch_memory("1025K"), 2);
  EXPECT_EQ(*parse_sbatch_memory("64GB"), 64 * 1024);
  EXPECT_EQ(*parse_sbatch_memory("65536M"), 64 * 1024);
  for (const char* text : {"", "G", ".", "-1", "64X", "1000T", "99999999999999999999"})
    EXPECT_FALSE(parse_sbatch_memory(text)) << text;
}

TEST(Export, SaysWhichVariablesGoAlong) {
  const std::map<std::string, std::string> all{
      {"HOME", "/home/ada"}, {"LR", "1"}, {"PATH", "/bin"}};
  const auto names = [&](const char* text) {
    std::vector<std::string> found;
    for (const auto& [name, value] : exported(*parse_export(text), all))
      found.push_back(name + "=" + value);
    return found;
  };
  EXPECT_THAT(names("ALL"), ElementsAre("HOME=/home/ada", "LR=1", "PATH=/bin"));
  EXPECT_THAT(names("NONE"), IsEmpty());
  EXPECT_THAT(names("ALL,LR=0.1,X="), ElementsAre("HOME=/home/ada", "LR=0.1", "PATH=/bin", "X="));
  EXPECT_THAT(names("PATH,LR=0.1,NOT_SET"), ElementsAre("LR=0.1", "PATH=/bin"));
  for (const char* text : {"", ",", "ALL,", "=1", "LR=1,NONE"}) EXPECT_FALSE(parse_export(text));
}

}  // namespace
}  // namespace trainyard
