// What users write into a job's comment, and what Slurm says of GPUs. Whatever is read as a mark is
// written as one that says the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "live/engine/slurm/comment.h"
#include "live/engine/slurm/mark.h"
#include "live/engine/slurm/tres.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  trainyard::JobSpec spec;
  (void)trainyard::read_slurm_comment(text, spec);
  (void)trainyard::read_slurm_comment("trainyard:" + std::string(text), spec);
  const std::string told = "trainyard: told0=" + std::string(text);
  if (const auto progress = trainyard::told_in_comment(told, 0))
    if (progress->step < 0 || progress->total < 0) std::abort();
  (void)trainyard::told_in_comment(text, 7);
  (void)trainyard::parse_tres_gpus(text);
  (void)trainyard::parse_gpu_numbers(text);
  if (const auto mark = trainyard::parse_mark(text))
    if (trainyard::parse_mark(trainyard::format(*mark)) != mark) std::abort();
  return 0;
}
