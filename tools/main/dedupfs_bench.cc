#include <iostream>

#include "bench/run.h"
#include "console.h"

int main(int argc, char** argv) {
  return dedupfs::bench::run_bench(dedupfs::tools::arguments_of(argc, argv), std::cout, std::cerr);
}
