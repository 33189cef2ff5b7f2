#include "store/volume/capture.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "index/kept_files.h"
#include "store/format/container_format.h"
#include "store/format/format.h"
#include "store/seal/sealed_folder.h"
#include "store/seal/sealed_names.h"
#include "store/volume/volume.h"

namespace dedupfs {
namespace {

constexpr std::string_view kCurrentFile = "CURRENT";
constexpr std::string_view kIdentityFile = "IDENTITY";
constexpr std::string_view kIndexLockFile = "LOCK";  // empty, but an encrypted volume lists it
constexpr std::uint64_t kMaxCurrentBytes = 4 << 10;
// The index writes to its manifest when a table is made or gone: rarely, and for milliseconds.
constexpr int kMostTries = 1000;
constexpr std::chrono::milliseconds kPause{2};

// Of the volume's own files, that is.
constexpr auto kAll = [](std::string_view) { return true; };

std::string below(std::string_view folder, std::string_view name) {
  return folder.empty() ? std::string(name) : std::string(folder).append("/").append(name);
}

// The files, as they are found one after the other.
class FolderCapture final : public Capture {
 public:
  explicit FolderCapture(std::shared_ptr<BackingFolder> folder) : folder_(std::move(folder)) {}

  const std::vector<CapturedFile>& files() const override { return files_; }
  Result<std::size_t> read(const CapturedFile& file, std::uint64_t offset, MutableByteSpan out) override {
    if (offset > file.bytes) return invalid_argument("beyond the captured end of " + file.path);
    out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), file.bytes - offset)));
    if (const auto kept = kept_.find(file.path); kept != kept_.end()) return kept->second->read_up_to(offset, out);
    DEDUPFS_ASSIGN(const auto folder, folder_of(parent_of(file.path)));
    DEDUPFS_ASSIGN(const auto opened, folder->open(name_in(file.path), Backing::Mode::kRead));
    return opened->read_up_to(offset, out);
  }

  const std::shared_ptr<BackingFolder>& folder() const { return folder_; }
  Result<std::shared_ptr<BackingFolder>> folder_of(const std::string& path) const {
    return path.empty() ? Result<std::shared_ptr<BackingFolder>>(folder_) : folder_->open_folder(path);
  }

  // As long as it is now. With `keep` it stays so for the capture, whatever takes its name.
  enum class Content { kStays, kIsReplaced };
  Result<void> add(std::string_view folder_path, BackingFolder& folder, std::string_view name, Content content) {
    DEDUPFS_ASSIGN(auto file, folder.open(name, Backing::Mode::kRead));
    DEDUPFS_ASSIGN(const std::uint64_t bytes, file->size());
    files_.push_back({.path = below(folder_path, name), .bytes = bytes});
    if (content == Content::kIsReplaced) kept_[files_.back().path] = std::move(file);
    return {};
  }
  void mark_as_changing(const std::vector<std::uint32_t>& containers) {
    for (CapturedFile& file : files_)
      for (const std::uint32_t number : containers)
        if (file.path == below(kContainersDirectory, container_name(number))) file.may_change = true;
  }
  void forget(std::string_view folder_path) {
    const auto is_there = [&](const std::string& path) { return parent_of(path) == folder_path; };
    std::erase_if(files_, [&](const CapturedFile& file) { return is_there(file.path); });
    std::erase_if(kept_, [&](const auto& kept) { return is_there(kept.first); });
  }
  // The volume's own that `wanted` wants. One that is gone meanwhile is left out, unless none can go.
  enum class Vanishing { kIsLeftOut, kIsAnError };
  Result<void> add_all(std::string_view folder_path, Content content,
                       const std::function<bool(std::string_view)>& wanted,
                       Vanishing vanishing = Vanishing::kIsLeftOut) {
    const auto folder = folder_of(std::string(folder_path));
    if (!folder && folder.error().code() == ErrorCode::kNotFound) return {};
    if (!folder) return folder.error();
    DEDUPFS_ASSIGN(const std::vector<std::string> names, (*folder)->list());
    for (const std::string& name : names) {
      if (!is_volume_file(below(folder_path, name)) || !wanted(name)) continue;
      DEDUPFS_ASSIGN(const Backing::Type type, (*folder)->type(name));
      const bool is_gone = type == Backing::Type::kMissing;
      if (type != Backing::Type::kFile && !is_gone) continue;
      const Result<void> added = is_gone
                                     ? Result<void>(Error{ErrorCode::kNotFound, below(folder_path, name) + " is gone"})
                                     : add(folder_path, **folder, name, content);
      if (!added && (added.error().code() != ErrorCode::kNotFound || vanishing == Vanishing::kIsAnError))
        return added.error();
    }
    return {};
  }
  // Whoever restores an image without one of them has lost data. While the image is made, nobody can remove any.
  Result<void> add_containers(const std::function<bool(std::string_view)>& wanted) {
    return add_all(kContainersDirectory, Content::kStays, wanted, Vanishing::kIsAnError);
  }
  // The volume's own files, and what stands beside the index.
  Result<void> add_rest(const std::function<bool(std::string_view)>& wanted_checkpoints) {
    DEDUPFS_TRY(add_all(kCheckpointsDirectory, Content::kStays, wanted_checkpoints));
    // An encrypted volume notes its first change before it does it. So what is found there last fits all that was found before.
    const auto is_copy = [](std::string_view name) { return name == kVolumeRecordCopyFile; };
    DEDUPFS_TRY(add_all("", Content::kIsReplaced, std::not_fn(is_copy)));
    // One of the two is always whole.
    DEDUPFS_TRY(add_all("", Content::kIsReplaced, is_copy));
    std::ranges::sort(files_, {}, &CapturedFile::path);
    return {};
  }

  // Each keeps files from being removed.
  std::shared_ptr<const void> containers_stay;
  std::unique_ptr<KeptFiles> index_stays;

 private:
  const std::shared_ptr<BackingFolder> folder_;
  std::vector<CapturedFile> files_;
  std::map<std::string, std::unique_ptr<BackingFile>> kept_;
};

