// The folder of a volume, which cannot be changed through this object. Some names in it can stand for something elsewhere, which
// can be changed. So whoever would change a volume does so elsewhere, and the volume stays as it is.
//
// Threads: any thread.
// Ownership: keeps the folders.
// Failure: kReadOnly for every change, but of what stands elsewhere. Renaming and linking are changes.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/backing.h"

namespace dedupfs {

class ReadOnlyFolder final : public BackingFolder {
 public:
  struct Place {
    std::shared_ptr<BackingFolder> folder;
    std::string name;  // in it
  };
  using Elsewhere = std::map<std::string, Place, std::less<>>;

  explicit ReadOnlyFolder(std::shared_ptr<BackingFolder> folder, Elsewhere elsewhere = {});

  Result<std::unique_ptr<BackingFile>> open(std::string_view name, Mode mode) override;
  Result<std::shared_ptr<BackingFolder>> open_folder(std::string_view name) override;
  Result<void> make_folder(std::string_view name) override;
  Result<void> remove_folder(std::string_view name) override;
  Result<void> rename(std::string_view name, BackingFolder& to, std::string_view new_name) override;
  Result<void> link(std::string_view name, BackingFolder& to, std::string_view new_name) override;
  Result<void> unlink(std::string_view name) override;
  Result<void> sync() override;
  Result<std::vector<std::string>> list() override;
  Result<Status> status() override;
  Result<Status> status(std::string_view name) override;
  Result<Space> space() override;

 private:
  const Place* elsewhere(std::string_view name) const;
  Error refusal(std::string_view name) const;

  const std::shared_ptr<BackingFolder> folder_;
  const Elsewhere elsewhere_;
};

}  // namespace dedupfs
