// Attacks on an encrypted volume that was unmounted or crashed, by somebody who can write to its folder and has old states and copies
// of it, also of when it was mounted, but no key: whatever is changed, a reader gets an error or what the volume held.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "crash/campaign.h"
#include "crash/recorded_run.h"

namespace dedupfs {
namespace {

constexpr Caller kUser{.uid = 0, .gid = 0, .umask = 0};
constexpr int kFiles = 8;

std::size_t below_count(std::mt19937_64& random, std::size_t count) {
  return random() % count;
}

std::string noise(std::mt19937_64& random, std::size_t length) {
  std::string bytes(length, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

// A moment in the life of a volume: mounted, or between two mounts.
struct Moment {
  DiskImage disk;
  std::string tree;  // empty: mounted
  // What may be read of each file; nothing: it is not there. After a crash all that the session wrote is as good.
  std::map<std::string, std::set<std::optional<std::string>>> files;

  const SharedText& at(const std::string& path) const { return disk.contents.at(disk.names.at(path)); }
};

// What became of the volume from one mount to its end.
struct Session {
  Moment mounted;
  Moment closed;
};

Result<std::string> content_of(Filesystem& filesystem, const std::string& name) {
  DEDUPFS_ASSIGN(const Attributes found, filesystem.lookup(kRootInode, name));
  DEDUPFS_ASSIGN(const auto pieces, filesystem.read(found.inode, 0, found.size));
  std::string content;
  for (const PinnedBytes& piece : pieces) content += text_of(piece.bytes);
  filesystem.forget(found.inode, 1);
  return content;
}

void write_somewhere(Filesystem& filesystem, std::mt19937_64& random) {
  const std::string name = "file" + std::to_string(below_count(random, kFiles));
  auto file = filesystem.lookup(kRootInode, name);
  if (!file) file = filesystem.create(kRootInode, name, 0644, kUser);
  DEDUPFS_CHECK(file.has_value());
  const std::size_t offset = below_count(random, 20'000);
  const std::string bytes = noise(random, 1 + below_count(random, 60'000));
  DEDUPFS_CHECK(filesystem.write(file->inode, offset, bytes_of(bytes), kUser, nullptr).has_value());
  filesystem.forget(file->inode, 1);
}

void note_files(Filesystem& filesystem, Moment& moment) {
  for (int i = 0; i < kFiles; ++i) {
    const std::string name = "file" + std::to_string(i);
    const auto content = content_of(filesystem, name);
    moment.files[name].insert(content ? std::optional(*content) : std::nullopt);
  }
}

// The volume is mounted, used and unmounted.
Session used(const DiskImage& before, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Session session;
  const auto disk = std::make_shared<MemoryDisk>(before);
  {
    const auto filesystem = open_filesystem(disk);
    DEDUPFS_CHECK(filesystem.has_value());
    const auto write_some = [&](int count) {
      for (int i = 0; i < count; ++i) {
        note_files(**filesystem, session.mounted);
        write_somewhere(**filesystem, random);
      }
      note_files(**filesystem, session.mounted);
      DEDUPFS_CHECK((*filesystem)->sync().has_value());
    };
    write_some(12);
    DEDUPFS_CHECK((*filesystem)->create_snapshot("snapshot" + std::to_string(seed)).has_value());
    session.mounted.disk = disk->image();
    write_some(6);
    const auto tree = tree_of(**filesystem);
    DEDUPFS_CHECK(tree.has_value());
    session.closed.tree = tree->text;
    note_files(**filesystem, session.closed);
    DEDUPFS_CHECK((*filesystem)->close().has_value());
  }
  session.closed.disk = disk->image();
  return session;
}

struct Victim {
  Session old;      // some time ago
  Session now;      // the last one
  Session copy;     // what became of a copy of the old state
  Session another;  // another volume with the same passphrase

  std::vector<const Moment*> moments() const {
    std::vector<const Moment*> all;
    for (const Session* const session : {&old, &now, &copy, &another})
      all.insert(all.end(), {&session->mounted, &session->closed});
    return all;
  }
};

Victim make_victim(std::uint64_t seed) {
  Victim victim;
  victim.old = used(make_small_volume(Sealing::kEncrypted), seed);
  victim.now = used(victim.old.closed.disk, seed + 1);
  victim.copy = used(victim.old.closed.disk, seed + 2);
  victim.another = used(make_small_volume(Sealing::kEncrypted), seed);
  return victim;
}

std::string record_path() {
  return std::string(kVolumePath) + "/unmounted";
}

// What the list of files in the folder belongs to, if anybody can tell: whoever puts back a list with all that belongs to it puts back
// the volume.
const Moment& moment_of(const DiskImage& disk, const Victim& victim, const Moment& attacked) {
  const auto record = disk.names.find(record_path());
  if (record == disk.names.end()) return attacked;
  for (const Moment* const moment : victim.moments())
    if (*disk.contents.at(record->second) == *moment->at(record_path())) return *moment;
  return attacked;
}

class Attack {
 public:
  Attack(const Victim& victim, std::uint64_t seed)
      : victim_(victim),
        random_(seed),
        attacked_(below_count(random_, 2) == 0 ? victim.now.closed : victim.now.mounted),
        disk_(attacked_.disk) {}

  // What was done, for people.
  std::string change() {
    static constexpr std::array kAttacks = {&Attack::flip,   &Attack::cut,           &Attack::append,
                                            &Attack::blank,  &Attack::exchange,      &Attack::transpose,
                                            &Attack::remove, &Attack::roll_back,     &Attack::bring,
                                            &Attack::mix,    &Attack::roll_back_many};
    const std::string state = attacked_.tree.empty() ? "after a crash, " : "after an unmount, ";
    return state + (this->*kAttacks[below_count(random_, kAttacks.size())])();
  }
  const DiskImage& disk() const { return disk_; }
  const Moment& attacked() const { return attacked_; }

 private:
  static std::vector<std::string> files_of(const DiskImage& disk) {
    std::vector<std::string> paths;
    for (const auto& [path, id] : disk.names)
      if (id != DiskImage::kDirectory) paths.push_back(path);
    return paths;
  }
  std::string some_file(const DiskImage& disk) {
    const std::vector<std::string> paths = files_of(disk);
    return paths[below_count(random_, paths.size())];
  }
  const std::string& content(const std::string& path) const { return *disk_.contents.at(disk_.names.at(path)); }
  void put(const std::string& path, std::string bytes) {
    disk_.names[path] = disk_.next_id;
    disk_.contents[disk_.next_id++] = std::make_shared<const std::string>(std::move(bytes));
  }
  const Moment& some_other() {
    const std::vector<const Moment*> moments = victim_.moments();
    return *moments[below_count(random_, moments.size())];
  }

  std::string flip() {
    const std::string path = some_file(disk_);
    std::string bytes = content(path);
    if (bytes.empty()) return "nothing";
    const std::size_t place = below_count(random_, bytes.size());
    bytes[place] = static_cast<char>(bytes[place] ^ (1 << below_count(random_, 8)));
    put(path, bytes);
    return fmt::format("a bit of byte {} of {} is flipped", place, path);
  }
  std::string cut() {
    const std::string path = some_file(disk_);
    const std::string bytes = content(path);
    const std::size_t length = below_count(random_, bytes.size() + 1);
    put(path, bytes.substr(0, length));
    return fmt::format("{} is cut off at {}", path, length);
  }
  std::string append() {
    const std::string path = some_file(disk_);
    const std::string bytes = content(path);
    const std::size_t from = below_count(random_, bytes.size() + 1);
    put(path, bytes + bytes.substr(from));
    return fmt::format("{} has its bytes from {} on twice", path, from);
  }
  std::string blank() {
    const std::string path = some_file(disk_);
    std::string bytes = content(path);
    const std::size_t from = below_count(random_, bytes.size() + 1);
    const std::size_t length = std::min<std::size_t>(512, bytes.size() - from);
    put(path, bytes.replace(from, length, length, '\0'));
    return fmt::format("{} has zeros from {} on", path, from);
  }
  std::string exchange() {
    const std::string one = some_file(disk_);
    const std::string other = some_file(disk_);
    std::swap(disk_.names[one], disk_.names[other]);
    return fmt::format("{} and {} are exchanged", one, other);
  }
  // Pieces have 8 KiB and a tag.
  std::string transpose() {
    constexpr std::size_t kPiece = 8208;
    const std::string path = some_file(disk_);
    std::string bytes = content(path);
    if (bytes.size() < 2 * kPiece) return "nothing";
    const std::size_t one = below_count(random_, bytes.size() - 2 * kPiece + 1);
    const std::size_t other = one + kPiece + below_count(random_, bytes.size() - one - 2 * kPiece + 1);
    const std::string first = bytes.substr(one, kPiece);
    bytes.replace(one, kPiece, bytes.substr(other, kPiece));
    bytes.replace(other, kPiece, first);
    put(path, bytes);
    return fmt::format("{} has its bytes at {} and {} exchanged", path, one, other);
  }
  std::string remove() {
    const std::string path = some_file(disk_);
    disk_.names.erase(path);
    return path + " is removed";
  }
  std::string roll_back() {
    const Moment& moment = some_other();
    const std::string path = some_file(moment.disk);
    put(path, *moment.at(path));
    return path + " is of another state or volume";
  }
  // A file in the place of one that has another name.
  std::string bring() {
    const Moment& moment = some_other();
    const std::string path = some_file(moment.disk);
    const std::string place = some_file(disk_);
    put(place, *moment.at(path));
    return fmt::format("{} of another state or volume is in the place of {}", path, place);
  }
  // The beginning of an old state, and the end of the file.
  std::string mix() {
    const Moment& moment = some_other();
    const std::string path = some_file(disk_);
    if (!moment.disk.names.contains(path)) return "nothing";
    const std::string& other = *moment.at(path);
    const std::string bytes = content(path);
    const std::size_t place = below_count(random_, std::min(other.size(), bytes.size()) + 1);
    const bool begins_old = below_count(random_, 2) == 0;
    put(path, begins_old ? other.substr(0, place) + bytes.substr(place) : bytes.substr(0, place) + other.substr(place));
    return fmt::format("{} is mixed with another state at {}", path, place);
  }
  std::string roll_back_many() {
    const Moment& moment = some_other();
    std::size_t count = 0;
    for (const std::string& path : files_of(moment.disk)) {
      if (below_count(random_, 4) == 0) continue;
      put(path, *moment.at(path));
      ++count;
    }
    return fmt::format("{} files are of another state", count);
  }

  const Victim& victim_;
  std::mt19937_64 random_;
  const Moment& attacked_;
  DiskImage disk_;
};

// What a reader gets that the volume never held.
std::optional<std::string> wrong_content(const Attack& attack, const Victim& victim) {
  const Moment& truth = moment_of(attack.disk(), victim, attack.attacked());
  const auto opened = open_filesystem(std::make_shared<MemoryDisk>(attack.disk()));
  if (!opened) return std::nullopt;
  for (const auto& [name, contents] : truth.files) {
    const auto found = content_of(**opened, name);
    if (found && !contents.contains(*found)) return name + " has other content";
    if (!found && found.error().code() == ErrorCode::kNotFound && !contents.contains(std::nullopt))
      return name + " is missing";
  }
  if (truth.tree.empty()) return std::nullopt;
  const auto tree = tree_of(**opened);
  if (tree && tree->text != truth.tree) return "the tree differs: " + difference(truth.tree, tree->text);
  return std::nullopt;
}

}  // namespace

CampaignResult run_attacks(const CampaignOptions& options, std::ostream& out) {
  constexpr std::uint64_t kAttacksOfAVictim = 250;
  CampaignResult result;
  Victim victim;
  for (std::uint64_t i = 0; i < options.states && result.violations < options.max_violations; ++i) {
    if (i % kAttacksOfAVictim == 0) victim = make_victim(options.seed + i);
    Attack attack(victim, options.seed + i);
    const std::string what = attack.change();
    ++result.states;
    if (const auto wrong = wrong_content(attack, victim)) {
      ++result.violations;
      out << fmt::format("VIOLATION --attacks --seed {}, attack {}: {}, but {}", options.seed, i, what, *wrong)
          << std::endl;
    }
  }
  return result;
}

}  // namespace dedupfs
