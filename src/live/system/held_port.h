// Holds a TCP port for a job from the decision to start it until its end: the MASTER_PORT of
// torch.distributed. The holder binds the port exclusively, sets SO_REUSEADDR only after that, and
// never listens. The kernel then decides as follows:
//
//   another holder, of whichever daemon or user      refused: the address is in use
//   bind() without SO_REUSEADDR                      refused
//   bind() to port 0, or an outgoing connection      gets another port
//   bind() with SO_REUSEADDR, as torch's TCPStore    succeeds, and so does one listen()
//
// The last line is what lets the job in. It also lets in a foreign program that names this very
// port and sets SO_REUSEADDR while the job does not listen yet; only a network namespace would
// prevent that.
//
// A port is free again when all descriptors of the socket are closed, also after a crash. One with
// connections in TIME_WAIT counts as in use, so the next job does not hear from the last one's
// peers.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "live/system/files.h"

namespace trainyard {

/// Ports for jobs. They begin with torchrun's default, and end below the range from which Linux
/// takes the ports of outgoing connections.
constexpr int kFirstJobPort = 29500, kJobPorts = 1000;

struct HeldPort {
  int number = 0;
  Descriptor socket;  // the port is held while this, or a copy in another process, is open
};

/// Holds the first free port at or after the one that `number` maps to, going around once; if none
/// of them is free, any other. Every user can bind ports, so no start may depend on these.
Expected<HeldPort> hold_port(std::int64_t number);

}  // namespace trainyard
