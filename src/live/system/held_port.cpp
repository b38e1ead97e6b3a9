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

}  // namespace

Expected<HeldPort> hold_port(std::int64_t number) {
  const auto first = static_cast<int>((number % kJobPorts + kJobPorts) % kJobPorts);
  for (int i = 0; i < kJobPorts; ++i) {
    HeldPort port{.number = kFirstJobPort + (first + i) % kJobPorts, .socket = Descriptor()};
    port.socket = bound_socket(port.number);
    const int on = 1;
    if (port.socket &&
        ::setsockopt(port.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0)
      return port;
    if (errno != EADDRINUSE)
      return fail("port {} cannot be held for MASTER_PORT: {}", port.number, std::strerror(errno));
  }
  return fail("no port for MASTER_PORT: all of {} to {} are in use", kFirstJobPort,
              kFirstJobPort + kJobPorts - 1);
}

}  // namespace trainyard
