// The log of the daemon: a file, standard error, the journal, or syslog.
//
// Threads: start_logging() before other threads are started; reopen_log() from any thread. Log lines from any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "mount/supervision/journal_log.h"

namespace dedupfs {

// Logs to `file` if it is given, else to standard error (`foreground`) or syslog. Where standard error is systemd's journal, its entries
// have `fields`. A new file has mode 0600, since its lines name files of
// all users. kInvalidArgument when the file cannot be opened.
Result<void> start_logging(const std::string& file, bool foreground, const JournalLog::Fields& fields = {});

// Opens the log file again by its name, for logrotate(8). If that fails, the old file stays in use, and the log says so. Without a
// log file it does nothing.
void reopen_log();

}  // namespace dedupfs
