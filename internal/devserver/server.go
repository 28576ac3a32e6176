package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
	"go.uber.org/zap"
)

const clusterName = "active"

// runningServer is a started server. address is where clients on this machine reach it.
type runningServer struct {
	address  string
	temporal temporal.Server
	store    *store
	logLevel zap.AtomicLevel
}

// defaultDynamicConfig is what differs from the server's own defaults.
func defaultDynamicConfig() dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		// One partition makes the priority of tasks strict; with more it holds only within each.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
		// A worker that shuts down gives back its polls at once, so no task waits for a poller that is gone.
		dynamicconfig.EnableCancelWorkerPollsOnShutdown.Key(): true,
		// A search attribute can be used as soon as it is added, not some seconds later.
		dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,
		// Everything is one process and one connection to SQLite: do not keep the state of 128,000 workflows in memory.
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 500,
		// Nothing is looked up on the network.
		dynamicconfig.EnableServerVersionCheck.Key(): false,
	}
}

// startServer starts the four services of a Temporal server in this process and returns when clients can use them.
func startServer(ctx context.Context, o *options) (*runningServer, error) {
	if err := o.resolvePorts(); err != nil {
		return nil, err
	}
	internal, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	store, err := openStore(o)
	if err != nil {
		return nil, err
	}
	s := &runningServer{address: hostPort(dialable(o.ip), o.port), store: store, logLevel: zap.NewAtomicLevelAt(log.ParseZapLevel(o.logLevel))}
	s.temporal, err = temporal.NewServer(
		temporal.WithConfig(serverConfig(o, s.address, internal, store.config)),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(map[primitives.ServiceName]static.Hosts{
			primitives.FrontendService: static.SingleLocalHost(s.address),
			primitives.HistoryService:  static.SingleLocalHost(hostPort(loopback, internal[0])),
			primitives.MatchingService: static.SingleLocalHost(hostPort(loopback, internal[1])),
			primitives.WorkerService:   static.SingleLocalHost(hostPort(loopback, internal[2])),
		}),
		temporal.WithDynamicConfigClient(o.dynamicConfig),
		temporal.WithLogger(s.logger(o)),
	)
	if err != nil {
		return nil, fmt.Errorf("configure the server: %w", err)
	}
	if err := s.temporal.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	if err := awaitReady(ctx, o, s.address); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *runningServer) stop() error {
	if s.logLevel.Level() >= zap.WarnLevel {
		s.logLevel.SetLevel(zap.FatalLevel) // the services complain about each other's going
	}
	return errors.Join(s.temporal.Stop(), s.store.close())
}

// logger writes to standard error.
func (s *runningServer) logger(o *options) log.Logger {
	if o.logLevel == "never" {
		return log.NewNoopLogger()
	}
	format := "console"
	if o.logFormat == "json" {
		format = "json"
	}
	built := log.BuildZapLogger(log.Config{Level: o.logLevel, Format: format})
	return log.NewZapLogger(built.WithOptions(zap.IncreaseLevel(s.logLevel), zap.AddStacktrace(zap.DPanicLevel)))
}

func serverConfig(o *options, address string, internal []int, database *config.SQL) *config.Config {
	cfg := &config.Config{
		Global: config.Global{Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: loopback}},
		Persistence: config.Persistence{
			DefaultStore:     sqliteplugin.PluginName,
			VisibilityStore:  sqliteplugin.PluginName,
			NumHistoryShards: 1,
			DataStores:       map[string]config.DataStore{sqliteplugin.PluginName: {SQL: database}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{
			"frontend": {RPC: config.RPC{BindOnIP: o.ip, GRPCPort: o.port, HTTPPort: o.httpPort}},
			"history":  {RPC: config.RPC{BindOnIP: loopback, GRPCPort: internal[0]}},
			"matching": {RPC: config.RPC{BindOnIP: loopback, GRPCPort: internal[1]}},
			"worker":   {RPC: config.RPC{BindOnIP: loopback, GRPCPort: internal[2]}},
		},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchival{State: config.ArchivalDisabled},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: config.ArchivalDisabled},
		}},
		PublicClient: config.PublicClient{HostPort: address},
	}
	if o.metricsPort != 0 {
		cfg.Global.Metrics = &metrics.Config{Prometheus: &metrics.PrometheusConfig{
			ListenAddress: hostPort(o.ip, o.metricsPort), HandlerPath: "/metrics",
		}}
	}
	return cfg
}
