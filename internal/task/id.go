package task

import (
	"fmt"
	"regexp"

	"github.com/google/uuid"
)

// MaxIDLength is the longest task id, in bytes.
const MaxIDLength = 128

var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]*$`)

// NewID makes a task id of the form <kind>-<uuidv7>, so that ids of one kind
// sort by the time they were made.
func NewID(kind Kind) (string, error) {
	u, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("cannot make a task id: %w", err)
	}
	return string(kind) + "-" + u.String(), nil
}

// CheckID reports why a task id chosen by a user cannot be one.
func CheckID(id string) error {
	if len(id) == 0 || len(id) > MaxIDLength {
		return fmt.Errorf("a task id has 1 to %d characters, this one has %d", MaxIDLength, len(id))
	}
	if !idPattern.MatchString(id) {
		return fmt.Errorf("task id %q: only letters, digits and . _ : - may stand in it, and it starts with a letter or digit", id)
	}
	return nil
}
