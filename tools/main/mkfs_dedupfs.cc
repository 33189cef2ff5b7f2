#include "mkfs_dedupfs.h"

#include <iostream>

int main(int argc, char** argv) {
  return dedupfs::tools::run_mkfs(dedupfs::tools::arguments_of(argc, argv), std::cout, std::cerr);
}
