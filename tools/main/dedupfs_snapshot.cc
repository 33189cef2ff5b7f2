#include "dedupfs_snapshot.h"

#include <iostream>

int main(int argc, char** argv) {
  return dedupfs::tools::run_snapshot(dedupfs::tools::arguments_of(argc, argv), std::cout, std::cerr,
                                      dedupfs::tools::own_process());
}
