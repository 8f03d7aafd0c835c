/*
 * ternlease for CUDA: which devices a lease means in this process, and a scope in which one of them is current.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 *     #include <ternlease_cuda.hpp>
 *     using namespace std::chrono_literals;
 *
 *     auto pool = tern::pool::open().value();
 *     auto gpu = pool.claim().vendor(tern::vendor::nvidia).ttl(60s).keep_alive().wait(5s).value();
 *     {
 *         const auto guard = tern::cuda::device_guard::enter(gpu).value();
 *         train(); // on the leased device, whatever its number is here
 *     }
 *
 * What holds for all of it, beside what ternlease.hpp says:
 *
 * - A header of its own, as it needs CUDA's: it is compiled against the CUDA of the program. The library itself never
 *   touches CUDA.
 * - A lease names devices by what never changes. CUDA's ordinals are counted anew in each process, after
 *   CUDA_VISIBLE_DEVICES: a device is found by its PCI address, and a part of one by its UUID.
 * - Only tern::cuda::device_guard makes a context. A process may have several leases, and a guard for each.
 * - What CUDA refuses is a tern::error, with CUDA's own number as its driver_code().
 */
#ifndef TERNLEASE_CUDA_HPP
#define TERNLEASE_CUDA_HPP

#include "ternlease.hpp"

#include "ternlease/cuda_device_guard.hpp"
#include "ternlease/cuda_ordinal.hpp"

#endif
