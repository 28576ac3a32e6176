package shop_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/demo/shop"
	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
)

func BenchmarkSeed(b *testing.B) {
	for _, kind := range []sandbox.Kind{sandbox.MariaDB, sandbox.MySQL} {
		b.Run(string(kind), func(b *testing.B) {
			server := sandboxtest.Start(b, kind, sandbox.Options{})
			for i := 0; b.Loop(); i++ {
				require.NoError(b, shop.Seed(b.Context(), open(b, server, fmt.Sprint("shop", i)), shop.Options{}))
			}
			b.ReportMetric(float64(shop.DefaultRows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
