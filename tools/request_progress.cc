#include "request_progress.h"

#include <fmt/format.h>

#include <string>

#include "mount/control/control_socket.h"

namespace dedupfs::tools {
namespace {

template <class Number>
std::optional<Number> number_in(const nlohmann::json& job, const char* key) {
  const nlohmann::json& value = job.at(key);
  return value.is_null() ? std::nullopt : std::optional(value.get<Number>());
}

// "cloning 43 %, 12 seconds left; 4300 of 10000, 358/s"
std::string line_of(const nlohmann::json& job) {
  const auto done = job.at("done").get<std::uint64_t>();
  const auto total = number_in<std::uint64_t>(job, "total");
  const double seconds = job.at("seconds").get<double>();
  std::string line = job_text(job);
  if (done == 0) return line;
  line += fmt::format("; {}{}", done, total ? fmt::format(" of {}", std::max(*total, done)) : "");
  if (seconds > 0) line += fmt::format(", {:.0f}/s", static_cast<double>(done) / seconds);
  return line;
}

JobState state_of(const nlohmann::json& job) {
  return {.stage = job.at("name").get<std::string>(),
          .items_done = number_in<std::uint64_t>(job, "done"),
          .items_total = number_in<std::uint64_t>(job, "total"),
          .percent = number_in<double>(job, "progress_percent"),
          .seconds_left = number_in<double>(job, "seconds_left")};
}

}  // namespace

Result<nlohmann::json> RequestProgress::request(const Path& volume, const nlohmann::json& request) {
  return control_request(volume, request, [this](const nlohmann::json& job) { show(job); });
}

void RequestProgress::show(const nlohmann::json& job) {
  if (!progress_.is_due()) return;
  (void)read_answer([&] {
    progress_.show(line_of(job), state_of(job));
    return true;
  });
}

RunningJobs::Job RequestProgress::begin(std::string_view name) {
  show(job_json({.name = name}));
  return RunningJobs::Job(jobs_, name);
}

GoOn RequestProgress::watch(const RunningJobs::Job& job) {
  return [this, &job]() -> Result<void> {
    show(job_json(job.status()));
    return {};
  };
}

}  // namespace dedupfs::tools
