// Sends the log of the library to a stream for as long as the object lives.
//
// Threads: one such object at a time; the log may be written from any thread.
#pragma once

#include <spdlog/logger.h>

#include <memory>
#include <ostream>
#include <string>

namespace dedupfs::tools {

class LogTo {
 public:
  // Lines of `level` and above, with the name of the tool.
  LogTo(std::ostream& stream, const std::string& tool, spdlog::level::level_enum level);
  ~LogTo();
  LogTo(const LogTo&) = delete;
  LogTo& operator=(const LogTo&) = delete;

 private:
  const std::string tool_;
  std::shared_ptr<spdlog::logger> previous_;
};

}  // namespace dedupfs::tools
