#include "dedupfs_sync.h"

#include <iostream>

int main(int argc, char** argv) {
  return dedupfs::tools::run_sync(dedupfs::tools::arguments_of(argc, argv), std::cout, std::cerr);
}
