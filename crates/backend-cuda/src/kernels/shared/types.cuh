// Integers of known width, without the standard library's headers.
#pragma once

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;

static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8, "widths differ");

constexpr u32 kWarpSize = 32;
constexpr u32 kWarpgroupSize = 128;
constexpr u32 kWholeWarp = 0xffffffffu;
