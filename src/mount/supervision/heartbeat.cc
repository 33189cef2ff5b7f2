#include "mount/supervision/heartbeat.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/printable.h"

namespace dedupfs {
namespace {

long long whole_seconds_of(Heartbeat::Clock::duration duration) {
  return static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(duration).count());
}

// Adds what /proc/PID/task/TID/stat says: "TID (name) STATE", and utime and stime as the 14th and 15th field. The name may hold anything.
void add_work_of_thread(const std::filesystem::path& task, ProcessWork& work) {
  std::ifstream file(task / "stat");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const std::size_t name_end = all.rfind(')');
  if (name_end == std::string::npos) return;  // the thread has ended
  std::istringstream fields(all.substr(name_end + 1));
  std::string state, skipped;
  fields >> state;
  for (int field = 4; field < 14; ++field) fields >> skipped;
  std::uint64_t user = 0, system = 0;
  if (!(fields >> user >> system)) return;
  work.processor_ticks += user + system;
  work.waits_for_disk = work.waits_for_disk || state == "D";
}

}  // namespace

ProcessWork work_of_this_process() {
  ProcessWork work;
  const std::string own = std::to_string(::gettid());
  std::error_code error;
  for (std::filesystem::directory_iterator task("/proc/self/task", error), end; !error && task != end;
       task.increment(error))
    if (task->path().filename() != own) add_work_of_thread(task->path(), work);
  return work;
}

void Heartbeat::enter(Phase phase, const std::string& line, const std::string& extra) {
  if (phase != phase_ || since_ == Clock::time_point()) since_ = world_.now();
  phase_ = phase;
  line_ = without_control_characters(line);
  jobs_.clear();
  said_.clear();
  logged_slow_ = logged_hung_ = false;
  std::string assignments = extra;
  if (phase != Phase::kServing)
    assignments += (extra.empty() ? "" : "\n") +
                   fmt::format("EXTEND_TIMEOUT_USEC={}", std::chrono::microseconds(kExtension).count());
  say(assignments, line_);
}

void Heartbeat::note_jobs(const std::string& jobs) {
  if (phase_ != Phase::kServing || jobs == jobs_) return;
  const bool is_slow = said_ != line_of_now();  // the next beat says what it waits for
  jobs_ = without_control_characters(jobs);
  if (!is_slow) say("", line_of_now());
}

void Heartbeat::beat(std::optional<Clock::duration> unanswered) {
  const ProcessWork work = world_.work();
  const bool works = work.processor_ticks != last_ticks_;
  last_ticks_ = work.processor_ticks;
  if (phase_ == Phase::kServing)
    beat_while_serving(works, work.waits_for_disk, unanswered);
  else
    beat_at_edge(works, work.waits_for_disk);
}

// Without work it gets no more time, and the time limit of the service manager comes near.
void Heartbeat::beat_at_edge(bool works, bool waits_for_disk) {
  const long long seconds = whole_seconds_of(world_.now() - since_);
  const char* const doing = works ? "" : waits_for_disk ? ", waiting for the disk" : ", without any work at present";
  const bool gets_on = works || waits_for_disk;
  say(gets_on ? fmt::format("WATCHDOG=1\nEXTEND_TIMEOUT_USEC={}", std::chrono::microseconds(kExtension).count()) : "",
      fmt::format("{} ({} s so far{})", line_, seconds, doing));
}

void Heartbeat::beat_while_serving(bool works, bool waits_for_disk, std::optional<Clock::duration> unanswered) {
  if (!unanswered || *unanswered < kSlowAnswer) {
    logged_slow_ = logged_hung_ = false;
    return say("WATCHDOG=1", line_of_now());
  }
  const long long seconds = whole_seconds_of(*unanswered);
  const bool is_hung = !waits_for_disk && (!works || *unanswered >= kLongestWork);
  const std::string status =
      is_hung ? fmt::format("{}, but it has not answered for {} s, and is not waiting for the disk", line_, seconds)
              : fmt::format("{}, {}: a request or a commit has taken {} s so far", line_,
                            waits_for_disk ? "waiting for the disk" : "busy", seconds);
  log_once(is_hung, status);
  say(is_hung ? "" : "WATCHDOG=1", status);
}

void Heartbeat::log_once(bool is_hung, const std::string& status) {
  bool& logged = is_hung ? logged_hung_ : logged_slow_;
  if (logged) return;
  logged = true;
  if (is_hung)
    spdlog::critical("{}: the watchdog of the service manager will end the daemon", status);
  else
    spdlog::warn("{}", status);
}

void Heartbeat::say(const std::string& assignments, const std::string& status) {
  std::string message = assignments;
  if (status != said_) message += (message.empty() ? "STATUS=" : "\nSTATUS=") + status;
  said_ = status;
  if (!message.empty()) world_.notify(message);
}

}  // namespace dedupfs
