// Any records of a stream, received beside a file of the receiver's own: that file stays as it is, whatever the stream says.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/check.h"
#include "base/scratch_backing.h"
#include "fs/transfer/frames.h"
#include "fs/transfer/received_folder.h"
#include "fs/transfer/receiver.h"

namespace {

using namespace dedupfs;

constexpr std::string_view kOwn = "the receiver's own content";

std::unique_ptr<Filesystem> new_filesystem() {
  const auto disk = std::make_shared<ScratchBacking>(std::uint64_t{64} << 20);
  VolumeSettings settings;
  settings.chunker = "vram:avg=4k,min=1k,max=16k";
  DEDUPFS_CHECK(Volume::create("/volume", settings, disk));
  VolumeOptions options;
  options.threads = 1;
  options.index_memory_bytes = 8 << 20;
  auto volume = Volume::open("/volume", options, disk);
  DEDUPFS_CHECK(volume);
  FilesystemOptions quiet;
  quiet.commit_interval = std::chrono::hours(1);
  quiet.checkpoint_interval = std::chrono::hours(0);
  auto filesystem = Filesystem::open(std::move(*volume), quiet);
  DEDUPFS_CHECK(filesystem);
  const auto own = (*filesystem)->create(kRootInode, "own", 0644, {});
  DEDUPFS_CHECK(own);
  DEDUPFS_CHECK((*filesystem)->write(own->inode, 0, bytes_of(kOwn), {}, [] { return false; }));
  return std::move(*filesystem);
}

// As FrameWriter, but of records that nobody has looked at.
std::string stream_of(std::string_view records) {
  std::string stream;
  const StreamSink sink = [&](ByteSpan bytes) -> Result<void> {
    stream += text_of(bytes);
    return {};
  };
  transfer::FrameWriter writer(sink, 1);
  const transfer::StreamHeader header{.snapshot = {"93883694-6fbf-47b9-ab10-ed37024f0ba1", 1, "sent", 0}};
  DEDUPFS_CHECK(writer.begin(header.text()));
  DEDUPFS_CHECK(writer.add_encoded(records));
  DEDUPFS_CHECK(writer.flush());
  return stream;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr int kUses = 200;
  // Not closed at the end of the process: RocksDB has ended by then.
  static auto& filesystem = *new std::unique_ptr<Filesystem>();
  static int uses = 0;
  if (!filesystem || ++uses % kUses == 0) {
    filesystem.reset();
    filesystem = new_filesystem();
  }
  const std::string stream = stream_of(text_of({data, size}));
  const StreamSource source = [rest = std::string_view(stream)](MutableByteSpan room) mutable -> Result<std::size_t> {
    const std::size_t count = std::min(room.size(), rest.size());
    std::copy_n(rest.data(), count, room.begin());
    rest.remove_prefix(count);
    return count;
  };
  const std::string name = std::to_string(uses);

  (void)transfer::receive(*filesystem, {.folder = "folder" + name, .snapshot_name = name}, source,
                          [](const transfer::ReceiveTotals&) { return Result<void>(); });

  const auto own = transfer::find_entry(*filesystem, kRootInode, "own");
  DEDUPFS_CHECK(own && own->size == kOwn.size());
  const auto content = filesystem->read(own->inode, 0, own->size);
  DEDUPFS_CHECK(content && content->size() == 1 && text_of(content->front().bytes) == kOwn);
  return 0;
}
