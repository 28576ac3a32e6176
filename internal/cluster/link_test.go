package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLinksLeadToTheWebUIOfTheCluster(t *testing.T) {
	for _, test := range []struct {
		name, address string
		tls           bool
		variable      string
		want          string
	}{
		{name: "a development server", address: "localhost:7233", want: "http://localhost:8233/namespaces/default/workflows/a%2Fb/run"},
		{name: "a loopback address", address: "127.0.0.1:7300", want: "http://localhost:8300/namespaces/default/workflows/a%2Fb/run"},
		{name: "another host", address: "temporal.internal:7233", want: "http://temporal.internal:8233/namespaces/default/workflows/a%2Fb/run"},
		{name: "Temporal Cloud", address: "shop.a1b2c.tmprl.cloud:7233", tls: true, want: "https://cloud.temporal.io/namespaces/default/workflows/a%2Fb/run"},
		{name: "an unknown host behind TLS", address: "temporal.internal:7233", tls: true, want: ""},
		{name: "the environment", address: "localhost:7233", variable: "https://ui.internal/", want: "https://ui.internal/namespaces/default/workflows/a%2Fb/run"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(UIVariable, test.variable)
			c := Client{Namespace: "default", ui: uiAddress(test.address, test.tls)}
			require.Equal(t, test.want, c.Link("a/b", "run"))
		})
	}
}
