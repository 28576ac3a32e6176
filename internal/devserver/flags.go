package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/pflag"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/dynamicconfig"
)

const usageHead = `godwit-devserver runs a Temporal server and its Web UI for development and tests: one process, one SQLite file.

Usage:
  godwit-devserver [flags]

Examples:
  godwit-devserver                                     # on 7233 with the UI on 8233, state in memory
  godwit-devserver --db-filename dev.db                # state kept in dev.db, also after kill -9
  godwit-devserver --port 0 --headless                 # any free port, no UI; the first line says which
  godwit-devserver server start-dev --port 7400        # the words of the Temporal CLI are understood

It prints one line beginning with "ready:" on standard output when it can be used, and logs to standard error.
Ctrl-C or SIGTERM stops it within seconds. Not for production: no authentication, no TLS, one host.

Flags:
`

// options are the parsed flags. After resolvePorts every port is a real one, 0 only meaning that it is not wanted.
type options struct {
	ip, uiIP                            string
	port, uiPort, httpPort, metricsPort int
	headless, version                   bool
	dbFile, uiPublicPath                string
	logLevel, logFormat                 string
	namespaces                          []string
	searchAttributes                    map[string]enumspb.IndexedValueType
	dynamicConfig                       dynamicconfig.StaticClient
	pragmas                             map[string]string
}

// repeated are the flags of the form name=value, as they were given.
type repeated struct{ searchAttributes, dynamicConfig, pragmas []string }

func flagSet(o *options, r *repeated) *pflag.FlagSet {
	f := pflag.NewFlagSet("godwit-devserver", pflag.ContinueOnError)
	f.SortFlags = false
	f.Usage = func() {}
	f.StringVarP(&o.dbFile, "db-filename", "f", "", "SQLite `file` that keeps all state; made when missing (default: state in memory)")
	f.StringVar(&o.ip, "ip", "127.0.0.1", "`address` the server listens on")
	f.IntVarP(&o.port, "port", "p", 7233, "`port` of the server (gRPC); 0 takes a free one")
	f.BoolVar(&o.headless, "headless", false, "no Web UI")
	f.StringVar(&o.uiIP, "ui-ip", "", "`address` the Web UI listens on (default: that of --ip)")
	f.IntVar(&o.uiPort, "ui-port", 0, "`port` of the Web UI (default: that of the server + 1000)")
	f.StringVar(&o.uiPublicPath, "ui-public-path", "", "`path` the Web UI is served under, for a proxy in front of it")
	f.IntVar(&o.httpPort, "http-port", 0, "`port` of the HTTP API (default: any free one)")
	f.IntVar(&o.metricsPort, "metrics-port", 0, "`port` of Prometheus metrics at /metrics (default: none)")
	f.StringSliceVarP(&o.namespaces, "namespace", "n", nil, "`name` of a namespace to have besides \"default\"; may be repeated")
	f.StringArrayVar(&r.searchAttributes, "search-attribute", nil, "search attribute to have, as `name=Type`: Keyword, Text, Int, Double, Bool, Datetime or KeywordList; may be repeated")
	f.StringArrayVar(&r.dynamicConfig, "dynamic-config-value", nil, "server setting, as `key=json`; may be repeated")
	f.StringArrayVar(&r.pragmas, "sqlite-pragma", nil, "setting of SQLite, as `name=value`; may be repeated")
	f.StringVar(&o.logLevel, "log-level", "warn", "`level`: debug, info, warn, error or never")
	f.StringVar(&o.logFormat, "log-format", "text", "`format`: text (also called pretty) or json")
	f.BoolVar(&o.version, "version", false, "print the versions of the server and the Web UI")
	return f
}

func usage() string {
	return usageHead + flagSet(&options{}, &repeated{}).FlagUsagesWrapped(110)
}

// parseFlags understands the flags above, also after the words "server start-dev". Its error is a sentence for the user,
// or pflag.ErrHelp.
func parseFlags(args []string) (*options, error) {
	o, r := &options{}, &repeated{}
	f := flagSet(o, r)
	if err := f.Parse(args); err != nil {
		return nil, withNearestFlag(err, f)
	}
	words := f.Args()
	if len(words) >= 2 && words[0] == "server" && words[1] == "start-dev" {
		words = words[2:]
	}
	if len(words) > 0 {
		return nil, fmt.Errorf("unexpected argument %q: only flags are taken, after the words \"server start-dev\" if you like; see --help", words[0])
	}
	levels, formats := []string{"debug", "info", "warn", "error", "never"}, []string{"text", "pretty", "json"}
	if !slices.Contains(levels, o.logLevel) {
		return nil, fmt.Errorf("--log-level %q is not one of %s", o.logLevel, strings.Join(levels, ", "))
	}
	if !slices.Contains(formats, o.logFormat) {
		return nil, fmt.Errorf("--log-format %q is not one of %s", o.logFormat, strings.Join(formats, ", "))
	}
	if !slices.Contains(o.namespaces, "default") {
		o.namespaces = append(o.namespaces, "default")
	}
	return o, errors.Join(o.parseSearchAttributes(r), o.parseDynamicConfig(r), o.parsePragmas(r))
}

// withNearestFlag adds to the error about a flag that does not exist the name of the one that was probably meant.
func withNearestFlag(err error, f *pflag.FlagSet) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name, nearest, distance := unknown.GetSpecifiedName(), "", 0
	f.VisitAll(func(flag *pflag.Flag) {
		if d := levenshtein.ComputeDistance(name, flag.Name); nearest == "" || d < distance {
			nearest, distance = flag.Name, d
		}
	})
	return fmt.Errorf("%w; the nearest is --%s, and --help lists them all", err, nearest)
}

func (o *options) parseSearchAttributes(r *repeated) error {
	o.searchAttributes = map[string]enumspb.IndexedValueType{}
	for _, given := range r.searchAttributes {
		name, typeName, found := strings.Cut(given, "=")
		kind, err := enumspb.IndexedValueTypeFromString(typeName)
		if !found || name == "" || err != nil || kind == enumspb.INDEXED_VALUE_TYPE_UNSPECIFIED {
			return fmt.Errorf("--search-attribute %q is not name=Type with a type of Keyword, Text, Int, Double, Bool, Datetime or KeywordList", given)
		}
		o.searchAttributes[name] = kind
	}
	return nil
}

// parseDynamicConfig goes through the server's own loader, which knows the type of every setting.
func (o *options) parseDynamicConfig(r *repeated) error {
	o.dynamicConfig = defaultDynamicConfig()
	for _, given := range r.dynamicConfig {
		key, value, found := strings.Cut(given, "=")
		if !found || !json.Valid([]byte(value)) {
			return fmt.Errorf("--dynamic-config-value %q is not key=json (a string needs its double quotes)", given)
		}
		var loader dynamicconfig.YamlLoader
		loader.LoadValue(dynamicconfig.MakeKey(key), []byte("- value: "+value))
		if err := errors.Join(append(loader.Errors, loader.Warnings...)...); err != nil {
			return fmt.Errorf("--dynamic-config-value %q: %w", given, err)
		}
		for k, values := range loader.Map {
			o.dynamicConfig[k] = values
		}
	}
	return nil
}

func (o *options) parsePragmas(r *repeated) error {
	o.pragmas = map[string]string{}
	for _, given := range r.pragmas {
		name, value, found := strings.Cut(given, "=")
		if !found || name == "" {
			return fmt.Errorf("--sqlite-pragma %q is not name=value", given)
		}
		o.pragmas[strings.ToLower(name)] = value
	}
	return nil
}
