#include "mount/supervision/journal_log.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

namespace dedupfs {
namespace {

// A full buffer of the socket: the journal is behind. A datagram that it could not hold is cut, which no line of ours comes near.
constexpr std::chrono::milliseconds kPatienceWithJournal{100};
constexpr std::size_t kMaxMessageBytes = 32 << 10;

int priority_of(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::critical: return LOG_CRIT;
    case spdlog::level::err: return LOG_ERR;
    case spdlog::level::warn: return LOG_WARNING;
    case spdlog::level::info: return LOG_INFO;
    default: return LOG_DEBUG;
  }
}

std::string container_named_in(std::string_view message) {
  constexpr std::string_view kEnding = ".container", kWord = "container ";
  constexpr std::string_view kDigits = "0123456789";
  std::string_view number;
  if (const auto ending = message.find(kEnding); ending != std::string_view::npos) {
    const auto before = message.substr(0, ending).find_last_not_of(kDigits);
    number = message.substr(before + 1, ending - before - 1);  // npos + 1 is 0
  } else if (const auto word = message.find(kWord); word != std::string_view::npos) {
    const std::string_view rest = message.substr(word + kWord.size());
    number = rest.substr(0, rest.find_first_not_of(kDigits));
  }
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return std::string(number);
}

}  // namespace

bool stderr_is_journal() {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat status {};
  if (stream == nullptr || ::fstat(STDERR_FILENO, &status) != 0) return false;
  return fmt::format("{}:{}", std::uint64_t{status.st_dev}, std::uint64_t{status.st_ino}) == stream;
}

// A value with a line break has its length in front, as 64 bits, little-endian.
std::string journal_entry(const std::map<std::string, std::string, std::less<>>& fields) {
  std::string entry;
  for (const auto& [key, value] : fields) {
    entry += key;
    if (value.find('\n') == std::string::npos) {
      entry += '=';
    } else {
      entry += '\n';
      for (int shift = 0; shift < 64; shift += 8)
        entry += static_cast<char>(static_cast<unsigned char>(std::uint64_t{value.size()} >> shift));
    }
    entry += value + '\n';
  }
  return entry;
}

Result<std::shared_ptr<JournalLog>> JournalLog::open(Fields fields, std::string_view address) {
  DEDUPFS_ASSIGN(Datagrams journal, Datagrams::to(address, kPatienceWithJournal));
  return std::shared_ptr<JournalLog>(new JournalLog(std::move(journal), std::move(fields)));
}

// Damaged files are named "scrub: damaged: PATH" by a scrub, and "inode 12 (PATH): " with the error that a reader gets. A path that is
// not known from the root on is none.
std::string path_in(std::string_view message) {
  constexpr std::string_view kScrub = "scrub: damaged: /", kInode = "inode ";
  if (message.starts_with(kScrub)) return std::string(message.substr(kScrub.size() - 1));
  if (!message.starts_with(kInode)) return "";
  const auto begin = message.find_first_not_of("0123456789", kInode.size());
  if (begin == std::string_view::npos || !message.substr(begin).starts_with(" (/")) return "";
  const std::string_view path = message.substr(begin + 2);
  const auto end = path.find("): ");
  return std::string(path.substr(0, end == std::string_view::npos ? 0 : end));
}

// Messages name a container by its file, "0000000012.container", or as "container 12". A file of a user may have such a name, too.
std::string container_in(std::string_view whole) {
  std::string message(whole);
  if (const std::string path = path_in(whole); !path.empty()) message.erase(message.find(path), path.size());
  return container_named_in(message);
}

void JournalLog::sink_it_(const spdlog::details::log_msg& message) {
  Fields fields = fields_;
  fields["MESSAGE"] = std::string(message.payload.data(), std::min(message.payload.size(), kMaxMessageBytes));
  fields["PRIORITY"] = std::to_string(priority_of(message.level));
  fields["SYSLOG_IDENTIFIER"] = "dedupfs";
  fields["TID"] = std::to_string(message.thread_id);
  if (std::string container = container_in(fields["MESSAGE"]); !container.empty())
    fields["CONTAINER"] = std::move(container);
  if (std::string path = path_in(fields["MESSAGE"]); !path.empty()) fields["PATH"] = std::move(path);
  (void)journal_.send(journal_entry(fields));
}

}  // namespace dedupfs
