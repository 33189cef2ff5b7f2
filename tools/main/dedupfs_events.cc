#include "dedupfs_events.h"

#include <iostream>

int main(int argc, char** argv) {
  return dedupfs::tools::run_events(dedupfs::tools::arguments_of(argc, argv), std::cout, std::cerr);
}
