/*
 * ternlease for C++17: a header-only layer over ternlease.h.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 *     #include <ternlease.hpp>
 *     using namespace std::chrono_literals;
 *
 *     auto manager = tern::manager::open("process:").value();
 *     auto lease = manager.claim("trainer").of({"gpu0", "gpu1"}).ttl(60s).wait(5s).value();
 *     while (work_to_do() && lease.renew())
 *         work_for_ten_seconds();
 *     // The lease is released at the end of its scope.
 *
 * What holds for all of it:
 *
 * - Every call that can fail returns a tern::result: a value or a tern::error. Test it, or call .value(), which throws
 *   a tern::exception. Each caller chooses, at each call. Busy, timeout and the like come as errors too; their status
 *   is positive. Only memory that runs out throws by itself.
 * - Works with -fno-exceptions and -fno-rtti: then .value() of an error prints it and aborts. Compile all units of a
 *   program one way.
 * - A tern::manager is a handle that can be copied. The table behind it is closed when the last manager, lease and
 *   ticket of it is gone, so no lease or ticket can outlive its table. Readers of events and callables that watch a
 *   lease do not keep it open.
 * - Leases, tickets, readers and results are values like those of the standard library: move-only where they own
 *   something, and for one thread at a time. A manager may be used by any number of threads at once.
 * - What was moved from, or made without arguments, is empty: its calls fail with tern::status::null.
 * - Text is taken as std::string_view in UTF-8 and not kept beyond the call; it is returned as std::string.
 * - capi() of a class gives what the functions of ternlease.h take.
 * - A tern::pool is such a handle, too, on devices. It is closed when the last pool and the last tern::gpu_lease of it
 *   is gone. A tern::machine is one on figures: what this machine can do, and what follows for a tern::task.
 * - Include this file; those in ternlease/ are its parts, one class each. Only ternlease_cuda.hpp is for itself: it
 *   needs CUDA's headers, and tells CUDA which devices a lease has.
 */
#ifndef TERNLEASE_HPP
#define TERNLEASE_HPP

#include "ternlease/advice.hpp"
#include "ternlease/claim.hpp"
#include "ternlease/cost.hpp"
#include "ternlease/deadlock.hpp"
#include "ternlease/device.hpp"
#include "ternlease/enums.hpp"
#include "ternlease/estimate.hpp"
#include "ternlease/events.hpp"
#include "ternlease/forecast.hpp"
#include "ternlease/gpu_claim.hpp"
#include "ternlease/gpu_lease.hpp"
#include "ternlease/host.hpp"
#include "ternlease/info.hpp"
#include "ternlease/lease.hpp"
#include "ternlease/machine.hpp"
#include "ternlease/machine_info.hpp"
#include "ternlease/manager.hpp"
#include "ternlease/options.hpp"
#include "ternlease/pool.hpp"
#include "ternlease/rate.hpp"
#include "ternlease/result.hpp"
#include "ternlease/route.hpp"
#include "ternlease/speed.hpp"
#include "ternlease/task.hpp"
#include "ternlease/ticket.hpp"
#include "ternlease/time.hpp"
#include "ternlease/verdict.hpp"
#include "ternlease/version.hpp"
#include "ternlease/watch.hpp"

#endif
