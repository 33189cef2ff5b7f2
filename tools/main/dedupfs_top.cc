#include "dedupfs_top.h"

#include <iostream>

int main(int argc, char** argv) {
  return dedupfs::tools::run_top(dedupfs::tools::arguments_of(argc, argv), std::cout, std::cerr,
                                 dedupfs::tools::own_process(), dedupfs::tools::own_terminal());
}
