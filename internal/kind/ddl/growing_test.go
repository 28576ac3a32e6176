package ddl

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// A copy that went on to the table's end would never get there.
func TestATableThatGrowsFasterThanItIsCopiedIsCopied(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.filled(300)
		application := r.application()
		stop := make(chan struct{})
		var writing sync.WaitGroup
		writing.Go(func() {
			for id := 1001; ; id += 20 {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				rows := make([]string, 20)
				for i := range rows {
					rows[i] = fmt.Sprintf("(%d, 1, 'grown%d', 5)", id+i, id+i)
				}
				if _, err := application.ExecContext(context.Background(), "INSERT INTO "+r.table("orders")+" (id, customer, note, price) VALUES "+strings.Join(rows, ", ")); err != nil {
					t.Errorf("the application: %v", err)
					return
				}
			}
		})
		j := r.job("growing", r.widen(), asShadow+"throttle: {rows_per_second: 200}\n")
		_, err := j.preflight()
		require.NoError(t, err)
		_, err = j.d.Backup(context.Background(), j.run(task.Backup))
		require.NoError(t, err)
		began := time.Now()
		err = j.transform()
		took := time.Since(began)
		close(stop)
		writing.Wait()
		require.NoError(t, err)
		require.Less(t, took, 30*time.Second, "300 rows at 200 a second")
		_, err = j.verify()
		require.NoError(t, err)
		rows := r.contents()
		require.Greater(t, len(rows), 600, "it has grown meanwhile")
		_, err = j.cutover()
		require.NoError(t, err)
		require.Equal(t, rows, r.contents())
	})
}
