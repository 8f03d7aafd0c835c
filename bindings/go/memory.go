package ternlease

// #include <ternlease.h>
import "C"

import (
	"runtime"
	"unsafe"
)

// chars is a text as an argument: its bytes stay where they are during the call, as those of every argument do.
func chars(s string) (*C.char, C.size_t) {
	if s == "" {
		return nil, 0
	}
	return (*C.char)(unsafe.Pointer(unsafe.StringData(s))), C.size_t(len(s))
}

// pins keeps texts where they are that a struct points to, until it is unpinned. Nothing is copied.
type pins struct {
	pinner runtime.Pinner
}

func (p *pins) chars(s string) (*C.char, C.size_t) {
	data, length := chars(s)
	if data != nil {
		p.pinner.Pin(data)
	}
	return data, length
}

func (p *pins) texts(names []string) (*C.tern_text_t, C.size_t) {
	if len(names) == 0 {
		return nil, 0
	}
	texts := make([]C.tern_text_t, len(names))
	for i, name := range names {
		texts[i].data, texts[i].len = p.chars(name)
	}
	p.pinner.Pin(&texts[0])
	return &texts[0], C.size_t(len(texts))
}

func (p *pins) unpin() { p.pinner.Unpin() }

// fill is a list with room for so many at first, and for however many there are by the time it is read.
func fill[T any](
	c *call,
	room C.size_t,
	ask func(into *T, capacity C.size_t, needed *C.size_t) C.tern_status_t,
) ([]T, error) {
	list := make([]T, room)
	for {
		status := ask(&list[0], C.size_t(len(list)), &c.count)
		switch {
		case status == C.TERN_MORE:
			list = make([]T, c.count)
		case status != C.TERN_OK:
			return nil, newError(&c.err)
		default:
			return list[:c.count:c.count], nil
		}
	}
}

// structs is a list of structs, each of which begins with its size, turned into what they are in Go.
func structs[Raw, Value any](
	c *call,
	ask func(into *Raw, capacity C.size_t, needed *C.size_t) C.tern_status_t,
	convert func(*Raw) Value,
) ([]Value, error) {
	raws, err := fill(c, 8, func(into *Raw, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		*(*C.size_t)(unsafe.Pointer(into)) = C.size_t(unsafe.Sizeof(*into))
		return ask(into, capacity, needed)
	})
	if err != nil {
		return nil, err
	}
	values := make([]Value, len(raws))
	for i := range raws {
		values[i] = convert(&raws[i])
	}
	return values, nil
}

// text is what the library writes, however long it is by the time it is read.
func text(c *call, ask func(into *C.char, capacity C.size_t, needed *C.size_t) C.tern_status_t) (string, error) {
	bytes, err := fill(c, 1024, ask)
	if err != nil || len(bytes) == 0 {
		return "", err
	}
	return C.GoString(&bytes[0]), nil
}
