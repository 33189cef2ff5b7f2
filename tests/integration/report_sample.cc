// Prints the page of dedupfs-report for made-up facts: a history of a hundred days, which no test has the time to make, and hostile
// names everywhere.
#include <iostream>

#include "report/page.h"
#include "tools/report/sample_facts.h"

int main() {
  using namespace dedupfs::tools;
  ReportFacts facts = sample_facts();
  facts.volume = kHostileName;
  facts.snapshots[0]["name"] = kHostileName;
  std::cout << report_page(facts);
}
