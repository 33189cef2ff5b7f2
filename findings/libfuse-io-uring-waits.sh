#!/usr/bin/env bash
# libfuse 3.18.3, FUSE over io_uring: a request that waits cannot be interrupted, and holds up all others from its processor.
#
# A filesystem of some lines answers an open after five seconds, or when fuse_req_interrupted() says that the caller was interrupted. Its caller is
# killed after a second. By /dev/fuse that ends the wait, and other opens are answered meanwhile by other threads. By io_uring the wait takes the
# five seconds, and an open of another file from the same processor waits for it. If another thread answers (the handler returns at once), other
# opens are served, but the interrupt is lost all the same: libfuse looks for the interrupted request in a list that has those of /dev/fuse only.
#
# Seen on Linux 6.18 with libfuse 3.18.3 as Debian has its source (package fuse3 3.18.3-1; Debian's own build has no io_uring). So dedupfs, whose
# requests may wait for a disk, for a commit or for a bucket, does not use it: docs/benchmarks.md, "Ways to the kernel".
#
# Usage: findings/libfuse-io-uring-waits.sh, as root on Debian or Ubuntu. It needs gcc, meson, dpkg-dev, liburing-dev, libnuma-dev, the keys of
# Debian's archive, and a kernel with FUSE over io_uring (Linux 6.14), which it enables while it runs. DEBIAN_MIRROR names the archive, if apt does not.
set -euo pipefail

switch=/sys/module/fuse/parameters/enable_uring
[ -w "$switch" ] || { echo "this kernel has no FUSE over io_uring, or you are not root: $switch" >&2; exit 77; }
folder=$(mktemp -d)
mkdir "$folder/mnt"
was=$(cat "$switch")
# shellcheck disable=SC2317 # the trap calls it
clean_up() {
  umount -l "$folder/mnt" 2>/dev/null || true
  echo "$was" >"$switch"
  rm -rf "$folder"
}
trap clean_up EXIT
echo Y >"$switch"
cd "$folder"

mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format "\$(SITE)" | head -n 1)}
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror forky main" >sources.list
mkdir -p lists/partial archives/partial
private=(-o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$folder/lists"
  -o "Dir::Cache=$folder" -o APT::Sandbox::User=root)
apt-get "${private[@]}" -qq update
apt-get "${private[@]}" -qq source --download-only fuse3=3.18.3-1
dpkg-source --no-check -x fuse3_3.18.3-1.dsc libfuse >/dev/null
meson setup build libfuse --prefix="$folder/installed" --libdir=lib -Dexamples=false -Dtests=false -Dutils=false -Duseroot=false >/dev/null
ninja -C build install >/dev/null

cat >waits.c <<'C'
#define FUSE_USE_VERSION 318
#include <errno.h>
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int deferred;

static void attributes(fuse_ino_t ino, struct stat* st) {
  memset(st, 0, sizeof *st);
  st->st_ino = ino;
  st->st_mode = ino == 1 ? S_IFDIR | 0755 : S_IFREG | 0644;
  st->st_nlink = 1;
}
static void lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  (void)parent;
  struct fuse_entry_param entry = {.ino = strcmp(name, "slow") == 0 ? 2 : 3};
  attributes(entry.ino, &entry.attr);
  fuse_reply_entry(req, &entry);
}
static void getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info* info) {
  (void)info;
  struct stat st;
  attributes(ino, &st);
  fuse_reply_attr(req, &st, 0);
}
static void* wait_and_answer(void* request) {
  fuse_req_t req = request;
  int interrupted = 0;
  for (int tick = 0; tick < 50 && !(interrupted = fuse_req_interrupted(req)); ++tick) usleep(100000);
  printf("%s %s\n", fuse_req_is_uring(req) ? "io_uring" : "device", interrupted ? "interrupted" : "not-interrupted");
  fflush(stdout);
  fuse_reply_err(req, EINTR);
  return NULL;
}
static void do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info* info) {
  pthread_t thread;
  if (ino != 2) {
    fuse_reply_open(req, info);
  } else if (!deferred) {
    wait_and_answer(req);
  } else if (pthread_create(&thread, NULL, wait_and_answer, req) == 0) {
    pthread_detach(thread);
  }
}
int main(int argc, char** argv) {
  static const struct fuse_lowlevel_ops operations = {.lookup = lookup, .getattr = getattr, .open = do_open};
  if (argc != 4) return 2;
  deferred = strcmp(argv[3], "deferred") == 0;
  struct fuse_args arguments = FUSE_ARGS_INIT(0, NULL);
  fuse_opt_add_arg(&arguments, argv[0]);
  if (strcmp(argv[2], "io_uring") == 0) fuse_opt_add_arg(&arguments, "-oio_uring");
  struct fuse_session* session = fuse_session_new(&arguments, &operations, sizeof operations, NULL);
  if (session == NULL || fuse_session_mount(session, argv[1]) != 0) return 1;
  struct fuse_loop_config* config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_max_threads(config, 10);
  const int error = fuse_session_loop_mt(session, config);
  fuse_session_destroy(session);
  return error != 0;
}
C
gcc -O1 -o waits waits.c -Iinstalled/include/fuse3 -Linstalled/lib -lfuse3 -lpthread "-Wl,-rpath,$folder/installed/lib"

# seen WAY HOW: the way of the request, whether its handler saw the interrupt, and whether another open was answered within two seconds.
seen() {
  ./waits mnt "$1" "$2" >said &
  local daemon=$! begun quick
  until mountpoint -q mnt; do sleep 0.05; done
  taskset -c 0 timeout -s INT 1 cat mnt/slow 2>/dev/null &
  sleep 0.5
  begun=$EPOCHREALTIME
  taskset -c 0 cat mnt/quick 2>/dev/null || true
  quick=$(awk "BEGIN { print $EPOCHREALTIME - $begun < 2 ? \"served\" : \"held-up\" }")
  until [ -s said ]; do sleep 0.1; done
  umount mnt
  wait "$daemon" || true
  echo "$(cat said) $quick"
}

failures=0
expect() { # expect WAY HOW WHAT
  local found
  found=$(seen "$1" "$2")
  echo "$1, $2: $found"
  [ "$found" = "$3" ] || { echo "  this has changed: it was $3"; failures=1; }
}
expect device inline "device interrupted served"
expect device deferred "device interrupted served"
expect io_uring inline "io_uring not-interrupted held-up"
expect io_uring deferred "io_uring not-interrupted served"
exit "$failures"
