// Entry points: kernels that are launched by their names.
//
// With ONLY only those are compiled for whose NAME there is a macro ONLY_NAME, defined as `, extern "C"`. The others
// are then templates that nothing instantiates. Who needs one of 26 waits for one.
#pragma once

#ifdef ONLY
#define SECOND_OF(FIRST, SECOND, ...) SECOND
#define LINKAGE_OF(...) SECOND_OF(__VA_ARGS__, )
#define LINKAGE(NAME) LINKAGE_OF(ONLY_##NAME, template <int>)
#else
#define LINKAGE(NAME) extern "C"
#endif

// ENTRY_POINT(name, launch bounds)(parameters) { ... }
#define ENTRY_POINT(NAME, ...) LINKAGE(NAME) __global__ void __launch_bounds__(__VA_ARGS__) NAME
