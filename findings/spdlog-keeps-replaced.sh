#!/usr/bin/env bash
# spdlog 1.15.2 (Debian 13) keeps a default logger that was replaced, under its name, and 1.10.0 (Debian 12) does not. So a program that gives its
# default logger a name, and later makes the next one of that name by spdlog's own functions, works with 1.10 and ends by an exception with 1.15.
# Seen: "1.10.0: kept no, next ok" and "1.15.2: kept yes, next logger with name 'program' already exists".
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
command -v c++ >/dev/null || cannot "no C++ compiler"

cat >"$work/program.cc" <<'CODE'
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <memory>

int main() {
  std::printf("%d.%d.%d: ", SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH);
  const auto with_no_output = [](const char* name) {
    return std::make_shared<spdlog::logger>(name, std::make_shared<spdlog::sinks::null_sink_mt>());
  };
  spdlog::set_default_logger(with_no_output("program"));
  spdlog::set_default_logger(with_no_output("other"));
  std::printf("kept %s, next ", spdlog::get("program") ? "yes" : "no");
  try {
    spdlog::set_default_logger(spdlog::null_logger_mt("program"));
    std::puts("ok");
  } catch (const spdlog::spdlog_ex& thrown) {
    std::puts(thrown.what());
  }
}
CODE

# seen_with NAME SPDLOG SUM FMT SUM: their files in Debian's archive, of the headers only.
seen_with() {
  local name=$1 file
  shift
  while [ $# -gt 0 ]; do
    file=$work/${1##*/}
    curl -sSf -o "$file" "http://deb.debian.org/debian/pool/main/$1" 2>"$work/said" || cannot "no $1: $(cat "$work/said")"
    sha256sum --quiet --check - <<<"$2  $file" || cannot "$1 is another file"
    dpkg-deb --extract "$file" "$root-$name"
    shift 2
  done
  c++ -std=c++17 -DSPDLOG_FMT_EXTERNAL -DFMT_HEADER_ONLY -isystem "$root-$name/usr/include" -pthread "$work/program.cc" -o "$work/program-$name"
  "$work/program-$name"
}

older=$(seen_with bookworm \
  s/spdlog/libspdlog-dev_1.10.0%2bds-0.4_amd64.deb 4e19d647fe9bc9ec6a1fae81be00a69b1796b41660e8a7a4cf567264b463dcfb \
  f/fmtlib/libfmt-dev_9.1.0%2bds1-2_amd64.deb c8fa00dd0269e6eda9fd06668df3d720de4b5a1f647dcd3c6e0ba63f0cbf2150)
newer=$(seen_with trixie \
  s/spdlog/libspdlog-dev_1.15.2%2bds-2_amd64.deb 8ec96f30a01830b0e0c2e5022d06e6bd35453795279630dac64f574d7d277523 \
  f/fmtlib/libfmt-dev_10.1.1%2bds1-4_amd64.deb c084df80e2842bc57157e8def529f4ca6bc8743d005550b56a5ef96c9bc92f0f)
expect "a logger that was replaced" "1.10.0: kept no, next ok" "$older"
expect "a logger that was replaced" "1.15.2: kept yes, next logger with name 'program' already exists" "$newer"
