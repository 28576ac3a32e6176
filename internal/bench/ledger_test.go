package bench

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// timeOf scans a time of either driver.
type timeOf struct{ at *time.Time }

// Scan implements sql.Scanner.
func (t timeOf) Scan(value any) (err error) {
	switch v := value.(type) {
	case time.Time:
		*t.at = v
		return nil
	case []byte:
		*t.at, err = time.Parse("2006-01-02 15:04:05.999999", string(v))
		return err
	}
	return fmt.Errorf("%v is not a time", value)
}

// chunks reads from the ledger how many chunks a backfill had, and how long,
// in seconds, the longest took.
func (f *field) chunks(b *testing.B, shard, id string) (longest float64, chunks int) {
	rows, err := f.db.Query("SELECT digest FROM " + shard + " WHERE migration = '" + id + "' AND phase = 'transform'")
	require.NoError(b, err)
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		var text []byte
		require.NoError(b, rows.Scan(&text))
		var done struct {
			Chunks  int     `json:"chunks"`
			Longest float64 `json:"longest_seconds"`
		}
		require.NoError(b, json.Unmarshal(text, &done))
		longest, chunks = max(longest, done.Longest), chunks+done.Chunks
	}
	require.NoError(b, rows.Err())
	return longest, chunks
}
