// One change of the folder of an encrypted volume, by somebody who can write to it and has old states and copies of it, but no key.
//
// Each kind of attack meets each kind of file in turn; what exactly is done there is a matter of chance.
//
// Threads: one. An Attack refers to its victim.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/memory_disk.h"

namespace dedupfs {

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

struct Victim {
  Session old;      // some time ago
  Session now;      // the last one
  Session copy;     // what became of a copy of the old state
  Session another;  // another volume with the same passphrase

  std::vector<const Moment*> moments() const;
};

class Attack {
 public:
  // `number`: which kind of attack, and on which kind of file. All pairs of them are had by this many numbers in a row.
  static std::size_t pairs();
  Attack(const Victim& victim, std::uint64_t seed, std::uint64_t number);

  std::string_view kind() const;
  std::string_view kind_of_file() const;

  // What was done, for people. It begins with "nothing" if there is no such file, or none that this can be done to.
  std::string change();
  const DiskImage& disk() const { return disk_; }
  const Moment& attacked() const { return attacked_; }

 private:
  struct Kind {
    std::string_view name;
    std::string (Attack::*make)();
  };
  static std::span<const Kind> all_kinds();

  std::string some_file(const DiskImage& disk);  // of the kind if there is one
  const std::string& content(const std::string& path) const;
  void put(const std::string& path, std::string bytes);
  const Moment& some_other();
  std::size_t below(std::size_t count) { return count == 0 ? 0 : random_() % count; }
  std::string noise(std::size_t length);
  std::string free_name(const std::string& path);
  // Where segments and records begin, and the end: who watches the writes knows it.
  struct Part {
    std::size_t place, bytes;
  };
  static std::vector<Part> segments_of(const DiskImage& disk, const std::string& path);
  static std::vector<Part> records_of(const DiskImage& disk, const std::string& path);

  // Bytes of one file.
  std::string flip();
  std::string scramble();
  std::string cut();
  std::string cut_out();
  std::string insert();
  std::string append();
  std::string blank();
  std::string transpose();
  std::string transpose_segments();
  std::string transpose_records();
  std::string replace_record();
  std::string drop_segment();
  // Whole files.
  std::string exchange();
  std::string remove();
  std::string rename();
  std::string duplicate();
  std::string empty();
  // Other states.
  std::string roll_back();
  std::string bring();
  std::string mix();
  std::string graft();
  std::string roll_back_folder();
  std::string roll_back_many();
  std::string roll_back_list();
  // What can be read without a key.
  std::string forge_header();

  const Victim& victim_;
  std::mt19937_64 random_;
  const std::uint64_t number_;
  const Moment& attacked_;
  DiskImage disk_;
};

}  // namespace dedupfs
