// The log in systemd's journal, with fields to search by: VOLUME, MOUNTPOINT, TID, and CONTAINER and PATH where a message names them. By the journal's native protocol
// (https://systemd.io/JOURNAL_NATIVE_PROTOCOL): a datagram for each line.
//
// Threads: log lines from any thread.
// Failure: a line that the journal does not take at once is lost. Nothing could report that, and no thread may wait for a log.
#pragma once

#include <spdlog/sinks/base_sink.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "mount/supervision/datagrams.h"

namespace dedupfs {

// Whether standard error leads to the journal, by JOURNAL_STREAM (systemd.exec(5)).
bool stderr_is_journal();

// KEY=VALUE for each field of an entry. Values may hold any bytes.
std::string journal_entry(const std::map<std::string, std::string, std::less<>>& fields);

// The number of the first container that a message names; empty: it names none.
std::string container_in(std::string_view message);

// The path of the file that a message is about; empty: it names none.
std::string path_in(std::string_view message);

class JournalLog : public spdlog::sinks::base_sink<std::mutex> {
 public:
  using Fields = std::map<std::string, std::string, std::less<>>;

  // `fields` are in every entry.
  static Result<std::shared_ptr<JournalLog>> open(Fields fields,
                                                  std::string_view address = "/run/systemd/journal/socket");

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

 private:
  JournalLog(Datagrams journal, Fields fields) : journal_(std::move(journal)), fields_(std::move(fields)) {}

  const Datagrams journal_;
  const Fields fields_;
};

}  // namespace dedupfs
