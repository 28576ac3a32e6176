package document

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Suggest answers a name that is none with the nearest of the valid ones, or
// with all of them when none is near: `did you mean "tables"?`, `there are a, b`.
func Suggest(name string, valid []string) string {
	if near := Nearest(name, valid); near != "" {
		return `did you mean "` + near + `"?`
	}
	if len(valid) == 1 {
		return "there is only " + valid[0]
	}
	return "there are " + strings.Join(valid, ", ")
}

// Nearest is the valid name that somebody who wrote name most likely meant,
// empty when none is near enough to be more than a guess.
func Nearest(name string, valid []string) string {
	best, near := max(2, len(name)/3)+1, ""
	for _, candidate := range valid {
		distance := levenshtein.ComputeDistance(fold(name), fold(candidate))
		if distance < best && distance < len(candidate) && distance < len(name) {
			best, near = distance, candidate
		}
	}
	if near != "" || len(name) < 3 {
		return near
	}
	for _, candidate := range valid {
		if strings.HasPrefix(fold(candidate), fold(name)) {
			if near != "" {
				return "" // it may be either
			}
			near = candidate
		}
	}
	return near
}

func fold(name string) string { return strings.ToLower(strings.ReplaceAll(name, "-", "_")) }
