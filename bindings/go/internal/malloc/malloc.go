// Package malloc tells what the C heap has given out. It is for the tests, in whose files there is no cgo.
package malloc

// #include <malloc.h>
import "C"

// InUse is how many bytes are in use, in all threads together.
func InUse() int {
	info := C.mallinfo2()
	return int(info.uordblks + info.hblkhd)
}
