// Sockets to listen on.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/error.h"
#include "live/job/identity.h"
#include "live/system/files.h"

namespace trainyard {

/// DIRECTORY/socket, for everybody to connect to (mode 0666). One that nobody answers on any more
/// is replaced; works for paths that are too long for the system's own calls too.
Expected<Descriptor> listen_on_unix(const std::string& directory);
/// Connects to it. The error is the reason alone: there is none, or nobody answers.
Expected<Descriptor> connect_to_unix(const std::string& directory);

struct TcpAddress {
  std::string host;  // a number, as text
  int port = 0;
  bool is_loopback = false;
};
/// "127.0.0.1:8642", "[::1]:8642", "localhost:8642".
Expected<TcpAddress> parse_tcp_address(const std::string& text);
Expected<Descriptor> listen_on_tcp(const TcpAddress& address);
int port_of(int socket);

/// Who is at the other end of a Unix socket: root and `daemon` are operators, others users.
std::optional<Identity> unix_peer(int socket, uid_t daemon);

}  // namespace trainyard
