// dedupfs-bench(1): measures chunkers and resemblance detection.
#include <iostream>

#include "bench/run.h"

int main(int argc, char** argv) {
  return dedupfs::bench::run(argc, argv, std::cout, std::cerr);
}
