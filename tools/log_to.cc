#include "log_to.h"

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

namespace dedupfs::tools {

LogTo::LogTo(std::ostream& stream, const std::string& tool, spdlog::level::level_enum level)
    : tool_(tool), previous_(spdlog::default_logger()) {
  constexpr bool kFlushesEachLine = true;
  auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(stream, kFlushesEachLine);
  auto logger = std::make_shared<spdlog::logger>(tool, std::move(sink));
  logger->set_level(level);
  spdlog::set_default_logger(std::move(logger));
}

LogTo::~LogTo() {
  spdlog::set_default_logger(previous_);
  // Newer versions of spdlog (1.15) keep a logger that was the default, and with it the stream.
  if (previous_->name() != tool_) spdlog::drop(tool_);
}

}  // namespace dedupfs::tools
