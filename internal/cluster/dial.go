package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
)

// Options say which cluster to connect to. What is empty comes from the
// TEMPORAL_* variables, then from temporal.toml, then from Temporal's defaults.
type Options struct {
	Address   string // host:port
	Namespace string
	Profile   string // of temporal.toml
	// Identity is shown in the Web UI as who did something.
	Identity string
	// Logger gets what the SDK has to say; nil for nobody.
	Logger log.Logger
	// Patience is how long to wait for a cluster that does not answer yet.
	Patience time.Duration
	// Adjust changes the client's options last, for what only one binary needs.
	Adjust func(*client.Options)
}

// Client is a connection to a cluster that knows where it leads to.
type Client struct {
	client.Client
	Address   string
	Namespace string
	ui        string
}

// Dial connects and asks the cluster to identify itself. Its errors are
// sentences for the user; an *UnreachableError when nothing answers.
func Dial(ctx context.Context, o Options) (*Client, error) {
	settings, err := o.clientOptions()
	if err != nil {
		return nil, err
	}
	c := &Client{
		Address:   settings.HostPort,
		Namespace: settings.Namespace,
		ui:        uiAddress(settings.HostPort, settings.ConnectionOptions.TLS != nil),
	}
	deadline := time.Now().Add(o.Patience)
	for {
		c.Client, err = client.DialContext(ctx, settings)
		if err == nil {
			return c, nil
		}
		err = c.Explain(err)
		var unreachable *UnreachableError
		if !errors.As(err, &unreachable) || time.Now().After(deadline) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (o Options) clientOptions() (client.Options, error) {
	settings, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{ConfigFileProfile: o.Profile})
	if err != nil {
		return settings, fmt.Errorf("the settings for Temporal cannot be used: %w; look at TEMPORAL_* in the environment and at %s",
			err, firstOf(os.Getenv("TEMPORAL_CONFIG_FILE"), envconfig.DefaultConfigFilePath()))
	}
	settings.HostPort = firstOf(o.Address, settings.HostPort, client.DefaultHostPort)
	settings.Namespace = firstOf(o.Namespace, settings.Namespace, client.DefaultNamespace)
	settings.Identity = firstOf(o.Identity, settings.Identity)
	settings.Logger = o.Logger
	if settings.Logger == nil {
		settings.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	}
	if o.Adjust != nil {
		o.Adjust(&settings)
	}
	return settings, nil
}

func firstOf(candidates ...string) string {
	for _, c := range candidates {
		if c != "" {
			return c
		}
	}
	return ""
}
