// Attacks on an encrypted volume that was unmounted or crashed, by somebody who can write to its folder and has old states and copies
// of it, also of when it was mounted, but no key: whatever is changed, a reader gets an error or what the volume held.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "crash/attack.h"
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

Victim make_victim(std::uint64_t seed) {
  Victim victim;
  victim.old = used(make_small_volume(Sealing::kEncrypted), seed);
  victim.now = used(victim.old.closed.disk, seed + 1);
  victim.copy = used(victim.old.closed.disk, seed + 2);
  victim.another = used(make_small_volume(Sealing::kEncrypted), seed);
  return victim;
}

std::optional<std::string> text_of_file(const DiskImage& disk, const std::string& name) {
  const auto found = disk.names.find(std::string(kVolumePath) + '/' + name);
  return found == disk.names.end() ? std::nullopt : std::optional(*disk.contents.at(found->second));
}

// Whether the key header in the folder is that of the other volume.
bool is_of_another(const DiskImage& disk, const Victim& victim) {
  for (const char* const name : {"superblock.json", "superblock.copy.json"}) {
    const auto text = text_of_file(disk, name);
    if (text == text_of_file(victim.another.closed.disk, name)) return true;
    if (text == text_of_file(victim.now.closed.disk, name)) return false;
  }
  return false;
}

// What the list of files in the folder belongs to, if anybody can tell: whoever puts back a list with all that belongs to it puts back
// the volume. A list of another volume does not open, and then the copy counts.
const Moment& moment_of(const DiskImage& disk, const Victim& victim, const Moment& attacked) {
  const bool is_another = is_of_another(disk, victim);
  for (const char* const name : {"unmounted", "unmounted.copy"}) {
    const auto list = text_of_file(disk, name);
    for (const Moment* const moment : victim.moments()) {
      const bool has_key = is_another == (moment == &victim.another.mounted || moment == &victim.another.closed);
      if (has_key && list && list == text_of_file(moment->disk, name)) return *moment;
    }
  }
  return attacked;
}

// What became of an attack: what a reader gets that the volume never held, or nothing.
struct Outcome {
  bool is_refused = false;  // nobody could open the volume
  std::optional<std::string> wrong;
};

Outcome outcome_of(const Attack& attack, const Victim& victim) {
  const Moment& truth = moment_of(attack.disk(), victim, attack.attacked());
  const auto opened = open_filesystem(std::make_shared<MemoryDisk>(attack.disk()));
  if (!opened) return {.is_refused = true};
  for (const auto& [name, contents] : truth.files) {
    const auto found = content_of(**opened, name);
    if (found && !contents.contains(*found)) return {.wrong = name + " has other content"};
    if (!found && found.error().code() == ErrorCode::kNotFound && !contents.contains(std::nullopt))
      return {.wrong = name + " is missing"};
  }
  if (truth.tree.empty()) return {};
  const auto tree = tree_of(**opened);
  if (tree && tree->text != truth.tree) return {.wrong = "the tree differs: " + difference(truth.tree, tree->text)};
  return {};
}

struct Count {
  std::uint64_t made = 0;
  std::uint64_t refused = 0;  // by the mount. Others gave errors to readers, or were harmless
  std::uint64_t empty = 0;    // there was nothing to do it to
};

void print_counts(const std::map<std::string, Count>& counts, std::ostream& out) {
  for (const auto& [what, count] : counts)
    out << fmt::format("{}: {}, of which {} were refused by the mount, and {} did nothing\n", what, count.made,
                       count.refused, count.empty);
}

}  // namespace

std::uint64_t attack_pairs() {
  return Attack::pairs();
}

CampaignResult run_attacks(const CampaignOptions& options, std::ostream& out) {
  constexpr std::uint64_t kAttacksOfAVictim = 250;
  CampaignResult result;
  Victim victim;
  std::map<std::string, Count> by_kind;
  std::map<std::string, Count> by_file;
  for (std::uint64_t i = 0; i < options.states && result.violations < options.max_violations; ++i) {
    if (i % kAttacksOfAVictim == 0) victim = make_victim(options.seed + i);
    Attack attack(victim, options.seed + i, i);
    const std::string what = attack.change();
    ++result.states;
    const Outcome outcome = outcome_of(attack, victim);
    for (Count* const count : {&by_kind[std::string(attack.kind())], &by_file[std::string(attack.kind_of_file())]}) {
      ++count->made;
      if (outcome.is_refused) ++count->refused;
      if (what.ends_with(", nothing")) ++count->empty;
    }
    if (!outcome.wrong) continue;
    ++result.violations;
    out << fmt::format("VIOLATION --attacks --seed {}, attack {}: {}, but {}", options.seed, i, what, *outcome.wrong)
        << std::endl;
  }
  print_counts(by_kind, out);
  print_counts(by_file, out);
  return result;
}

}  // namespace dedupfs
