// Event copy: what a living attempt tells in its events.jsonl becomes rows of the event sequence.
#pragma once

#include "runner/context.h"
#include "runner/store/records.h"

namespace runner {

// Copies the complete lines after attempt.events_offset, each exactly once: rows and offset are one
// transaction. At most 1 MiB a call; lines that are no events of ours are passed over. A missing
// file is no error.
os::Result<void> copy_attempt_events(const ServiceContext& context,
                                     const store::AttemptRow& attempt);

}  // namespace runner
