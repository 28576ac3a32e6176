package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/dynamicconfig"
)

func TestTheArgumentsThatTheSDKPassesAreUnderstood(t *testing.T) {
	o, err := parseFlags([]string{
		"server", "start-dev", "--ip", "127.0.0.1", "--port", "40001", "--namespace", "tests",
		"--dynamic-config-value", "frontend.enableServerVersionCheck=false",
		"--log-level", "error", "--log-format", "pretty", "--db-filename", "x.db", "--ui-port", "40002",
		"--search-attribute", "State=Keyword", "--search-attribute", "Percent=Double",
		"--dynamic-config-value", "matching.numTaskqueueReadPartitions=2",
		"--dynamic-config-value", `system.namespaceCacheRefreshInterval="3s"`,
	})
	require.NoError(t, err)
	require.Equal(t, 40001, o.port)
	require.Equal(t, 40002, o.uiPort)
	require.Equal(t, []string{"tests", "default"}, o.namespaces)
	require.Equal(t, enumspb.INDEXED_VALUE_TYPE_DOUBLE, o.searchAttributes["Percent"])
	settings := dynamicconfig.NewCollection(o.dynamicConfig, nil)
	require.Equal(t, 2, dynamicconfig.MatchingNumTaskqueueReadPartitions.Get(settings)("tests", "q", enumspb.TASK_QUEUE_TYPE_ACTIVITY))
	require.Equal(t, 1, dynamicconfig.MatchingNumTaskqueueWritePartitions.Get(settings)("tests", "q", enumspb.TASK_QUEUE_TYPE_ACTIVITY))
	require.False(t, dynamicconfig.WorkflowPauseEnabled.Get(settings)("tests"))
}

func TestAWrongArgumentIsExplained(t *testing.T) {
	for args, want := range map[string]string{
		"--db-file x":                                     "nearest is --db-filename",
		"server start-dev --uiport 1":                     "nearest is --ui-port",
		"server start":                                    `unexpected argument "server"`,
		"server start-dev now":                            `unexpected argument "now"`,
		"--search-attribute State":                        "not name=Type",
		"--search-attribute State=Word":                   "KeywordList",
		"--search-attribute =Keyword":                     "not name=Type",
		"--dynamic-config-value matching.rps=fast":        "not key=json",
		"--dynamic-config-value matching.rps=\"fast\"":    "validation failed",
		"--dynamic-config-value matching.noSuchSetting=1": "unregistered key",
		"--sqlite-pragma synchronous":                     "not name=value",
		"--log-level loud":                                "debug, info, warn, error, never",
		"--log-format xml":                                "text, pretty, json",
	} {
		_, err := parseFlags(strings.Fields(args))
		require.ErrorContains(t, err, want, args)
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	text := usage()
	for _, flag := range []string{"ip", "port", "ui-ip", "ui-port", "ui-public-path", "http-port", "metrics-port", "headless", "db-filename",
		"namespace", "search-attribute", "dynamic-config-value", "sqlite-pragma", "log-level", "log-format", "version"} {
		require.Contains(t, text, "--"+flag+" ")
	}
}
