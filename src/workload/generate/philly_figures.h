// Figures of the Philly log that philly-like draws from. Source: the public trace of Microsoft's
// Philly clusters (github.com/msr-fiddle/philly-traces; Jeon et al., "Analysis of Large-Scale
// Multi-Tenant GPU Clusters for DNN Training Workloads", USENIX ATC 2019), as a table of 82,247
// jobs submitted from 4 September to 22 December 2017.
//
// A class of demands has 28 points of its distribution of durations: `share` of its jobs last at
// most `seconds`. The points were chosen one by one where log-linear interpolation between those
// already there was furthest from the log, and the tail was given points of its own, since two
// thirds of the GPU time are in 1% of the jobs.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace trainyard::philly {

struct DurationPoint {
  double share;
  double seconds;
};

// 1 GPU: 76,627 jobs.
inline constexpr std::array kDurations1 = std::to_array<DurationPoint>(
    {{0, 0.5},          {0.004, 18},       {0.0232, 43},    {0.0753, 58},    {0.1078, 63},
     {0.1872, 73},      {0.217, 81},       {0.3685, 505},   {0.4492, 851},   {0.5433, 1414},
     {0.5832, 1583},    {0.6108, 1825},    {0.6621, 2128},  {0.6851, 2370},  {0.7654, 2840},
     {0.8373, 4985},    {0.8855, 6234},    {0.9, 8512},     {0.927, 11440},  {0.95, 19137},
     {0.98, 68259},     {0.99, 135404},    {0.995, 266986}, {0.998, 503281}, {0.999, 868927},
     {0.9995, 1449409}, {0.9998, 2167531}, {1, 3256045}});

// 2 GPUs: 1,818 jobs.
inline constexpr std::array kDurations2 = std::to_array<DurationPoint>(
    {{0, 1.5},          {0.0088, 4},       {0.0259, 7},      {0.0561, 9},      {0.1007, 11},
     {0.1634, 13},      {0.2382, 15},      {0.2849, 16},     {0.5182, 21},     {0.5743, 23},
     {0.6623, 28},      {0.7035, 33},      {0.7277, 38},     {0.7437, 50},     {0.7525, 90},
     {0.791, 117},      {0.8069, 183},     {0.8377, 13290},  {0.8438, 19263},  {0.8669, 28327},
     {0.9004, 73625},   {0.9505, 197392},  {0.9802, 343945}, {0.9901, 526030}, {0.995, 810065},
     {0.9983, 1399002}, {0.9994, 1521148}, {1, 2582803}});

// 4 GPUs: 1,870 jobs.
inline constexpr std::array kDurations4 = std::to_array<DurationPoint>(
    {{0, 2.5},          {0.0064, 26},      {0.0219, 49},     {0.0834, 119},    {0.1701, 210},
     {0.2193, 564},     {0.2604, 839},     {0.2861, 1248},   {0.3406, 4275},   {0.3642, 4744},
     {0.3963, 6813},    {0.4326, 12219},   {0.4711, 14416},  {0.5166, 19280},  {0.6652, 64472},
     {0.6968, 78103},   {0.7888, 100151},  {0.8262, 122456}, {0.8706, 175627}, {0.9, 184426},
     {0.9267, 197563},  {0.9503, 274339},  {0.9802, 536225}, {0.9904, 908661}, {0.9952, 1213031},
     {0.9984, 2059338}, {0.9995, 2641566}, {1, 2750674}});

// 8 GPUs: 1,643 jobs.
inline constexpr std::array kDurations8 = std::to_array<DurationPoint>(
    {{0, 0.5},          {0.0085, 29},      {0.0207, 68},     {0.0463, 84},      {0.0566, 143},
     {0.1077, 232},     {0.1376, 406},     {0.1881, 618},    {0.2416, 1355},    {0.2769, 3158},
     {0.3634, 7855},    {0.3816, 11097},   {0.4437, 15206},  {0.4687, 20338},   {0.5064, 24280},
     {0.5612, 47194},   {0.6458, 104108},  {0.7292, 164891}, {0.8101, 206942},  {0.8679, 261550},
     {0.9002, 352409},  {0.9501, 525631},  {0.9805, 807057}, {0.9903, 1066894}, {0.9951, 2010727},
     {0.9982, 2240194}, {0.9994, 2658784}, {1, 4628226}});

// 12 GPUs and more: 289 jobs.
inline constexpr std::array kDurationsMore = std::to_array<DurationPoint>(
    {{0, 0.5},          {0.0381, 30},      {0.09, 51},       {0.1557, 259},    {0.2388, 437},
     {0.2837, 812},     {0.3114, 930},     {0.3183, 1179},   {0.3495, 1374},   {0.3668, 2382},
     {0.4048, 3173},    {0.4394, 7673},    {0.4671, 12882},  {0.4879, 15047},  {0.5363, 41713},
     {0.5882, 52548},   {0.6505, 58735},   {0.7024, 73728},  {0.7958, 155235}, {0.8235, 163599},
     {0.872, 198333},   {0.9031, 252560},  {0.9412, 353444}, {0.9516, 446126}, {0.9827, 622377},
     {0.9931, 1152387}, {0.9965, 1369876}, {1, 1710643}});

struct Demand {
  std::int32_t gpus;
  double jobs;  // of the log with this demand
  std::span<const DurationPoint> durations;
};

inline constexpr std::array kDemands{
    Demand{1, 76627, kDurations1},  Demand{2, 1818, kDurations2},   Demand{4, 1870, kDurations4},
    Demand{8, 1643, kDurations8},   Demand{12, 7, kDurationsMore},  Demand{16, 199, kDurationsMore},
    Demand{24, 7, kDurationsMore},  Demand{32, 67, kDurationsMore}, Demand{64, 6, kDurationsMore},
    Demand{128, 3, kDurationsMore},
};

}  // namespace trainyard::philly
