// What a daemon and systemd tell each other; all of it does nothing where systemd did not start it.
#pragma once

namespace trainyard {

/// Whether what is written to this descriptor arrives in systemd's journal, which reads a line's
/// level from "<N>" at its beginning and adds the time itself.
bool is_journal(int descriptor);

/// The daemon answers from now on (Type=notify).
void notify_ready();

}  // namespace trainyard
