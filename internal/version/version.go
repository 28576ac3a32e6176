// Package version is the version of this build, the same in every binary.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// release is set by the linker: -ldflags "-X godwit/internal/version.release=v1.2.3".
var release string

// Info says what was built, from which commit, with which Go.
type Info struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`   // empty when it was not built from a repository
	Modified bool   `json:"modified"` // with changes that are in no commit
	Built    string `json:"built"`    // time of the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Get reads what the linker and the Go toolchain left in the binary.
func Get() Info {
	info := Info{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info.named()
	}
	if info.Version == "" && build.Main.Version != "(devel)" {
		info.Version = build.Main.Version
	}
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.Commit = setting.Value
		case "vcs.modified":
			info.Modified = setting.Value == "true"
		case "vcs.time":
			info.Built = setting.Value
		}
	}
	return info.named()
}

func (i Info) named() Info {
	if i.Version == "" {
		i.Version = "development"
	}
	return i
}

// String is the version on one line.
func (i Info) String() string {
	text := i.Version
	if i.Commit != "" {
		text += fmt.Sprintf(", commit %.12s of %s", i.Commit, i.Built)
	}
	if i.Modified {
		text += ", with changes"
	}
	return text + ", " + i.Go + ", " + i.Platform
}
