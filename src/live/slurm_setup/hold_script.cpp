#include "live/slurm_setup/hold_script.h"

#include <fmt/format.h>

namespace trainyard {
namespace {

/// Behind the two settings that come of the arguments.
constexpr std::string_view kBody = R"lua(
-- What may stand behind "trainyard:" in --comment.
local known = { class = true, grace = true, model = true, signal = true, time = true,
                measured_on = true }

local function refuse(reason)
  slurm.log_user("partition " .. steered .. ": " .. reason)
  return slurm.ERROR
end

-- Whether a job goes to the partition, and whether to others as well.
local function goes_there(wanted, part_list)
  if wanted == nil or wanted == "" then
    for name, partition in pairs(part_list) do
      if partition.flag_default == 1 then return name == steered, false end
    end
    return false, false
  end
  local here, elsewhere = false, false
  for name in string.gmatch(wanted, "[^,]+") do
    if name == steered then here = true else elsewhere = true end
  end
  return here, elsewhere
end

local function asks_for_gpus(job)
  for _, field in ipairs({ "tres_per_node", "tres_per_job", "tres_per_task", "tres_per_socket" }) do
    if job[field] ~= nil and string.find(job[field], "gpu") then return true end
  end
  return false
end

-- Why Trainyard could never start the job; nil if it can.
local function misfit(job)
  if job.script == nil then return "takes jobs from sbatch; salloc and srun have to wait in another" end
  if job.priority == 0 then return "Trainyard starts jobs when there is room: leave out --hold" end
  if job.requeue == 0 then return "a job may be paused and run again: leave out --no-requeue" end
  if job.req_nodes ~= nil or job.exc_nodes ~= nil then
    return "Trainyard chooses the nodes: leave out --nodelist and --exclude" end
  if not asks_for_gpus(job) then return "is for jobs with GPUs: ask for some (--gpus-per-node=1)" end
  return nil
end

-- The words behind "trainyard:", by their keys; or nil and what is wrong with them.
local function read_comment(comment)
  local found = {}
  local words = string.match(comment or "", "^%s*trainyard:(.*)$")
  for word in string.gmatch(words or "", "%S+") do
    local key, value = string.match(word, "^([%w_]+)=(.+)$")
    if key == nil or not known[key] then
      return nil, "the comment has '" .. word ..
        "'; Trainyard knows class=, grace=, model=, signal=, time= and measured_on="
    end
    if key == "class" and value ~= "trial" and value ~= "batch" then
      return nil, "the comment has '" .. word .. "'; a class is trial or batch"
    end
    found[key] = value
  end
  return found
end

-- What the last #SBATCH line with --signal says: whether to the shell alone, the name, the seconds.
local function signal_of(script)
  local found = nil
  for line in string.gmatch(script, "[^\n]+") do
    if string.match(line, "^#SBATCH%s") then
      found = string.match(line, "%s%-%-signal[=%s]%s*(%S+)") or found
    elseif not string.match(line, "^#") and string.match(line, "%S") then
      break
    end
  end
  if found == nil then return nil end
  local flags, name, seconds = string.match(found, "^([BR]*):?(%w+)@?(%d*)$")
  if name == nil then return nil end
  return string.find(flags, "B") ~= nil, name, tonumber(seconds)
end

-- Nothing else tells Trainyard of --signal: what it says goes into the comment. On the command line of
-- sbatch it cannot be seen here either, and has to be written into the comment by who submits.
local function note_signal(job, found)
  local to_shell, signal, seconds = signal_of(job.script)
  if signal == nil then return end
  if string.match(job.comment or "", "^%s*trainyard:") == nil then
    if job.comment ~= nil and job.comment ~= "" then return end  -- somebody else's
    job.comment = "trainyard:"
  end
  if found.signal == nil then
    job.comment = job.comment .. " signal=" .. (to_shell and "B:" or "") .. signal
  end
  if seconds == nil then return end
  if found.grace == nil then
    job.comment = job.comment .. " grace=" .. seconds
  elseif tonumber(found.grace) ~= nil and tonumber(found.grace) < seconds then
    slurm.log_user("partition " .. steered .. ": --signal asks for " .. seconds ..
      " s to save, but grace=" .. found.grace .. " gives a paused job less")
  end
end

function trainyard_submit(job, part_list, uid)
  local here, elsewhere = goes_there(job.partition, part_list)
  if not here then return slurm.SUCCESS end
  if operators[uid] and job.priority == 0 then return slurm.SUCCESS end  -- Trainyard's own, for a user
  if elsewhere then return refuse("a job goes there alone, or not at all: name one partition") end
  local reason = misfit(job)
  if reason ~= nil then return refuse(reason) end
  local found, wrong = read_comment(job.comment)
  if found == nil then return refuse(wrong) end
  note_signal(job, found)
  job.priority = 0  -- held
  job.admin_comment = held_mark
  return slurm.SUCCESS
end

-- Slurm gives users no text from here, so that a refusal reads "Access/permission denied".
function trainyard_modify(job, record, part_list, uid)
  if operators[uid] then return slurm.SUCCESS end
  local moves = job.partition ~= nil and job.partition ~= record.partition
  if record.partition ~= steered and not (moves and goes_there(job.partition, part_list)) then
    return slurm.SUCCESS
  end
  local held_or_released = job.priority ~= nil and job.priority ~= slurm.NO_VAL
  local placed = job.req_nodes ~= nil or job.exc_nodes ~= nil
  local stays_down = job.requeue == 0  -- it could not be paused any more
  if moves or held_or_released or placed or stays_down then return slurm.ESLURM_ACCESS_DENIED end
  return slurm.SUCCESS
end

slurm_job_submit = trainyard_submit
slurm_job_modify = trainyard_modify
return slurm.SUCCESS
)lua";

}  // namespace

std::string hold_script(std::string_view partition, const std::vector<uid_t>& operators) {
  std::string allowed = "[0] = true";
  for (const uid_t uid : operators)
    if (uid != 0) allowed += fmt::format(", [{}] = true", uid);
  return fmt::format(
      "{} for partition {}.\n"
      "-- Jobs of that partition are held until Trainyard starts them. A site that has a\n"
      "-- job_submit.lua already calls trainyard_submit and trainyard_modify from its own "
      "functions.\n"
      "local steered = \"{}\"\n"
      "local operators = {{ {} }}  -- who may hold, release, place and move jobs\n"
      "local held_mark = \"{}\"  -- what is held otherwise is its user's own business\n{}",
      kHoldScriptHead, partition, partition, allowed, kHeldMark, kBody);
}

}  // namespace trainyard
