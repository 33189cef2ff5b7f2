#include "dedupfs.h"

#include <iostream>

#include "mount/daemon/daemon.h"

int main(int argc, char** argv) {
  using namespace dedupfs::tools;  // NOLINT(google-build-using-namespace): a main
  return run_dedupfs(program_of(argc, argv), arguments_of(argc, argv), std::cout, std::cerr, dedupfs::run_mount);
}
