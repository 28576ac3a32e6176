package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// The ports that people know, and how many are tried after them. The Web UI is always uiOffset further, which is where
// godwit looks for it.
const (
	firstPort  = 7233
	triedPorts = 100
	uiOffset   = 1000
)

// readyLimit is how long a Temporal server may take to start.
const readyLimit = time.Minute

// temporal is a running Temporal server.
type temporal struct {
	*program
	version string
	port    int
}

func (t *temporal) address() string { return net.JoinHostPort("localhost", strconv.Itoa(t.port)) }

func (t *temporal) ui() string {
	return "http://" + net.JoinHostPort("localhost", strconv.Itoa(t.port+uiOffset))
}

// startTemporal starts a server whose state is in the folder, and returns when it can be used.
func startTemporal(ctx context.Context, path, folder string) (*temporal, error) {
	for port := firstPort; port < firstPort+triedPorts; port++ {
		if !free(port) || !free(port+uiOffset) {
			continue
		}
		t, err := startTemporalOn(ctx, port, path, folder)
		if err == nil || ctx.Err() != nil || free(port) && free(port+uiOffset) {
			return t, err
		} // somebody else was quicker
	}
	return nil, fmt.Errorf("none of the ports %d to %d is free on localhost for Temporal, with the one %d further for its Web UI",
		firstPort, firstPort+triedPorts-1, uiOffset)
}

func free(port int) bool {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	return err == nil && listener.Close() == nil
}

func startTemporalOn(ctx context.Context, port int, path, folder string) (*temporal, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	t := &temporal{port: port, program: &program{
		name: "Temporal", path: path, environment: alone(), log: filepath.Join(folder, "temporal.log"), output: write,
		args: []string{"--port", strconv.Itoa(port), "--ui-port", strconv.Itoa(port + uiOffset), "--db-filename", filepath.Join(folder, "temporal.db")},
	}}
	version := make(chan string, 1)
	go func() {
		defer read.Close()
		readReady(read, version)
	}()
	if err := errors.Join(t.Resume(ctx), write.Close()); err != nil {
		return nil, err
	}
	t.output = nil // of a later start nobody waits for the first line
	select {
	case t.version = <-version:
		return t, nil
	case <-t.Ended():
		return nil, t.failure("has ended while it was starting")
	case <-time.After(readyLimit):
		return nil, errors.Join(t.failure(fmt.Sprintf("has not started within %s", readyLimit)), t.Stop())
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), t.Stop())
	}
}

var readyLine = regexp.MustCompile(`^ready: Temporal (\S+) on `)

// readReady tells the version that the server says when it is ready, and then reads on, so that it can write.
func readReady(output io.Reader, version chan<- string) {
	lines := bufio.NewReader(output)
	line, _ := lines.ReadString('\n') // a server that says nothing has ended
	if match := readyLine.FindStringSubmatch(line); match != nil {
		version <- match[1]
	}
	_, _ = io.Copy(io.Discard, lines)
}
