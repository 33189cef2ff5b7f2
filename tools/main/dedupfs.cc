#include "dedupfs.h"

#include <iostream>
#include <utility>

#include "base/inherited_files.h"
#include "mount/daemon/daemon.h"

int main(int argc, char** argv) {
  using namespace dedupfs::tools;  // NOLINT(google-build-using-namespace): a main
  const std::vector<std::string> arguments = arguments_of(argc, argv);
  const auto inherited = dedupfs::InheritedFiles::now();
  const auto mount = [&](dedupfs::MountRequest request) {
    request.inherited = inherited;
    return dedupfs::run_mount(request);
  };
  return run_dedupfs(program_of(argc, argv), arguments, std::cout, std::cerr, mount);
}
