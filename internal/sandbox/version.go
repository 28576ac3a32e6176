package sandbox

import (
	"regexp"
	"slices"
	"strconv"
)

// newest is the path with the highest version, which is in the part of the path that name returns.
func newest(paths []string, name func(path string) string) string {
	return slices.MaxFunc(paths, func(a, b string) int { return slices.Compare(numbers(name(a)), numbers(name(b))) })
}

var digits = regexp.MustCompile(`\d+`)

// numbers are those in a version; they compare as versions do.
func numbers(version string) []int {
	var found []int
	for _, text := range digits.FindAllString(version, -1) {
		n, _ := strconv.Atoi(text) // too large a number is no version of anything
		found = append(found, n)
	}
	return found
}
