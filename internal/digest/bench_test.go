package digest

import (
	"testing"

	"godwit/internal/codec"
)

// order is a row as of a shop: ten columns, about 200 bytes.
func order(b *testing.B) (*codec.Row, [][]byte) {
	return form(b, "integer", "integer", "text", "text", "decimal", "timestamp", "timestamptz", "text", "text", "boolean"), row(
		"1234567", "89012", "shipped", "O-2024-000123456", "1299.50", "2024-05-06 07:08:09.123456", "2024-05-06 07:08:09",
		"Jane Doe, 12 Long Street, Springfield 12345, and some more of it", "please leave the parcel with the neighbours, they are at home", "1")
}

func benchmark(b *testing.B, f func(h *Hasher, raw [][]byte) error) {
	form, raw := order(b)
	h := NewHasher(form.CanonSource)
	b.ReportAllocs()
	for b.Loop() {
		if err := f(h, raw); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkRow(b *testing.B) {
	var sum Sum
	benchmark(b, func(h *Hasher, raw [][]byte) error {
		hash, err := h.Row(raw)
		sum.Add(hash)
		return err
	})
}

func BenchmarkRowAndKey(b *testing.B) {
	var sum Sum
	benchmark(b, func(h *Hasher, raw [][]byte) error {
		_, hash, err := hashes(h, raw, []int{0})
		sum.Add(hash)
		return err
	})
}
