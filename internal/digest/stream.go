package digest

import (
	"context"
	"io"

	"godwit/internal/engine"
)

// progressRows is after how many rows progress is told and the context looked at.
const progressRows = 1024

// Stream reads a stream to its end and returns the Sum of its rows. progress,
// when it is not nil, is told the rows and bytes so far. The stream remains
// the caller's to close.
func Stream(ctx context.Context, s engine.Stream, h *Hasher, progress func(rows, bytes int64)) (Sum, error) {
	var sum Sum
	err := each(ctx, s, progress, func(raw [][]byte) error {
		hash, err := h.Row(raw)
		sum.Add(hash)
		return err
	})
	if err != nil {
		return Sum{}, err
	}
	sum.read = true
	return sum, nil
}

// each calls take for every row of a stream. It returns nil only after the
// stream has said io.EOF itself.
func each(ctx context.Context, s engine.Stream, progress func(rows, bytes int64), take func(raw [][]byte) error) error {
	var rows, bytes int64
	for {
		raw, err := s.Next()
		if err == io.EOF { //nolint:errorlint // a wrapped EOF is a broken connection
			if progress != nil {
				progress(rows, bytes)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if err := take(raw); err != nil {
			return err
		}
		rows++
		for _, value := range raw {
			bytes += int64(len(value))
		}
		if rows%progressRows != 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if progress != nil {
			progress(rows, bytes)
		}
	}
}
