#include "dedupfs_key.h"

#include <iostream>

int main(int argc, char** argv) {
  return dedupfs::tools::run_key(dedupfs::tools::arguments_of(argc, argv), std::cout, std::cerr);
}
