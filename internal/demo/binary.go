package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// binaries are the paths of what is built together with this program.
type binaries struct{ devserver, worker string }

func findBinaries() (b binaries, err error) {
	if b.devserver, err = binary("godwit-devserver"); err != nil {
		return b, err
	}
	b.worker, err = binary("godwit-worker")
	return b, err
}

// binary finds a program that is built together with this one: beside it, in ./bin, or in PATH.
func binary(name string) (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	for _, path := range []string{filepath.Join(filepath.Dir(own), name), filepath.Join("bin", name)} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return filepath.Abs(path)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is not in %s, ./bin or PATH: run `make build`", name, filepath.Dir(own))
	}
	return path, nil
}
