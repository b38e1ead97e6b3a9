#include "cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "base/atomic_file.h"

namespace trainyard::cli {
namespace {

/// The first file that a shell would run for this name; empty: none.
std::filesystem::path found_in_path(std::string_view name) {
  const char* variable = std::getenv("PATH");
  std::string_view folders = variable == nullptr ? "" : variable;
  while (!folders.empty()) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    const std::filesystem::path file = std::filesystem::path(folders.substr(0, end)) / name;
    if (file.is_absolute() && ::access(file.c_str(), X_OK) == 0) return file;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return {};
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string program_to_type() {
  std::error_code none;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", none);
  if (self.empty() || std::filesystem::equivalent(found_in_path("trainyard"), self, none))
    return "trainyard";
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) || c > 0x7f || c == '/' || c == '.' || c == '-' || c == '_' || c == '+';
  };
  return std::ranges::all_of(self.string(), is_plain) ? self.string() : shell_quoted(self.string());
}

Expected<void> write_output(const std::string& path, std::string_view text) {
  if (path == "-") return print(text);
  return write_file_atomically(path, [&](std::ostream& out) { out << text; });
}

Expected<void> print(std::string_view text) {
  std::cout << text << std::flush;
  if (!std::cout) return fail("standard output cannot be written; is the disk full?");
  return {};
}

}  // namespace trainyard::cli
