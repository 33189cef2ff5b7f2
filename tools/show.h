// The end of a run that has one result: a document with --json, lines for people without.
//
// Threads: one.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "console.h"
#include "mount/control/control_socket.h"

namespace dedupfs::tools {

// `schema` as in Console::print(). `screen` makes the lines of the document. An answer of a daemon that has another form is an error. Gives the exit code.
template <class Screen>
int show(const Console& console, std::string_view schema, nlohmann::json document, int exit_code,
         const Screen& screen) {
  if (console.as_json()) {
    console.print(schema, std::move(document));
    return console.end(exit_code);
  }
  const auto text = read_answer([&] { return screen(document); });
  if (!text) return console.fail(text.error());
  console.out() << *text;
  return console.end(exit_code);
}

}  // namespace dedupfs::tools
