package ternlease

// #include <ternlease.h>
import "C"

import "os"

// Life is how a process is.
type Life int32

const (
	// It lives.
	LifeLives Life = 1
	// It is dying: its memory is being freed, its files may still be open.
	LifeDying Life = 2
	// It is gone, and nobody has taken note yet.
	LifeGone Life = 3
	// Not one process but all that have inherited a lease: Lease.KeepForChildren.
	LifeTree Life = 4
)

// String is "lives", "dying", "gone" or "tree".
func (l Life) String() string {
	return word(l, "Life", map[Life]string{LifeLives: "lives", LifeDying: "dying", LifeGone: "gone", LifeTree: "tree"})
}

// HostInfo is a table that processes share, and how it is.
type HostInfo struct {
	// Where its file is; cut if it is longer than 1023 bytes.
	Path string
	// How large its file is.
	Bytes uint64
	// Changes that were undone because their author died, so far.
	RollBacks uint64
	// Processes that were found dead, so far.
	Deaths uint64
	// Who had its lock when this was asked, by the number that it has for itself; 0: nobody. A process that has it for long
	// does not go on.
	LockProcess uint32
	// Since when its lock is taken; otherwise 0.
	LockSince Moment
	// How many processes use it: Manager.Processes tells them.
	ProcessCount uint32
	// The table makes no sense any more.
	Corrupt bool
}

// Host tells where the table is, and whether all is well. ErrUnsupported if processes cannot share it.
func (m *Manager) Host() (HostInfo, error) {
	c, err := m.begin()
	if err != nil {
		return HostInfo{}, err
	}
	defer c.end()
	raw := C.tern_host_info_t{struct_size: C.sizeof_tern_host_info_t}
	if err := c.check(C.tern_manager_host(c.manager(), &raw, &c.err)); err != nil {
		return HostInfo{}, err
	}
	return HostInfo{
		Path:         C.GoString(&raw.path[0]),
		Bytes:        uint64(raw.bytes),
		RollBacks:    uint64(raw.roll_backs),
		Deaths:       uint64(raw.deaths),
		LockProcess:  uint32(raw.lock_process),
		LockSince:    Moment(raw.lock_since),
		ProcessCount: uint32(raw.process_count),
		Corrupt:      raw.corrupt != 0,
	}, nil
}

// ProcessInfo is a process that uses a shared table.
type ProcessInfo struct {
	// Its number, as it sees itself: processes in different containers may have the same.
	Process uint32
	// The number under which the table knows it.
	Owner uint32
	// Since when it uses the table.
	Since Moment
	// How it is.
	Life Life
	// How many leases it holds.
	Leases uint32
	// How many claims of its wait.
	Tickets uint32
}

func newProcessInfo(raw *C.tern_process_info_t) ProcessInfo {
	return ProcessInfo{
		Process: uint32(raw.process),
		Owner:   uint32(raw.owner),
		Since:   Moment(raw.since),
		Life:    Life(raw.life),
		Leases:  uint32(raw.leases),
		Tickets: uint32(raw.tickets),
	}
}

// Processes are all that use the table, this one included. ErrUnsupported if processes cannot share it.
func (m *Manager) Processes() ([]ProcessInfo, error) {
	c, err := m.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	return structs(c, func(into *C.tern_process_info_t, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_manager_processes(c.manager(), into, capacity, needed, &c.err)
	}, newProcessInfo)
}

// HandTo hands a held lease to another process that uses the table, by the number that it has for itself: it ends with that
// process, and no longer with this one. ErrUnknownProcess if no process of that number uses the table.
func (l Lease) HandTo(process uint32) error {
	c, err := l.manager.begin()
	if err != nil {
		return err
	}
	defer c.end()
	return c.check(C.tern_lease_hand_to(c.manager(), C.tern_lease_t(l.id), C.uint32_t(process), &c.err))
}

// KeepForChildren makes a held lease one of a tree of processes: it is held as long as any process has this file open, and
// ends as if its holder had died when the last of them has closed it or is gone. Programs that this process starts from now
// on inherit it. Close it to leave the lease to them; it is for nothing else. Hold on to it until then: a file that nobody
// refers to is closed by the garbage collector.
func (l Lease) KeepForChildren() (*os.File, error) {
	c, err := l.manager.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	if err := c.check(C.tern_lease_keep_for_children(c.manager(), C.tern_lease_t(l.id), &c.fd, &c.err)); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(c.fd), "ternlease lease"), nil
}
