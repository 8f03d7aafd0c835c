package ternlease

// #include <ternlease.h>
import "C"

func (m *Manager) counter(ask func(*call) C.tern_status_t) (uint64, error) {
	c, err := m.begin()
	if err != nil {
		return 0, err
	}
	defer c.end()
	if err := c.check(ask(c)); err != nil {
		return 0, err
	}
	return uint64(c.number), nil
}

// ActiveCount is how many leases are held.
func (m *Manager) ActiveCount() (uint64, error) {
	return m.counter(func(c *call) C.tern_status_t {
		return C.tern_manager_active_count(c.manager(), &c.number, &c.err)
	})
}

// PendingClaimers is how many claims wait.
func (m *Manager) PendingClaimers() (uint64, error) {
	return m.counter(func(c *call) C.tern_status_t {
		return C.tern_manager_pending_claimers(c.manager(), &c.number, &c.err)
	})
}

// Revocations is how many leases were revoked so far; each counts once.
func (m *Manager) Revocations() (uint64, error) {
	return m.counter(func(c *call) C.tern_status_t {
		return C.tern_manager_revocations(c.manager(), &c.number, &c.err)
	})
}

// Count is how many leases ended, or claims were refused, for this reason so far.
func (m *Manager) Count(reason Reason) (uint64, error) {
	return m.counter(func(c *call) C.tern_status_t {
		return C.tern_manager_count(c.manager(), C.int32_t(reason), &c.number, &c.err)
	})
}

// Metrics is the counters as text, in the format that Prometheus reads.
func (m *Manager) Metrics() (string, error) {
	c, err := m.begin()
	if err != nil {
		return "", err
	}
	defer c.end()
	return text(c, func(into *C.char, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_manager_metrics(c.manager(), into, capacity, needed, &c.err)
	})
}
