#include "study/write_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace trainyard {
namespace {

bool write_all(const std::string& path, std::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
                       std::fflush(file) == 0 && fsync(fileno(file)) == 0;
  return std::fclose(file) == 0 && written;
}

}  // namespace

Expected<void> write_file(const std::string& path, std::string_view text) {
  const std::string partial = fmt::format("{}.{}.partial", path, getpid());
  if (write_all(partial, text) && std::rename(partial.c_str(), path.c_str()) == 0) return {};
  const int cause = errno;
  std::remove(partial.c_str());
  return fail("{}: cannot write: {}", path, std::strerror(cause));
}

}  // namespace trainyard
