#include "hostile/mutations.h"

#include <fmt/format.h>

#include "hostile/files.h"
#include "hostile/record_mutations.h"
#include "index/database.h"
#include "store/format/format.h"

namespace dedupfs {
namespace {

constexpr std::size_t kMaxRecords = 100'000;

std::string printable(std::string_view bytes) {
  std::string text;
  for (const char c : bytes.substr(0, 40))
    text += c >= ' ' && c <= '~' ? std::string(1, c) : fmt::format("\\{:02x}", static_cast<unsigned char>(c));
  return text + (bytes.size() > 40 ? "..." : "");
}

class RecordChanges {
 public:
  RecordChanges(const Database& database, Random& random) : database_(database), batch_(database), random_(random) {}

  std::string make() {
    auto family = static_cast<Family>(random_.below(kFamilyCount));
    if (random_.one_in(6)) family = Family::kCounters;
    const auto found = database_.list(family, {}, {}, kMaxRecords);
    if (!found) return fmt::format("{} cannot be read any more", name_of(family));
    if (found->empty()) return fmt::format("nothing in {}", name_of(family));
    const KeyValue& record = random_.of(*found);
    const std::string what = fmt::format("{} {}: ", name_of(family), printable(record.first));
    switch (random_.below(20)) {
      case 0: batch_.erase(family, record.first); return what + "erased";
      case 1: {
        const std::uint64_t end = random_.below(found->size()) + 1;
        for (std::uint64_t i = random_.below(end); i < end; ++i) batch_.erase(family, (*found)[i].first);
        return what + "erased with its neighbours";
      }
      case 2: {
        const KeyValue& other = random_.of(*found);
        batch_.put(family, record.first, other.second);
        return what + "has the value of " + printable(other.first);
      }
      case 3: {
        const auto other = static_cast<Family>(random_.below(kFamilyCount));
        batch_.put(other, record.first, record.second);
        return what + fmt::format("is in {}", name_of(other));
      }
      case 4: {
        if (!random_.one_in(4)) break;
        batch_.put(family, record.first, std::string(17 << 20, 'x'));
        return what + "has 17 MiB";
      }
      default: break;
    }
    const KeyValue changed = mutate_record(family, record, random_);
    if (changed.first != record.first && random_.one_in(2)) batch_.erase(family, record.first);
    batch_.put(family, changed.first, changed.second);
    return what + fmt::format("'{}' to {} '{}'", printable(record.second),
                              changed.first == record.first ? "" : printable(changed.first), printable(changed.second));
  }
  const Database::Batch& batch() const { return batch_; }

 private:
  const Database& database_;
  Database::Batch batch_;
  Random& random_;
};

}  // namespace

std::string mutate_records(const std::filesystem::path& volume, Random& random) {
  if (!is_plain_folder(volume / kIndexDirectory)) return "the index is no folder";
  const auto folder = Backing::posix()->open_root(volume / kIndexDirectory);
  auto database = folder ? Database::open(*folder, {.memory_bytes = Database::kMinMemoryBytes})
                         : Result<std::unique_ptr<Database>>(folder.error());
  if (!database) return "the index does not open: " + database.error().message();
  std::string done;
  for (std::uint64_t i = 1 + random.below(3); i != 0; --i) {
    RecordChanges changes(**database, random);
    done += (done.empty() ? "" : "; ") + changes.make();
    // A record of 17 MiB makes a table that is refused, and then the index takes no more.
    if (!(*database)->write(changes.batch())) return done + ", which it does not take any more";
  }
  return done;
}

std::vector<std::string> mutate_volume(const std::filesystem::path& volume, const std::filesystem::path& outside,
                                       const std::vector<HostileKind>& kinds, Random& random) {
  std::vector<std::string> done;
  for (std::uint64_t i = random.one_in(3) ? 1 + random.below(4) : 1; i != 0; --i) {
    switch (random.of(kinds)) {
      case HostileKind::kRecords: done.push_back(mutate_records(volume, random)); break;
      case HostileKind::kContainers: done.push_back(mutate_containers(volume, random)); break;
      case HostileKind::kCheckpoints: done.push_back(mutate_checkpoints(volume, random)); break;
      case HostileKind::kSuperblock: done.push_back(mutate_superblock(volume, random)); break;
      case HostileKind::kTables: done.push_back(mutate_tables(volume, random)); break;
      case HostileKind::kFolder: done.push_back(mutate_folder(volume, outside, random)); break;
    }
  }
  return done;
}

}  // namespace dedupfs
