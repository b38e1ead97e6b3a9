#include "study/reproduce/fingerprint.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace trainyard {

Expected<void> Fingerprint::add_file(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in) return fail("{}: cannot be read: {}", path, std::strerror(errno));
  add(bytes);
  return {};
}

Expected<std::string> program_fingerprint() {
  Fingerprint fingerprint;
  if (auto ok = fingerprint.add_file("/proc/self/exe"); !ok) return tl::make_unexpected(ok.error());
  return fingerprint.hex();
}

}  // namespace trainyard
