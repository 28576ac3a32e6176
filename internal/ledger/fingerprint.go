package ledger

import (
	"maps"
	"slices"
	"strings"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// Fingerprint tells what a migration was planned against: the spec, the
// servers, the definition of each table, each as a short text by its name. It
// is compared when a migration is resumed.
type Fingerprint map[string]string

// Compare returns a fault that names everything that is not as it was.
func (f Fingerprint) Compare(now Fingerprint) error {
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if value, found := now[name]; !found || value != f[name] {
			changed = append(changed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, found := f[name]; !found {
			changed = append(changed, name)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return fault.New(task.Config, "changed since the migration began: %s; put it back and retry, or roll back and start a new migration",
		strings.Join(changed, ", "))
}
