package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/temporalio/ui-server/v2/server"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"
)

// startUI serves the Web UI in the background and returns when it answers, or nil when it is not wanted. It looks
// nothing up on the network: no news, no newer versions.
func startUI(ctx context.Context, o *options, temporalAddress string) (*server.Server, error) {
	if o.headless {
		return nil, nil
	}
	ui := server.NewServer(server_options.WithConfigProvider(&config.Config{
		TemporalGRPCAddress: temporalAddress,
		Host:                bracketed(o.uiIP),
		Port:                o.uiPort,
		PublicPath:          o.uiPublicPath,
		EnableUI:            true,
		DefaultNamespace:    "default",
		DisableNewsFetch:    true,
		NotifyOnNewVersion:  false,
		HideLogs:            true,
		CORS:                config.CORS{CookieInsecure: true}, // it is served over plain HTTP
	}))
	go func() { _ = ui.Start() }() // ends the process itself when it cannot listen
	return ui, awaitListener(ctx, hostPort(dialable(o.uiIP), o.uiPort))
}

func awaitListener(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the Web UI does not answer: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// uiURL is where a browser on this machine finds the Web UI.
func (o *options) uiURL() string {
	return fmt.Sprintf("http://%s:%d%s", bracketed(dialable(o.uiIP)), o.uiPort, o.uiPublicPath)
}

func bracketed(ip string) string {
	if strings.Contains(ip, ":") {
		return "[" + ip + "]"
	}
	return ip
}
