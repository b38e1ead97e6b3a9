// trainyard_bench [FILTER]: measures, and prints one table. Figures, not tests: it ends well also
// when a target is missed. FILTER is a regular expression over the names of groups of figures.
#include <sched.h>

#include "bench.h"

namespace {

/// On the last core we may use: the first is where most systems serve interrupts.
void stay_on_one_core() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  for (int core = CPU_SETSIZE; core-- > 0;) {
    if (!CPU_ISSET(core, &allowed)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace trainyard::bench;
  if (argc > 2) {
    std::fprintf(stderr, "trainyard_bench: at most one filter, such as replay or decision/srtf\n");
    return 2;
  }
  stay_on_one_core();
  try {
    Table table(argc == 2 ? argv[1] : "");
    measure_replays(table);
    measure_decisions(table);
    measure_victims(table);
    measure_benefit(table);
    measure_gangs(table);
    measure_curve_fits(table);
    measure_network(table);
    measure_market(table);
    measure_forecasts(table);
    measure_reading(table);
    measure_live(table);
    table.print();
  } catch (const std::regex_error&) {
    std::fprintf(stderr, "trainyard_bench: '%s' is not a regular expression\n", argv[1]);
    return 2;
  }
}
