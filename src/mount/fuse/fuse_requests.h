// The handlers of the kernel's requests, one for each, for the table in fuse_operations.cc. op_write() is in fuse_write.h.
//
// Each handler answers its request exactly once. It may throw before the answer, and throws nothing afterwards.
//
// Threads: any; libfuse calls them on its own threads.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>

#include "mount/fuse/fuse_api.h"

namespace dedupfs {

// Names: fuse_names.cc.
void op_lookup(fuse_req_t req, fuse_ino_t parent, const char* name);
void op_forget(fuse_req_t req, fuse_ino_t inode, std::uint64_t count);
void op_forget_multi(fuse_req_t req, std::size_t count, fuse_forget_data* forgets);
void op_mknod(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, dev_t device);
void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode);
void op_symlink(fuse_req_t req, const char* target, fuse_ino_t parent, const char* name);
void op_link(fuse_req_t req, fuse_ino_t inode, fuse_ino_t parent, const char* name);
void op_unlink(fuse_req_t req, fuse_ino_t parent, const char* name);
void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char* name);
void op_rename(fuse_req_t req, fuse_ino_t parent, const char* name, fuse_ino_t new_parent, const char* new_name,
               unsigned flags);
void op_readlink(fuse_req_t req, fuse_ino_t inode);

// Directories: fuse_directories.cc.
void op_opendir(fuse_req_t req, fuse_ino_t, fuse_file_info* info);
void op_releasedir(fuse_req_t req, fuse_ino_t, fuse_file_info* info);
void op_readdir(fuse_req_t req, fuse_ino_t inode, std::size_t size, off_t cookie, fuse_file_info* info);
void op_readdirplus(fuse_req_t req, fuse_ino_t inode, std::size_t size, off_t cookie, fuse_file_info* info);

// Attributes: fuse_attributes.cc.
void op_getattr(fuse_req_t req, fuse_ino_t inode, fuse_file_info*);
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 18)
void op_statx(fuse_req_t req, fuse_ino_t inode, int flags, int mask, fuse_file_info*);
#endif
void op_setattr(fuse_req_t req, fuse_ino_t inode, struct stat* wanted, int valid, fuse_file_info*);
void op_setxattr(fuse_req_t req, fuse_ino_t inode, const char* name, const char* value, std::size_t size, int flags);
void op_getxattr(fuse_req_t req, fuse_ino_t inode, const char* name, std::size_t size);
void op_listxattr(fuse_req_t req, fuse_ino_t inode, std::size_t size);
void op_removexattr(fuse_req_t req, fuse_ino_t inode, const char* name);

// Content of files: fuse_files.cc.
void op_open(fuse_req_t req, fuse_ino_t inode, fuse_file_info* info);
void op_create(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, fuse_file_info* info);
void op_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode, fuse_file_info* info);
void op_release(fuse_req_t req, fuse_ino_t, fuse_file_info* info);
void op_read(fuse_req_t req, fuse_ino_t inode, std::size_t size, off_t offset, fuse_file_info* info);
void op_flush(fuse_req_t req, fuse_ino_t inode, fuse_file_info* info);
void op_fsync(fuse_req_t req, fuse_ino_t inode, int, fuse_file_info*);
void op_fsyncdir(fuse_req_t req, fuse_ino_t, int, fuse_file_info*);
void op_fallocate(fuse_req_t req, fuse_ino_t inode, int mode, off_t offset, off_t length, fuse_file_info* info);
void op_lseek(fuse_req_t req, fuse_ino_t inode, off_t offset, int whence, fuse_file_info*);
void op_copy_file_range(fuse_req_t req, fuse_ino_t from, off_t from_offset, fuse_file_info*, fuse_ino_t to,
                        off_t to_offset, fuse_file_info* to_info, std::size_t length, int);

}  // namespace dedupfs
