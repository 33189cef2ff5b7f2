#include "mount/events/event_watch.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/size.h"

namespace dedupfs {
namespace {

using Json = nlohmann::json;

// Without this much more than the limit, a disk at the limit would be an event again and again.
constexpr double kPercentBetween = 1;

const Json& member(const Json& object, std::string_view key) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}
std::uint64_t number(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  const bool is_count = value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
  return is_count ? value.get<std::uint64_t>() : 0;
}
bool flag(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  return value.is_boolean() && value.get<bool>();
}

class Look {
 public:
  Look(const WatchedMount& mount, Json& seen)
      : mount_(mount), before_(std::exchange(seen, Json::object())), seen_(seen), is_first_(!before_.is_object()) {}

  void at_daemon() {
    seen_["dead"] = !mount_.health;
    if (!mount_.health) {
      for (const char* key : {"pid", "damaged_chunks", "failed", "nearly_full", "scrub_ended", "reclaim_ended"})
        seen_[key] = member(before_, key);
      if (!flag(before_, "dead"))
        add("daemon_died", "the daemon has died, and files on the mount give errors: mount the volume again", nullptr);
      return;
    }
    const std::uint64_t pid = number(now(), "pid");
    seen_["pid"] = pid;
    // One that was seen dead is an event already.
    if (is_first_ || flag(before_, "dead") || flag(now(), "was_closed")) return;
    if (const std::uint64_t old = number(before_, "pid"); old != 0 && old != pid)
      add("daemon_died",
          fmt::format("the daemon, process {}, has died; the volume is mounted again, by process {}", old, pid), now());
  }

  void at_damage() {
    const std::uint64_t damaged = number(now(), "damaged_chunks");
    seen_["damaged_chunks"] = damaged;
    if (damaged > number(before_, "damaged_chunks"))
      add("damage_found",
          fmt::format("{} damaged {}: the log names the place, fsck.dedupfs the files", damaged,
                      damaged == 1 ? "chunk" : "chunks"),
          now());
  }

  void at_failure() {
    const bool failed = flag(now(), "failed");
    seen_["failed"] = failed;
    if (failed && !flag(before_, "failed"))
      add("read_only", "the volume is read-only since a commit failed; the log of the daemon has the reason", now());
  }

  void at_space(double percent) {
    const auto total = static_cast<double>(number(now(), "total_bytes"));
    const std::uint64_t available = number(now(), "available_bytes");
    if (total == 0) return;
    const double left = 100 * static_cast<double>(available) / total;
    const bool was = flag(before_, "nearly_full");
    const bool is = left < percent + (was ? kPercentBetween : 0);
    seen_["nearly_full"] = is;
    if (is && !was)
      add("nearly_full", fmt::format("{} are left on the disk, {:.1f} %", human_size(available), left), now());
  }

  void at_scrub() {
    const Json& last = member(member(now(), "scrub"), "last");
    const std::uint64_t ended = number(last, "ended_unix_seconds");
    seen_["scrub_ended"] = ended;
    if (is_first_ || ended == number(before_, "scrub_ended") || ended == 0) return;
    const std::uint64_t damage = number(last, "damaged_chunks") + number(last, "other_damage");
    const std::string checked = human_size(number(last, "checked_bytes")) + " checked";
    const char* const how = flag(last, "complete") ? "" : ", stopped before its end";
    add("scrub_ended",
        damage == 0 ? fmt::format("{}, no damage{}", checked, how)
                    : fmt::format("{}, {} places are damaged{}", checked, damage, how),
        last);
  }

  void at_reclaim() {
    const Json& last = member(member(now(), "reclaim"), "last");
    const std::uint64_t ended = number(last, "ended_unix_seconds");
    seen_["reclaim_ended"] = ended;
    const Json& goal = member(last, "goal");
    const bool is_settling = goal.is_string() && goal.get_ref<const std::string&>() == "settle";
    if (is_first_ || ended == number(before_, "reclaim_ended") || ended == 0 || is_settling) return;
    add("reclaim_ended",
        flag(last, "complete") ? human_size(number(last, "freed_bytes")) + " of disk freed" : "it did not finish",
        last);
  }

  std::vector<Event> take() { return std::move(events_); }

 private:
  const Json& now() const { return *mount_.health; }
  void add(const char* name, std::string message, const Json& facts) {
    events_.push_back({name, mount_.volume, mount_.mountpoint, std::move(message), facts});
  }

  const WatchedMount& mount_;
  const Json before_;
  Json& seen_;
  const bool is_first_;
  std::vector<Event> events_;
};

}  // namespace

std::vector<Event> look_for_events(const WatchedMount& mount, double percent, Json& seen) {
  Look look(mount, seen);
  look.at_daemon();
  if (!mount.health) return look.take();
  look.at_damage();
  look.at_failure();
  look.at_space(percent);
  look.at_scrub();
  look.at_reclaim();
  return look.take();
}

}  // namespace dedupfs
