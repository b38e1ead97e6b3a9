// The formats we read, one file each; docs/workloads.md says what becomes of every field,
// and docs/extending.md how to add one.
// recognise_x looks at the first line or job only, and no two say yes to the same text.
#pragma once

#include <string_view>

#include "base/error.h"
#include "workload/import/fields.h"
#include "workload/import/import.h"

namespace trainyard {

bool recognise_native(std::string_view text);
bool recognise_philly_json(std::string_view text);
bool recognise_philly_csv(std::string_view text);
bool recognise_helios(std::string_view text);
bool recognise_pai2020(std::string_view text);
bool recognise_openb(std::string_view text);
bool recognise_tiresias(std::string_view text);
bool recognise_swf(std::string_view text);
bool recognise_sacct(std::string_view text);
bool recognise_dally_json(std::string_view text);
bool recognise_muri(std::string_view text);

Expected<Import> parse_native(const Source& source);
Expected<Import> parse_philly_json(const Source& source);
Expected<Import> parse_philly_csv(const Source& source);
Expected<Import> parse_helios(const Source& source);
Expected<Import> parse_pai2020(const Source& source);
Expected<Import> parse_openb(const Source& source);
Expected<Import> parse_tiresias(const Source& source);
Expected<Import> parse_swf(const Source& source);
Expected<Import> parse_sacct(const Source& source);
Expected<Import> parse_dally_json(const Source& source);
Expected<Import> parse_muri(const Source& source);

}  // namespace trainyard
