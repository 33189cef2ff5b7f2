#include "report/page.h"

#include <fmt/format.h>

#include "base/size.h"
#include "fs/format/local_time.h"
#include "report/html.h"
#include "report/page_style.h"
#include "report/sections.h"

namespace dedupfs::tools {
namespace {

std::string figure(const std::string& value, const std::string& meaning) {
  return fmt::format("<div><b>{}</b><span>{}</span></div>\n", html(value), html(meaning));
}

std::string figures_of(const ReportFacts& facts) {
  const nlohmann::json& statistics = facts.statistics;
  const auto bytes = [&](const char* key) { return human_size(statistics.at(key).get<std::uint64_t>()); };
  std::string figures =
      figure(bytes("logical_bytes"), fmt::format("in {} files", statistics.at("files").get<std::uint64_t>()));
  figures += figure(bytes("disk_bytes"), "on disk");
  figures += figure(fmt::format("{:.1f} : 1", statistics.at("total_ratio").get<double>()),
                    fmt::format("{:.1f} % saved", statistics.at("savings_percent").get<double>()));
  if (const auto full = full_text(facts)) figures += figure(*full, "the disk is full");
  return figures;
}

}  // namespace

std::string report_page(const ReportFacts& facts) {
  const auto label = facts.statistics.at("label").get<std::string>();
  const std::string title = label.empty() ? facts.volume : label;
  const Health health = health_of(facts);
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
             "<title>{0}: dedupfs report</title>\n<style>{1}</style>\n</head>\n<body>\n<main>\n"
             "<header>\n<h1><bdi>{0}</bdi></h1>\n<p class=\"quiet\"><bdi>{2}</bdi>, {3}</p>\n"
             "<p class=\"state {4}\">{5}</p>\n</header>\n<div class=\"figures\">\n{6}</div>\n",
             html(title), kPageStyle, html(facts.volume), html(minute_text(facts.unix_seconds)), health.css_class,
             html(health.text), figures_of(facts)) +
         space_section(facts) + growth_section(facts) + snapshots_section(facts) + folders_section(facts) +
         restore_section(facts) + health_section(facts) +
         "<footer>Made by dedupfs-report. This page loads nothing from "
         "elsewhere.</footer>\n</main>\n</body>\n</html>\n";
}

}  // namespace dedupfs::tools
