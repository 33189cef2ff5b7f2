// What can stand in a folder in place of a file of ours.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "hostile/files.h"
#include "hostile/mutations.h"
#include "store/format/format.h"

namespace dedupfs {
namespace {

using Path = std::filesystem::path;

std::vector<Path> everything_in(const Path& volume) {
  std::vector<Path> found;
  std::error_code error;
  for (const auto& file : std::filesystem::recursive_directory_iterator(volume, error)) found.push_back(file.path());
  std::ranges::sort(found);
  return found;
}

void write_file(const Path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

void make_socket(const Path& path) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  static_cast<void>(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address));
  ::close(socket);
}

std::string replace(const Path& path, const Path& outside, Random& random) {
  const bool is_folder = is_plain_folder(path);
  std::error_code error;
  const auto size = is_folder ? 0 : std::filesystem::file_size(path, error);
  const std::uint64_t what = random.below(is_folder ? 6 : 14);
  if (what == 0 && is_plain_file(path)) {
    std::filesystem::resize_file(path, error ? 0 : random.below(size + 1), error);
    return "cut off";
  }
  if (what == 1 && is_plain_file(path)) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(random.below(size + 1)));
    file << random.bytes(1 + random.below(100));
    return "bytes in it overwritten";
  }
  std::filesystem::remove_all(path, error);
  switch (what) {
    case 0:
    case 2: return "removed";
    case 1:
    case 3:
      std::filesystem::create_symlink(is_folder ? outside / "folder" : outside / "precious", path, error);
      return "a link outwards";
    case 4: std::filesystem::create_symlink(path.filename(), path, error); return "a link to itself";
    case 5:
      is_folder ? write_file(path, "file") : static_cast<void>(std::filesystem::create_directory(path, error));
      return "file for folder, or the other way";
    case 6: static_cast<void>(::mkfifo(path.c_str(), 0600)); return "a FIFO";
    case 7: make_socket(path); return "a socket";
    case 8:
      static_cast<void>(::mknod(path.c_str(), S_IFCHR | 0600, ::makedev(1, random.one_in(2) ? 3 : 5)));
      return "a device";
    case 9:
      write_file(path, "");
      std::filesystem::resize_file(path, std::uint64_t{1} << 40, error);
      return "a sparse file of 1 TiB";
    case 10: write_file(path, ""); return "empty";
    case 11: std::filesystem::create_symlink("/dev/zero", path, error); return "a link to /dev/zero";
    default:
      write_file(path, random.bytes(random.below(std::min<std::uint64_t>(size, 1 << 20) + 100)));
      return "random bytes";
  }
}

std::string add_strange_name(const Path& volume, const Path& outside, Random& random) {
  static const std::vector<std::string> kNames = {"containers/0000000000.container",
                                                  "containers/4294967295.container",
                                                  "containers/9999999999.container",
                                                  "containers/0000000001.container.tmp",
                                                  "containers/x",
                                                  "checkpoints/4294967295.checkpoint",
                                                  "checkpoints/unfinished",
                                                  "checkpoints/0000000099.checkpoint",
                                                  "index/999999.sst",
                                                  "index/000001.log",
                                                  "index/MANIFEST-999999",
                                                  "index/LOCK",
                                                  "index.repair",
                                                  "index.salvage",
                                                  "index.damaged",
                                                  "index.damaged.2",
                                                  "superblock.json.new",
                                                  "control.sock"};
  const std::string& name = random.of(kNames);
  if (!is_plain_folder((volume / name).parent_path()) || std::filesystem::is_symlink(volume / name))
    return name + " leads outwards";
  std::error_code error;
  if (random.one_in(3))
    std::filesystem::create_directory(volume / name, error);
  else if (random.one_in(3))
    std::filesystem::create_symlink(outside / (random.one_in(2) ? "folder" : "precious"), volume / name, error);
  else if (random.one_in(2))
    write_file(volume / name, random.bytes(random.below(300)));
  else
    static_cast<void>(::mkfifo((volume / name).c_str(), 0600));
  return name + " is there";
}

}  // namespace

std::string mutate_folder(const Path& volume, const Path& outside, Random& random) {
  if (random.one_in(5)) return add_strange_name(volume, outside, random);
  const auto found = everything_in(volume);
  if (found.empty()) return "the volume is empty";
  const Path& path = random.of(found);
  return path.lexically_relative(volume).string() + ": " + replace(path, outside, random);
}

}  // namespace dedupfs
