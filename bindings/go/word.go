package ternlease

import "fmt"

// word is how a number of an enumeration is written; one that a newer library may have is written as a number.
func word[T ~int8 | ~int32](n T, kind string, words map[T]string) string {
	if found, ok := words[n]; ok {
		return found
	}
	return fmt.Sprintf("%s(%d)", kind, n)
}
