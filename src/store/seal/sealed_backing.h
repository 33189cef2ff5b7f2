// A Backing whose folders of encrypted volumes are opened with their key, and all other folders as they are. Who opens volumes by it
// needs to know nothing of encryption.
//
// Threads:   as backing.h says. The source of keys may be asked by any thread, one at a time.
// Failure:   opening a folder: kNotPermitted where no key opens the volume, or it has none and must have one; as SealedTree.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/backing.h"
#include "base/mutex.h"
#include "store/seal/key_header.h"
#include "store/seal/sealed_tree.h"

namespace dedupfs {

class SealedBacking final : public Backing {
 public:
  // Gives the key of a volume.
  using KeySource = std::function<Result<std::shared_ptr<const VolumeKey>>(const Path& volume, const KeyHeader&)>;

  // Whoever names a key believes that the volume is encrypted. Somebody who can write to the folder may have put a plain volume
  // there, to see what is written to it.
  enum class Volumes { kAll, kEncrypted };

  // Judges the folder of an encrypted volume as the disk has it, before its key header is believed and a key is asked for.
  using Admission = std::function<Result<void>(BackingFolder& real)>;
  static Result<void> admit_all(BackingFolder& /*real*/) { return {}; }

  SealedBacking(std::shared_ptr<Backing> real, KeySource keys, SealedTree::Judge judge = SealedTree::refuse,
                Volumes volumes = Volumes::kAll, Admission admit = admit_all)
      : real_(std::move(real)),
        keys_(std::move(keys)),
        judge_(std::move(judge)),
        volumes_(volumes),
        admit_(std::move(admit)) {}

  // Asks for the key of a volume now, if it is encrypted: for those who cannot ask later. From then on no other volume is opened: what
  // was typed must not go to one that somebody puts in its place. A folder that cannot be opened is no error here.
  Result<void> get_key(const Path& volume);

  Result<std::shared_ptr<BackingFolder>> open_root(const Path& path) override;

 private:
  Result<std::optional<KeyHeader>> read_header(const Path& volume, BackingFolder& folder) const;
  Result<void> require_expected(const Path& volume, const std::optional<KeyHeader>& header);
  Result<std::shared_ptr<const VolumeKey>> key_of(const Path& volume, BackingFolder& folder, const KeyHeader& header);

  const std::shared_ptr<Backing> real_;
  const KeySource keys_;
  const SealedTree::Judge judge_;
  const Volumes volumes_;
  const Admission admit_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<const VolumeKey>> known_ DEDUPFS_GUARDED_BY(mutex_);  // by uuid
  std::string expected_ DEDUPFS_GUARDED_BY(mutex_);                                           // a uuid; empty: any
};

}  // namespace dedupfs
