package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

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