Result<std::uint64_t> size_of(BackingFolder& folder, const std::string& name) {
  DEDUPFS_ASSIGN(const auto file, folder.open(name, Backing::Mode::kRead));
  return file->size();
}

// False: it changed meanwhile. `plain` shows what is in the files that `real` has.
Result<bool> add_index(FolderCapture& image, BackingFolder& plain, BackingFolder& real) {
  using Content = FolderCapture::Content;
  const KeptFiles& index = *image.index_stays;
  DEDUPFS_ASSIGN(const KeptFiles::List before, index.list());
  DEDUPFS_ASSIGN(const std::uint64_t bytes_before, size_of(real, before.manifest));
  DEDUPFS_TRY(image.add(kIndexDirectory, real, kCurrentFile, Content::kIsReplaced));
  DEDUPFS_ASSIGN(const std::string current, read_file(plain, kCurrentFile, kMaxCurrentBytes));
  DEDUPFS_ASSIGN(const KeptFiles::List list, index.list());
  DEDUPFS_TRY(image.add(kIndexDirectory, real, list.manifest, Content::kStays));
  // All three are the same moment: nobody wrote to the manifest, and the index knows of all that is in it.
  DEDUPFS_ASSIGN(const std::uint64_t bytes, size_of(real, list.manifest));
  DEDUPFS_ASSIGN(const std::uint64_t plain_bytes, size_of(plain, list.manifest));
  if (list.manifest != before.manifest || bytes != bytes_before || plain_bytes != list.manifest_bytes ||
      current != list.manifest + "\n")
    return false;
  for (const std::string& name : list.unchanging) DEDUPFS_TRY(image.add(kIndexDirectory, real, name, Content::kStays));
  for (const std::string& name : list.logs) DEDUPFS_TRY(image.add(kIndexDirectory, real, name, Content::kStays));
  DEDUPFS_TRY(image.add_all(kIndexDirectory, Content::kIsReplaced,
                            [](std::string_view name) { return name == kIdentityFile || name == kIndexLockFile; }));
  return true;
}

}  // namespace

Result<std::unique_ptr<Capture>> capture(Volume& volume) {
  auto image = std::make_unique<FolderCapture>(folder_on_disk(volume.folder()));
  image->containers_stay = volume.containers().keep_files();
  DEDUPFS_ASSIGN(image->index_stays, KeptFiles::keep(volume.database()));
  DEDUPFS_ASSIGN(const auto plain, volume.folder()->open_folder(kIndexDirectory));
  DEDUPFS_ASSIGN(const auto real, image->folder_of(std::string(kIndexDirectory)));
  for (int tries = 1;; ++tries) {
    DEDUPFS_ASSIGN(const bool is_of_one_moment, add_index(*image, *plain, *real));
    if (is_of_one_moment) break;
    if (tries == kMostTries)
      return Error{ErrorCode::kBusy,
                   plain->path().string() + ": the index changes all the time; try again when less is written"};
    image->forget(kIndexDirectory);
    std::this_thread::sleep_for(kPause);
  }
  // Later than the index: what that refers to is there, and longer at most.
  DEDUPFS_TRY(image->add_containers([](std::string_view name) { return name.ends_with(kContainerSuffix); }));
  // Then no power cut takes a captured container back, and no other one gets its number.
  DEDUPFS_TRY(volume.containers().sync());
  image->mark_as_changing(volume.containers().unfinished());
  // One that is being made has another name.
  DEDUPFS_TRY(image->add_rest([](std::string_view name) { return name.ends_with(kCheckpointSuffix); }));
  return image;
}

// All that the list of an encrypted volume names, or whoever restores the image would miss something.
Result<std::unique_ptr<Capture>> capture_closed(std::shared_ptr<BackingFolder> folder) {
  auto image = std::make_unique<FolderCapture>(std::move(folder));
  using Content = FolderCapture::Content;
  DEDUPFS_TRY(image->add_all(kIndexDirectory, Content::kStays, kAll));
  DEDUPFS_TRY(image->add_containers(kAll));
  DEDUPFS_TRY(image->add_rest(kAll));
  return image;
}

}  // namespace dedupfs
