package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

var poolVerbs = verbs{
	"capacity":    (*driver).capacity,
	"pending":     (*driver).pending,
	"try":         (*driver).try,
	"gpu":         (*driver).gpu,
	"gpu-enqueue": (*driver).gpuEnqueue,
	"expected":    (*driver).expected,
	"gpu-release": (*driver).gpuRelease,
	"devices":     (*driver).devices,
	"env":         (*driver).env,
	"device":      (*driver).device,
	"snapshot":    (*driver).snapshot,
}

func (d *driver) openPool(w *words) string {
	devices, _ := w.option("devices")
	options := ternlease.PoolOptions{Devices: devices, Slots: w.optionNumber("slots")}
	if w.bad {
		return nonsense
	}
	pool, err := d.manager.Pool(options)
	if err == nil {
		d.pool.Close()
		d.pool = pool
	}
	return status(err)
}

func (d *driver) gpus(label string) ternlease.GPULease { return d.pool.Lease(d.labels.leases[label]) }

func (d *driver) capacity(*words) string {
	capacity, err := d.pool.Capacity()
	return okay(err, "%d", capacity)
}

func (d *driver) pending(*words) string {
	pending, err := d.pool.PendingClaimers()
	return okay(err, "%d", pending)
}

func (d *driver) try(w *words) string {
	label := w.next()
	if w.bad {
		return nonsense
	}
	lease, err := d.pool.TryOne()
	return d.got(label, lease, err)
}

func (d *driver) got(label string, lease ternlease.GPULease, err error) string {
	if err == nil {
		d.labels.giveLease(label, lease.ID())
	}
	return status(err)
}

// askedOf is the claim for devices that a step describes, and whether it waits.
func (d *driver) askedOf(w *words) (claim ternlease.GPUClaim, waits bool) {
	holder, _ := w.option("holder")
	claim = ternlease.GPUClaim{
		Holder:       holder,
		Count:        w.optionNumber("count"),
		MinMemoryMiB: w.optionNumber("min-memory"),
		Slots:        w.optionNumber("slots"),
		MemoryMiB:    w.optionNumber("memory"),
		TTL:          w.optionSpan("ttl"),
		MaxWait:      w.optionSpan("wait"),
		Priority:     w.optionSigned("priority"),
		Notice:       w.optionSpan("notice"),
		Spare:        w.has("spare"),
		Preemptible:  w.has("preemptible"),
		Preempt:      w.has("preempt"),
	}
	if devices, found := w.option("devices"); found {
		claim.Devices = strings.Split(devices, ",")
	}
	if vendor, found := w.option("vendor"); found {
		for claim.Vendor = ternlease.VendorNVIDIA; claim.Vendor.String() != vendor; claim.Vendor++ {
			if claim.Vendor > ternlease.VendorOther {
				w.bad = true
				break
			}
		}
	}
	if parent, found := w.option("parent"); found {
		claim.Parent = d.labels.leases[parent]
	}
	return claim, claim.MaxWait != 0
}

func (d *driver) gpu(w *words) string {
	label := w.next()
	claim, waits := d.askedOf(w)
	if w.bad {
		return nonsense
	}
	if waits {
		lease, err := d.pool.Claim(context.Background(), claim)
		return d.got(label, lease, err)
	}
	lease, err := d.pool.TryClaim(claim)
	return d.got(label, lease, err)
}

func (d *driver) gpuEnqueue(w *words) string {
	label := w.next()
	claim, waits := d.askedOf(w)
	if w.bad {
		return nonsense
	}
	if !waits {
		lease, err := d.pool.TryClaim(claim)
		return d.got(label, lease, err)
	}
	ticket, err := d.pool.Enqueue(claim)
	if err != nil {
		return status(err)
	}
	return d.enqueued(label, ticket.Ticket, nil)
}

func (d *driver) expected(w *words) string {
	claim, _ := d.askedOf(w)
	if w.bad {
		return nonsense
	}
	wait, err := d.pool.ExpectedWait(claim)
	if wait.Kind == ternlease.ExpectedWaitAbout {
		return okay(err, "about %d", wait.Time.Nanoseconds())
	}
	return okay(err, "%s", strings.ReplaceAll(wait.Kind.String(), " ", "-"))
}

func (d *driver) gpuRelease(w *words) string {
	label := w.next()
	if w.bad {
		return nonsense
	}
	return status(d.gpus(label).Release())
}

func (d *driver) devices(w *words) string {
	label := w.next()
	if w.bad {
		return nonsense
	}
	places, err := d.gpus(label).Places()
	return list(err, each(places, strconv.Itoa))
}

func (d *driver) env(w *words) string {
	label := w.next()
	if w.bad {
		return nonsense
	}
	env, err := d.gpus(label).Env()
	if w.has("uuid") {
		env, err = d.gpus(label).EnvByUUID()
	}
	return list(err, env)
}

func (d *driver) device(w *words) string {
	place := w.number()
	if w.bad {
		return nonsense
	}
	device, err := d.pool.Device(int(place))
	memory := "-"
	if device.MemoryMiB != ternlease.Unknown {
		memory = strconv.Itoa(device.MemoryMiB)
	}
	return okay(err, "key=%s vendor=%s index=%d memory=%s uuid=%s pci=%s",
		device.Key, device.Vendor, device.Index, memory, orDash(device.UUID), orDash(device.PCI))
}

func (d *driver) snapshot(*words) string {
	statuses, err := d.pool.Snapshot()
	place := -1
	return list(err, each(statuses, func(status ternlease.DeviceStatus) string {
		place++
		return fmt.Sprintf("%d:%s:%s", place, trit(status.Health), d.labels.ofLease(status.Lease))
	}))
}
