// Checks what programs print with --json against docs/schemas.
//
// Threads: any.
#pragma once

#include <array>
#include <cstdio>
#include <fstream>
#include <string>

#include "support/temp_dir.h"

namespace dedupfs {

// What is wrong with the documents in a text, a line for each finding; empty: nothing. DEDUPFS_TESTS_DIR is the folder tests/.
inline std::string contract_findings(const std::string& text) {
  const TempDir folder;
  const std::string file = folder.path() / "documents";
  std::ofstream(file) << text;
  const std::string command = "/usr/bin/python3 -B " DEDUPFS_TESTS_DIR "/json_contract.py '" + file + "' 2>&1";
  std::FILE* const output = ::popen(command.c_str(), "r");
  if (output == nullptr) return "no program could be started";
  std::string findings;
  std::array<char, 4096> part{};
  while (const std::size_t size = std::fread(part.data(), 1, part.size(), output)) findings.append(part.data(), size);
  const int status = ::pclose(output);
  return status != 0 && findings.empty() ? "json_contract.py failed" : findings;
}

}  // namespace dedupfs
