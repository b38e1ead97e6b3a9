// The studies there are. To add one: a file in studies/ with a function that returns it, declared
// below, and called in studies.cpp.
#pragma once

#include <span>

#include "study/study.h"

namespace trainyard {

std::span<const Study> studies();

Study fitgpp_study();
Study xion_study();
Study dally_study();
Study lwf_study();
Study jpas_study();
Study market_study();
Study trainyard_study();
Study forecast_study();

}  // namespace trainyard
