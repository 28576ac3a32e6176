package capture

import (
	"context"

	"godwit/internal/engine"
)

// Database is a database whose changes are captured, of any engine.
type Database interface {
	engine.DB

	// Beside names a thing that belongs to a table, so that it sorts after it.
	Beside(table engine.Name, suffix string) engine.Name
	// CaptureOf names the changelog of a table.
	CaptureOf(t *engine.Table) *engine.Capture
	// CheckCapture finds out beforehand whether all changes can be noted.
	CheckCapture(ctx context.Context, c *engine.Capture) (warnings []string, err error)
	// CreateCapture and DropCapture make and remove what notes changes, as far
	// as it is not there, or there.
	CreateCapture(ctx context.Context, c *engine.Capture) error
	DropCapture(ctx context.Context, c *engine.Capture) error
	// VerifyCapture makes sure that it is all there, on the table or on what
	// the table is called by now.
	VerifyCapture(ctx context.Context, c *engine.Capture, on engine.Name) error
	// Pending tells how much waits in the changelog. It is cheap.
	Pending(ctx context.Context, c *engine.Capture) (engine.Pending, error)

	// Entries reads committed entries of a window in the order of their numbers,
	// EntriesOf those of some keys; LastEntry is the highest number.
	Entries(ctx context.Context, q engine.Querier, c *engine.Capture, w engine.Window, limit int64) ([]engine.Entry, error)
	LastEntry(ctx context.Context, c *engine.Capture) (int64, error)
	EntriesOf(ctx context.Context, q engine.Querier, c *engine.Capture, keys []engine.Key, limit int64) ([]engine.Entry, error)
	// Unnoted writes the statements that make a session one whose writes to derived
	// tables are not noted, for the rest of it: a drainer's.
	Unnoted() []string
	// HoldDoor keeps others from draining until the transaction ends.
	HoldDoor(ctx context.Context, q engine.Querier, c *engine.Capture) error
	// ForgetEntries writes the statement that removes entries.
	ForgetEntries(c *engine.Capture, entries []engine.Entry) string

	// NoteKeys writes the statement that adds entries.
	NoteKeys(c *engine.Capture, keys []engine.Key) (string, error)

	// The statements of a Projection on the same server. A tolerant CopyRows
	// leaves out rows whose values have to be unique and are not.
	CopyRows(c *engine.Capture, p *engine.Projection, part engine.Part, tolerant bool) (string, error)
	RemoveKeys(p *engine.Projection, keys []engine.Key) (string, error)
	RemoveLost(c *engine.Capture, p *engine.Projection) string
	// SetAside and PutBack write the statements by which the copy's rows of some
	// keys, that are removed and written anew in between, keep the values of the
	// projection's Kept.
	SetAside(p *engine.Projection, keys []engine.Key) ([]string, error)
	PutBack(p *engine.Projection) []string

	// Missing finds the rows of a part that the copy does not have.
	Missing(ctx context.Context, q engine.Querier, c *engine.Capture, p *engine.Projection, part engine.Part) ([]engine.Key, error)
	// IsClash reports that a value has to be unique and is not, and Clashes
	// finds rows of a part that cannot be written, and those in their way.
	IsClash(err error) bool
	Clashes(ctx context.Context, q engine.Querier, c *engine.Capture, p *engine.Projection, part engine.Part) ([]engine.Clash, error)
}
