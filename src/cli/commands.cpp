#include "cli/commands.h"

#include <iostream>

#include "base/atomic_file.h"

namespace trainyard::cli {

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
