#include "workload/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "workload/decompress.h"

namespace trainyard {

Expected<MappedFile> MappedFile::open(const std::string& path) {
  // Non-blocking, so that a pipe without a writer is refused below and not waited for.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return fail("{}: cannot be opened: {}", path, std::strerror(errno));
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file);
    return fail(
        "{}: is not a regular file; a workload is read from a file on disk, or from standard "
        "input as -",
        path);
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) {
    ::close(file);
    return MappedFile(std::string_view{});
  }
  void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int why = errno;
  ::close(file);
  if (bytes == MAP_FAILED) return fail("{}: cannot be read: {}", path, std::strerror(why));
  ::madvise(bytes, size, MADV_SEQUENTIAL);
  return MappedFile(std::string_view(static_cast<const char*>(bytes), size));
}

Expected<std::string> read_standard_input() {
  std::string text;
  std::vector<char> part(std::size_t{1} << 20);
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail("standard input: cannot be read: {}", std::strerror(errno));
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > kMostBytes)
      return fail("standard input: gives more than {} GiB; read it from a file", kMostBytes >> 30);
  }
}

MappedFile::~MappedFile() {
  if (!text_.empty()) ::munmap(const_cast<char*>(text_.data()), text_.size());
}

}  // namespace trainyard
