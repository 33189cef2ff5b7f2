#include "umount_dedupfs.h"

#include <iostream>

int main(int argc, char** argv) {
  return dedupfs::tools::run_umount(dedupfs::tools::arguments_of(argc, argv), std::cout, std::cerr);
}
