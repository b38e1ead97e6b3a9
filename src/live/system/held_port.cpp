#include "live/system/held_port.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace trainyard {
namespace {

/// Binds all addresses of both families where the machine has IPv6, else those of IPv4. Leaves
/// the reason in errno if it returns none.
Descriptor bound_socket(int port) {
  Descriptor both(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int off = 0;
  if (both && ::setsockopt(both.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0) {
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(static_cast<std::uint16_t>(port));
    if (::bind(both.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) == 0) return both;
    if (errno == EADDRINUSE) return Descriptor();
  }
  Descriptor one(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(static_cast<std::uint16_t>(port));
  if (one && ::bind(one.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) == 0) return one;
  return Descriptor();
}

/// Lets the job's own bind() in (held_port.h).
bool share(const Descriptor& socket) {
  const int on = 1;
  return ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0;
}

int port_of(const Descriptor& socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  // The port is in the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

/// Holds a port of the kernel's choice.
Expected<HeldPort> hold_any_port() {
  HeldPort port{.number = 0, .socket = bound_socket(0)};
  if (port.socket && share(port.socket)) port.number = port_of(port.socket);
  if (port.number == 0) return fail("no port is free for MASTER_PORT: {}", std::strerror(errno));
  return port;
}

}  // namespace

Expected<HeldPort> hold_port(std::int64_t number) {
  const auto first = static_cast<int>((number % kJobPorts + kJobPorts) % kJobPorts);
  for (int i = 0; i < kJobPorts; ++i) {
    HeldPort port{.number = kFirstJobPort + (first + i) % kJobPorts, .socket = Descriptor()};
    port.socket = bound_socket(port.number);
    if (port.socket && share(port.socket)) return port;
    if (errno != EADDRINUSE)
      return fail("port {} cannot be held for MASTER_PORT: {}", port.number, std::strerror(errno));
  }
  return hold_any_port();
}

}  // namespace trainyard
