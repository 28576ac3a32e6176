package version

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheVersionSaysWhatWasBuilt(t *testing.T) {
	release := Info{Version: "v1.2.3", Commit: "0123456789abcdef0123", Built: "2024-11-29T10:00:00Z", Go: "go1.26.8", Platform: "linux/amd64"}
	require.Equal(t, "v1.2.3, commit 0123456789ab of 2024-11-29T10:00:00Z, go1.26.8, linux/amd64", release.String())

	changed := Info{Version: "development", Modified: true, Go: "go1.26.8", Platform: "linux/amd64"}
	require.Equal(t, "development, with changes, go1.26.8, linux/amd64", changed.String())
}
