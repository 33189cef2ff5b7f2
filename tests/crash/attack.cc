#include "crash/attack.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "crash/forged_header.h"
#include "crash/recorded_run.h"
#include "store/seal/record_chain.h"
#include "store/seal/sealed_names.h"

namespace dedupfs {
namespace {

// By the path below the folder of the volume.
struct KindOfFile {
  std::string_view name;
  bool (*is_one)(std::string_view path);
};
constexpr std::array kKindsOfFiles = {
    KindOfFile{"container", [](std::string_view path) { return path.starts_with("containers/"); }},
    KindOfFile{"checkpoint", [](std::string_view path) { return path.starts_with("checkpoints/"); }},
    KindOfFile{"table", [](std::string_view path) { return path.ends_with(".sst"); }},
    KindOfFile{"log", [](std::string_view path) { return path.ends_with(".log"); }},
    KindOfFile{"manifest", [](std::string_view path) { return path.starts_with("index/MANIFEST"); }},
    KindOfFile{"small file of the index", [](std::string_view path) { return place_of(path) == "small"; }},
    KindOfFile{"settings", [](std::string_view path) { return path.starts_with("settings"); }},
    KindOfFile{"list of files", [](std::string_view path) { return path.starts_with("unmounted"); }},
    KindOfFile{"key header", [](std::string_view path) { return path.starts_with("superblock"); }},
    KindOfFile{"any file", [](std::string_view) { return true; }},
};

std::string in_volume(std::string_view path) {
  return std::string(kVolumePath) + '/' + std::string(path);
}

std::string_view below_volume(std::string_view path) {
  return path.substr(kVolumePath.size() + 1);
}

std::vector<std::string> files_of(const DiskImage& disk, const KindOfFile& kind) {
  std::vector<std::string> paths;
  for (const auto& [path, id] : disk.names)
    if (id != DiskImage::kDirectory && kind.is_one(below_volume(path))) paths.push_back(path);
  return paths;
}

// Nothing if the file has no records that can be read.
void look_at_chain(const DiskImage& disk, const std::string& path,
                   const std::function<void(const RecordChain&)>& look) {
  MemoryDisk real(disk);
  const auto file = real.open(path, Backing::Mode::kRead);
  const auto key = key_of(disk);
  if (!file || !key) return;
  RecordChain chain(**file, disk.contents.at(disk.names.at(path))->size());
  const std::string place = place_of(std::string(below_volume(path)));
  const auto key_of_segment = [&](const SealSalt& salt, std::uint32_t number) {
    return key->file_key(number, salt, "segment", place);
  };
  if (chain.read(key_of_segment, key->numbers(), key->cipher())) look(chain);
}

}  // namespace

std::vector<const Moment*> Victim::moments() const {
  std::vector<const Moment*> all;
  for (const Session* const session : {&old, &now, &copy, &another})
    all.insert(all.end(), {&session->mounted, &session->closed});
  return all;
}

std::span<const Attack::Kind> Attack::all_kinds() {
  static constexpr std::array kKinds = {
      Kind{"flip", &Attack::flip},
      Kind{"scramble", &Attack::scramble},
      Kind{"cut", &Attack::cut},
      Kind{"cut out", &Attack::cut_out},
      Kind{"insert", &Attack::insert},
      Kind{"append", &Attack::append},
      Kind{"blank", &Attack::blank},
      Kind{"transpose", &Attack::transpose},
      Kind{"transpose segments", &Attack::transpose_segments},
      Kind{"transpose records", &Attack::transpose_records},
      Kind{"replace a record", &Attack::replace_record},
      Kind{"drop a segment", &Attack::drop_segment},
      Kind{"exchange", &Attack::exchange},
      Kind{"remove", &Attack::remove},
      Kind{"rename", &Attack::rename},
      Kind{"duplicate", &Attack::duplicate},
      Kind{"empty", &Attack::empty},
      Kind{"roll back", &Attack::roll_back},
      Kind{"bring", &Attack::bring},
      Kind{"mix", &Attack::mix},
      Kind{"graft", &Attack::graft},
      Kind{"roll back a folder", &Attack::roll_back_folder},
      Kind{"roll back many", &Attack::roll_back_many},
      Kind{"roll back the list", &Attack::roll_back_list},
      Kind{"forge the key header", &Attack::forge_header},
  };
  return kKinds;
}

std::size_t Attack::pairs() {
  return all_kinds().size() * kKindsOfFiles.size();
}

Attack::Attack(const Victim& victim, std::uint64_t seed, std::uint64_t number)
    : victim_(victim),
      random_(seed),
      number_(number),
      attacked_(random_() % 2 == 0 ? victim.now.closed : victim.now.mounted),
      disk_(attacked_.disk) {}

std::string_view Attack::kind() const {
  return all_kinds()[number_ % all_kinds().size()].name;
}

std::string_view Attack::kind_of_file() const {
  return kKindsOfFiles[number_ / all_kinds().size() % kKindsOfFiles.size()].name;
}

std::string Attack::change() {
  const std::string state = attacked_.tree.empty() ? "after a crash, " : "after an unmount, ";
  return state + (this->*all_kinds()[number_ % all_kinds().size()].make)();
}

// ---------------------------------------------------------------- what there is

std::string Attack::some_file(const DiskImage& disk) {
  std::vector<std::string> paths = files_of(disk, kKindsOfFiles[number_ / all_kinds().size() % kKindsOfFiles.size()]);
  if (paths.empty()) paths = files_of(disk, kKindsOfFiles.back());
  return paths[below(paths.size())];
}

const std::string& Attack::content(const std::string& path) const {
  return *disk_.contents.at(disk_.names.at(path));
}

void Attack::put(const std::string& path, std::string bytes) {
  disk_.names[path] = disk_.next_id;
  disk_.contents[disk_.next_id++] = std::make_shared<const std::string>(std::move(bytes));
}

const Moment& Attack::some_other() {
  const std::vector<const Moment*> moments = victim_.moments();
  return *moments[below(moments.size())];
}

std::string Attack::noise(std::size_t length) {
  std::string bytes(length, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random_());
  return bytes;
}

// Numbers in names count up.
std::string Attack::free_name(const std::string& path) {
  const std::size_t digit = path.find_last_of("0123456789");
  std::string name = path;
  if (digit == std::string::npos || digit < path.rfind('/')) return path + ".new";
  for (int i = 1; i < 9 && disk_.names.contains(name); ++i) name[digit] = static_cast<char>('1' + below(9));
  return disk_.names.contains(name) ? path + "0" : name;
}

std::vector<Attack::Part> Attack::segments_of(const DiskImage& disk, const std::string& path) {
  std::vector<Part> parts;
  look_at_chain(disk, path, [&](const RecordChain& chain) {
    for (std::size_t i = 0; i < chain.segments().size(); ++i) {
      const std::uint64_t begin = chain.segments()[i].place;
      const std::uint64_t end = i + 1 < chain.segments().size() ? chain.segments()[i + 1].place : chain.end();
      parts.push_back({begin, end - begin});
    }
  });
  return parts;
}

std::vector<Attack::Part> Attack::records_of(const DiskImage& disk, const std::string& path) {
  std::vector<Part> parts;
  look_at_chain(disk, path, [&](const RecordChain& chain) {
    for (const RecordChain::Record& record : chain.records())
      parts.push_back({record.place, kSealedHeadBytes + sealed_bytes_of(record.head.bytes)});
  });
  return parts;
}

// ---------------------------------------------------------------- bytes of one file

std::string Attack::flip() {
  const std::string path = some_file(disk_);
  std::string bytes = content(path);
  if (bytes.empty()) return "nothing";
  const std::size_t place = below(bytes.size());
  bytes[place] = static_cast<char>(bytes[place] ^ (1 << below(8)));
  put(path, bytes);
  return fmt::format("a bit of byte {} of {} is flipped", place, path);
}

std::string Attack::scramble() {
  const std::string path = some_file(disk_);
  std::string bytes = content(path);
  const std::size_t from = below(bytes.size() + 1);
  const std::size_t length = std::min<std::size_t>(1 + below(64), bytes.size() - from);
  put(path, bytes.replace(from, length, noise(length)));
  return fmt::format("{} has {} other bytes from {} on", path, length, from);
}

std::string Attack::cut() {
  const std::string path = some_file(disk_);
  const std::size_t length = below(content(path).size() + 1);
  put(path, content(path).substr(0, length));
  return fmt::format("{} is cut off at {}", path, length);
}

std::string Attack::cut_out() {
  const std::string path = some_file(disk_);
  std::string bytes = content(path);
  const std::size_t from = below(bytes.size() + 1);
  const std::size_t length = std::min<std::size_t>(1 + below(10'000), bytes.size() - from);
  put(path, bytes.erase(from, length));
  return fmt::format("{} bytes of {} from {} on are taken out", length, path, from);
}

std::string Attack::insert() {
  const std::string path = some_file(disk_);
  std::string bytes = content(path);
  const std::size_t place = below(bytes.size() + 1);
  const std::size_t length = 1 + below(10'000);
  put(path, bytes.insert(place, noise(length)));
  return fmt::format("{} has {} more bytes at {}", path, length, place);
}

std::string Attack::append() {
  const std::string path = some_file(disk_);
  const std::string bytes = content(path);
  const std::size_t from = below(bytes.size() + 1);
  put(path, bytes + bytes.substr(from));
  return fmt::format("{} has its bytes from {} on twice", path, from);
}

std::string Attack::blank() {
  const std::string path = some_file(disk_);
  std::string bytes = content(path);
  const std::size_t from = below(bytes.size() + 1);
  const std::size_t length = std::min<std::size_t>(512, bytes.size() - from);
  put(path, bytes.replace(from, length, length, '\0'));
  return fmt::format("{} has zeros from {} on", path, from);
}

// Pieces have 8 KiB and a tag.
std::string Attack::transpose() {
  constexpr std::size_t kPiece = kPieceBytes + kTagBytes;
  const std::string path = some_file(disk_);
  std::string bytes = content(path);
  if (bytes.size() < 2 * kPiece) return "nothing";
  const std::size_t one = below(bytes.size() - 2 * kPiece + 1);
  const std::size_t other = one + kPiece + below(bytes.size() - one - 2 * kPiece + 1);
  const std::string first = bytes.substr(one, kPiece);
  bytes.replace(one, kPiece, bytes.substr(other, kPiece));
  bytes.replace(other, kPiece, first);
  put(path, bytes);
  return fmt::format("{} has its bytes at {} and {} exchanged", path, one, other);
}

std::string Attack::transpose_segments() {
  const std::string path = some_file(disk_);
  const std::vector<Part> parts = segments_of(disk_, path);
  if (parts.size() < 2) return "nothing";
  const std::size_t one = below(parts.size() - 1);
  const std::size_t other = one + 1 + below(parts.size() - one - 1);
  const std::string& bytes = content(path);
  const Part first = parts[one];
  const Part second = parts[other];
  const std::size_t between = first.place + first.bytes;
  put(path, bytes.substr(0, first.place) + bytes.substr(second.place, second.bytes) +
                bytes.substr(between, second.place - between) + bytes.substr(first.place, first.bytes) +
                bytes.substr(second.place + second.bytes));
  return fmt::format("the segments {} and {} of {} are exchanged", one, other, path);
}

// Two of one length, so that nothing else moves.
std::string Attack::transpose_records() {
  const std::string path = some_file(disk_);
  const std::vector<Part> parts = records_of(disk_, path);
  std::vector<std::pair<Part, Part>> alike;
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t j = i + 1; j < parts.size(); ++j)
      if (parts[i].bytes == parts[j].bytes) alike.emplace_back(parts[i], parts[j]);
  if (alike.empty()) return "nothing";
  const auto [one, other] = alike[below(alike.size())];
  std::string bytes = content(path);
  const std::string first = bytes.substr(one.place, one.bytes);
  bytes.replace(one.place, one.bytes, bytes.substr(other.place, other.bytes));
  bytes.replace(other.place, other.bytes, first);
  put(path, bytes);
  return fmt::format("the records at {} and {} of {} are exchanged", one.place, other.place, path);
}

std::string Attack::replace_record() {
  const std::string path = some_file(disk_);
  const Moment& moment = some_other();
  const std::string donor = moment.disk.names.contains(path) && below(2) == 0 ? path : some_file(moment.disk);
  const std::vector<Part> parts = records_of(disk_, path);
  const std::vector<Part> donated = records_of(moment.disk, donor);
  if (parts.empty() || donated.empty()) return "nothing";
  const Part gone = parts[below(parts.size())];
  const Part put_there = donated[below(donated.size())];
  std::string bytes = content(path);
  put(path, bytes.replace(gone.place, gone.bytes, *moment.at(donor), put_there.place, put_there.bytes));
  return fmt::format("the record at {} of {} is that at {} of {}", gone.place, path, put_there.place, donor);
}

std::string Attack::drop_segment() {
  const std::string path = some_file(disk_);
  const std::vector<Part> parts = segments_of(disk_, path);
  if (parts.empty()) return "nothing";
  const Part gone = parts[below(parts.size())];
  put(path, std::string(content(path)).erase(gone.place, gone.bytes));
  return fmt::format("the segment at {} of {} is taken out", gone.place, path);
}

// ---------------------------------------------------------------- whole files

std::string Attack::exchange() {
  const std::string one = some_file(disk_);
  const std::string other = some_file(disk_);
  std::swap(disk_.names[one], disk_.names[other]);
  return fmt::format("{} and {} are exchanged", one, other);
}

std::string Attack::remove() {
  const std::string path = some_file(disk_);
  disk_.names.erase(path);
  return path + " is removed";
}

std::string Attack::rename() {
  const std::string path = some_file(disk_);
  const std::string name = free_name(path);
  disk_.names[name] = disk_.names.at(path);
  disk_.names.erase(path);
  return fmt::format("{} is called {}", path, name);
}

std::string Attack::duplicate() {
  const std::string path = some_file(disk_);
  const std::string name = free_name(path);
  put(name, content(path));
  return fmt::format("{} is there as {}, too", path, name);
}

std::string Attack::empty() {
  const std::string path = some_file(disk_);
  put(path, {});
  return path + " is empty";
}

// ---------------------------------------------------------------- other states

std::string Attack::roll_back() {
  const Moment& moment = some_other();
  const std::string path = some_file(moment.disk);
  put(path, *moment.at(path));
  return path + " is of another state or volume";
}

// A file in the place of one that has another name.
std::string Attack::bring() {
  const Moment& moment = some_other();
  const std::string path = some_file(moment.disk);
  const std::string place = some_file(disk_);
  put(place, *moment.at(path));
  return fmt::format("{} of another state or volume is in the place of {}", path, place);
}

// The beginning of an old state, and the end of the file.
std::string Attack::mix() {
  const Moment& moment = some_other();
  const std::string path = some_file(disk_);
  if (!moment.disk.names.contains(path)) return "nothing";
  const std::string& other = *moment.at(path);
  const std::string bytes = content(path);
  const std::size_t place = below(std::min(other.size(), bytes.size()) + 1);
  const bool begins_old = below(2) == 0;
  put(path, begins_old ? other.substr(0, place) + bytes.substr(place) : bytes.substr(0, place) + other.substr(place));
  return fmt::format("{} is mixed with another state at {}", path, place);
}

// Segments of another state, in their places.
std::string Attack::graft() {
  const Moment& moment = some_other();
  const std::string path = some_file(disk_);
  if (!moment.disk.names.contains(path)) return "nothing";
  const std::vector<Part> parts = segments_of(moment.disk, path);
  if (parts.empty()) return "nothing";
  const std::size_t place = parts[below(parts.size())].place;
  const std::string bytes = content(path);
  if (bytes.size() < place) return "nothing";
  put(path, bytes.substr(0, place) + moment.at(path)->substr(place));
  return fmt::format("{} has the segments of another state from {} on", path, place);
}

std::string Attack::roll_back_folder() {
  const Moment& moment = some_other();
  const std::string folder = parent_of(some_file(moment.disk));
  const auto is_in_it = [&](const auto& each) {
    return each.second != DiskImage::kDirectory && parent_of(each.first) == folder;
  };
  std::erase_if(disk_.names, is_in_it);
  std::size_t count = 0;
  for (const auto& each : moment.disk.names) {
    if (!is_in_it(each)) continue;
    put(each.first, *moment.at(each.first));
    ++count;
  }
  return fmt::format("{} has the {} files of another state", folder, count);
}

std::string Attack::roll_back_many() {
  const Moment& moment = some_other();
  std::size_t count = 0;
  for (const auto& [path, id] : moment.disk.names) {
    if (id == DiskImage::kDirectory || below(4) == 0) continue;
    put(path, *moment.at(path));
    ++count;
  }
  return fmt::format("{} files are of another state", count);
}

std::string Attack::roll_back_list() {
  const Moment& moment = some_other();
  for (const char* const name : {"unmounted", "unmounted.copy"}) put(in_volume(name), *moment.at(in_volume(name)));
  const std::string path = some_file(moment.disk);
  put(path, *moment.at(path));
  return path + " and the lists are of another state or volume";
}

// ---------------------------------------------------------------- the key header

// In one copy, or in both.
std::string Attack::forge_header() {
  const Moment& moment = below(4) == 0 ? some_other() : attacked_;
  const auto forged = forged_header(*moment.at(in_volume("superblock.json")), below(kForgedHeaders));
  const std::size_t which = below(3);
  if (which != 0) put(in_volume("superblock.json"), forged.text);
  if (which != 1) put(in_volume("superblock.copy.json"), forged.text);
  return fmt::format("the key header has {}", forged.what);
}

}  // namespace dedupfs
