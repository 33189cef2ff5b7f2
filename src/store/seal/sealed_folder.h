// Folders and files of an encrypted volume, as if it were a plain one: see sealed_tree.h.
//
// Threads, ownership, failure: as backing.h and sealed_tree.h say. Renaming a file to a name that does not keep its keys
// (place_of() in sealed_names.h) is kInvalidArgument.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/seal/sealed_tree.h"

namespace dedupfs {

struct VolumeGeneration;

class SealedFolder final : public BackingFolder {
 public:
  // `where`: its path in the volume.
  SealedFolder(std::shared_ptr<SealedTree> tree, std::shared_ptr<BackingFolder> real, std::string where)
      : BackingFolder(real->path()), tree_(std::move(tree)), real_(std::move(real)), where_(std::move(where)) {}

  Result<std::unique_ptr<BackingFile>> open(std::string_view name, Mode mode) override;
  Result<std::shared_ptr<BackingFolder>> open_folder(std::string_view name) override;
  Result<void> make_folder(std::string_view name) override;
  Result<void> remove_folder(std::string_view name) override;
  Result<void> rename(std::string_view name, BackingFolder& to, std::string_view new_name) override;
  Result<void> link(std::string_view name, BackingFolder& to, std::string_view new_name) override;
  Result<void> unlink(std::string_view name) override;
  Result<void> sync() override;
  Result<std::vector<std::string>> list() override;
  Result<Status> status() override { return real_->status(); }
  Result<Status> status(std::string_view name) override { return real_->status(on_disk(name)); }
  Result<Space> space() override { return real_->space(); }
  std::optional<int> descriptor() const override { return real_->descriptor(); }

 private:
  friend std::vector<Error> damage_of_hidden_key_header(const BackingFolder& folder);
  friend Result<std::optional<std::string>> repair_hidden_key_header(BackingFolder& folder);
  friend Result<void> compare_all_files(BackingFolder& folder);
  friend std::vector<Error> differences_of(const BackingFolder& folder);
  friend std::optional<VolumeGeneration> generation_of(const BackingFolder& folder);
  friend Result<void> take_files_as_they_are(BackingFolder& folder);
  friend std::set<std::string> outdated_files(const BackingFolder& volume);
  friend std::shared_ptr<BackingFolder> folder_on_disk(const std::shared_ptr<BackingFolder>& folder);
  friend std::shared_ptr<BackingFolder> sealed_like(const BackingFolder& model, std::shared_ptr<BackingFolder> other);

  bool is_root() const { return where_.empty(); }
  bool passes(std::string_view name) const;
  std::string on_disk(std::string_view name) const;
  std::string path_in_volume(std::string_view name_on_disk) const;
  Result<std::unique_ptr<BackingFile>> open_clear(std::string_view name, Mode mode);

  const std::shared_ptr<SealedTree> tree_;
  const std::shared_ptr<BackingFolder> real_;
  const std::string where_;
};

// The folder of a new volume, of which there is nothing yet.
std::shared_ptr<BackingFolder> create_sealed_folder(std::shared_ptr<BackingFolder> folder,
                                                    std::shared_ptr<const VolumeKey> key);
// Who takes the lock of the volume hears of the judge.
std::shared_ptr<BackingFolder> open_sealed_folder(std::shared_ptr<BackingFolder> folder,
                                                  std::shared_ptr<const VolumeKey> key,
                                                  SealedTree::Judge judge = SealedTree::refuse);
// The damage of the copies of the key header, which the folder hides, also that they differ. Nothing for other folders, here and below.
std::vector<Error> damage_of_hidden_key_header(const BackingFolder& folder);
// Makes them alike again. The name of the one that was written, if one was.
Result<std::optional<std::string>> repair_hidden_key_header(BackingFolder& folder);
// For fsck, under the lock: compares more than a mount does.
Result<void> compare_all_files(BackingFolder& folder);
// What the judge accepted.
std::vector<Error> differences_of(const BackingFolder& folder);
// How often a volume was opened and changed, and when it was unmounted, as its record said when it was opened. No time: it was not
// unmounted since its last use began.
struct VolumeGeneration {
  std::uint64_t number = 0;
  std::optional<std::int64_t> unmounted_unix_seconds;
};
std::optional<VolumeGeneration> generation_of(const BackingFolder& folder);
// From now on the files are what they are now: the list of the next unmount has them so.
Result<void> take_files_as_they_are(BackingFolder& folder);
// The paths of the files of which some is sealed with a former master key: a reclaim writes their content anew. None for other folders.
std::set<std::string> outdated_files(const BackingFolder& volume);
// The folder whose files are as the disk has them: for copies that need no key. Another folder is that already.
std::shared_ptr<BackingFolder> folder_on_disk(const std::shared_ptr<BackingFolder>& folder);
// `other`, whose files are sealed with the key of `model`, if that is a folder of an encrypted volume.
std::shared_ptr<BackingFolder> sealed_like(const BackingFolder& model, std::shared_ptr<BackingFolder> other);

}  // namespace dedupfs
