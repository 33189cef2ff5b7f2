// Owners of libmount's objects.
#pragma once

#include <libmount.h>

#include <memory>

namespace dedupfs {

template <auto kFree>
struct LibmountDeleter {
  template <class T>
  void operator()(T* handle) const {
    kFree(handle);
  }
};

using MountTable = std::unique_ptr<libmnt_table, LibmountDeleter<&mnt_unref_table>>;
using MountIterator = std::unique_ptr<libmnt_iter, LibmountDeleter<&mnt_free_iter>>;
using MountDescription = std::unique_ptr<libmnt_fs, LibmountDeleter<&mnt_unref_fs>>;
using MountUpdate = std::unique_ptr<libmnt_update, LibmountDeleter<&mnt_free_update>>;

}  // namespace dedupfs
