#include "live/server/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "live/server/query.h"
#include "live/server/tokens.h"

namespace trainyard {
namespace {

constexpr int kBacklog = 1024;

/// A path of at most 107 bytes for DIRECTORY/NAME, good as long as `folder` is open.
struct ShortPath {
  Descriptor folder;
  sockaddr_un address{};
};

Expected<ShortPath> short_path(const std::string& directory, std::string_view name) {
  ShortPath path;
  path.folder = Descriptor(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!path.folder) return fail("{}: {}", directory, std::strerror(errno));
  path.address.sun_family = AF_UNIX;
  const std::string text = fmt::format("/proc/self/fd/{}/{}", path.folder.get(), name);
  text.copy(path.address.sun_path, sizeof path.address.sun_path - 1);
  return path;
}

const sockaddr* as_address(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

/// An IPv4 or IPv6 address in numbers.
Expected<sockaddr_storage> numeric_address(const TcpAddress& address) {
  sockaddr_storage storage{};
  auto& four = reinterpret_cast<sockaddr_in&>(storage);
  auto& six = reinterpret_cast<sockaddr_in6&>(storage);
  const auto port = htons(static_cast<std::uint16_t>(address.port));
  if (inet_pton(AF_INET, address.host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = port;
  } else if (inet_pton(AF_INET6, address.host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = port;
  } else {
    return fail("{} is not an address in numbers (127.0.0.1, [::1])",
                trainyard::quoted(address.host));
  }
  return storage;
}

bool is_loopback(const sockaddr_storage& storage) {
  if (storage.ss_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in&>(storage).sin_addr.s_addr) >> 24 == 127;
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr);
}

}  // namespace

Expected<Descriptor> connect_to_unix(const std::string& directory) {
  const auto path = short_path(directory, "socket");
  if (!path) return fail("{}", std::strerror(errno));
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // So long it may wait for the daemon to accept.
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  if (!socket ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0 ||
      ::connect(socket.get(), as_address(path->address), sizeof path->address) != 0)
    return fail("{}", std::strerror(errno));
  return socket;
}

Expected<Descriptor> listen_on_unix(const std::string& directory) {
  if (connect_to_unix(directory))
    return fail("{}/socket: another daemon answers there already", directory);
  const std::string path = directory + "/socket", draft = path + ".new";
  const auto address = short_path(directory, "socket.new");
  if (!address) return tl::make_unexpected(address.error());
  ::unlink(draft.c_str());
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Under its own name only when it is ready: nobody finds one that does not answer.
  if (!socket || ::bind(socket.get(), as_address(address->address), sizeof address->address) != 0 ||
      ::chmod(draft.c_str(), 0666) != 0 || ::listen(socket.get(), kBacklog) != 0 ||
      ::rename(draft.c_str(), path.c_str()) != 0)
    return fail("{}: cannot be made: {}", path, std::strerror(errno));
  return socket;
}

Expected<TcpAddress> parse_tcp_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const auto port = parse_digits(
      colon == std::string::npos ? std::string_view() : std::string_view(text).substr(colon + 1), 0,
      65535);
  if (!port) return fail("{} is not ADDRESS:PORT, like 127.0.0.1:8642", trainyard::quoted(text));
  TcpAddress address{text.substr(0, colon), static_cast<int>(*port)};
  if (address.host == "localhost") address.host = "127.0.0.1";
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  const auto numbers = numeric_address(address);
  if (!numbers) return tl::make_unexpected(numbers.error());
  address.is_loopback = is_loopback(*numbers);
  return address;
}

Expected<Descriptor> listen_on_tcp(const TcpAddress& address) {
  const auto numbers = numeric_address(address);
  if (!numbers) return tl::make_unexpected(numbers.error());
  Descriptor socket(::socket(numbers->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&*numbers), sizeof *numbers) != 0 ||
      ::listen(socket.get(), kBacklog) != 0)
    return fail("{} port {}: cannot be listened on: {}", address.host, address.port,
                std::strerror(errno));
  return socket;
}

int port_of(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  return ntohs(storage.ss_family == AF_INET
                   ? reinterpret_cast<const sockaddr_in&>(storage).sin_port
                   : reinterpret_cast<const sockaddr_in6&>(storage).sin6_port);
}

std::optional<Identity> unix_peer(int socket, uid_t daemon) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return {};
  Identity who = user_of(credentials.uid, credentials.gid);
  who.role = who.uid == 0 || who.uid == daemon ? Role::operator_ : Role::user;
  return who;
}

}  // namespace trainyard
