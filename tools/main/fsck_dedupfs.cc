#include "fsck_dedupfs.h"

#include <iostream>

int main(int argc, char** argv) {
  return dedupfs::tools::run_fsck(dedupfs::tools::arguments_of(argc, argv), std::cout, std::cerr,
                                  dedupfs::tools::own_process());
}
