// A crash image: the files of a volume as a power cut at one moment would leave them, after all that was committed before was synced. Such
// an image mounts, with nothing committed lost (docs/durability.md), so whoever copies it has the volume. Its files are those on the disk:
// an encrypted volume gives its key header and ciphertext, and no key is needed to read them.
//
// Why the captured bytes stay what they are while the volume is used on:
//   tables           never change. The index removes none while the capture lives.
//   manifest         grows. In a plain volume, one byte of the last record is written last (index/sealed_manifest.h), so the capture
//                    waits until nobody is writing to it. In an encrypted volume that byte is a record at the end.
//   logs             grow. None is used again. After a full disk, the end that was not synced is cut off.
//   containers       grow until they are sealed. Regions that several threads write at once may be zeros for a moment, and a write that
//                    failed is cut off or becomes a gap: no such region is in the captured index, but it may be in the next one, without
//                    a change of length. None is removed while the capture lives.
//   checkpoints      are made under another name. An old one may be gone when it is to be read (kNotFound): nothing needs it.
//   everything else  is replaced as a whole, so the capture keeps it open.
// So what was copied of a log or a container at one time may differ from a later capture: whoever goes on behind it compares first.
//
// Threads:   files() from any thread; read() from any thread.
// Ownership: must not outlive the volume.
// Failure:   errors of the disk; kBusy: the index changes so fast that no moment was found.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/backing.h"
#include "base/bytes.h"
#include "base/result.h"

namespace dedupfs {

class Volume;

// Beside the files of the volume, and no part of any image: which bucket it is replicated to.
inline constexpr std::string_view kRemoteFile = "remote.json";

struct CapturedFile {
  std::string path;  // in the volume's folder: "superblock.json", "index/000012.sst"
  std::uint64_t bytes = 0;
  bool may_change = false;  // a container that is written to: in places that the captured index does not refer to

  bool operator==(const CapturedFile&) const = default;
};

class Capture {
 public:
  virtual ~Capture() = default;

  virtual const std::vector<CapturedFile>& files() const = 0;  // in order of path
  // Fills `out` from `offset`, which lies within the captured bytes. Fewer bytes than out.size() mean the end of the file.
  virtual Result<std::size_t> read(const CapturedFile& file, std::uint64_t offset, MutableByteSpan out) = 0;
};

// Of a volume that is open for writing. What commits is not stopped.
Result<std::unique_ptr<Capture>> capture(Volume& volume);
// Of one that nobody has open: the caller holds its lock. `folder` as the disk has it.
Result<std::unique_ptr<Capture>> capture_closed(std::shared_ptr<BackingFolder> folder);

}  // namespace dedupfs
