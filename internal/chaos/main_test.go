package chaos

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

var (
	rounds   = flag.Int("chaos.rounds", 1, "how often the random tests are repeated; with more than 1, on more rows")
	seedFlag = flag.Uint64("chaos.seed", 0, "seed of the random moments; 0 takes a new one, which is printed")
	recordTo = flag.String("chaos.record", "", "folder to write the histories of real runs to, for the replay test of package workflows")
)

// atOnce is how many tests run at the same time: they mostly wait, for
// heartbeats to be missed above all.
const atOnce = 16

// binaries are the programs under test.
var binaries struct{ godwit, worker, devserver string }

// shelf is the folder for everything that outlives one test.
var shelf string

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if !set {
		if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
			return 0, err
		}
	}
	if text := os.Getenv("GODWIT_SEED"); *seedFlag == 0 && text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return 1, fmt.Errorf("GODWIT_SEED: %w", err)
		}
		*seedFlag = seed
	}
	if *seedFlag == 0 {
		*seedFlag = uint64(time.Now().UnixNano())
	}
	fmt.Printf("chaos: seed %d (-chaos.seed repeats it)\n", *seedFlag)
	if shelf, err = os.MkdirTemp("", "godwit-chaos-"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(shelf)) }()
	if err := build(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stopRigs()) }()
	return m.Run(), nil
}

// build makes the programs under test. In the long form the worker has the race
// detector if this test has it: with it everything takes some five times as long.
func build() error {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return err
	}
	binaries.godwit, binaries.worker = filepath.Join(shelf, "godwit"), filepath.Join(shelf, "godwit-worker")
	worker := []string{"build", "-o", binaries.worker}
	if raceDetector && *rounds > 1 {
		worker = append(worker, "-race")
	}
	if err := compile(root, append(worker, "./worker")...); err != nil {
		return err
	}
	if err := compile(root, "build", "-o", binaries.godwit, "./starter"); err != nil {
		return err
	}
	if binaries.devserver = os.Getenv("TEMPORAL_CLI_PATH"); binaries.devserver != "" {
		return nil
	}
	binaries.devserver = filepath.Join(root, "bin", "godwit-devserver")
	if _, err := os.Stat(binaries.devserver); err == nil {
		return nil
	}
	fmt.Println("chaos: building the embedded Temporal server: two or three minutes, once")
	return compile(filepath.Join(root, "internal", "devserver"), "build", "-o", binaries.devserver, ".")
}

func compile(folder string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = folder
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %v: %w\n%s", args, err, output)
	}
	return nil
}

// dice are a test's random choices: the same for the same seed and test.
func dice(t *testing.T) *rand.Rand {
	var name uint64
	for _, b := range []byte(t.Name()) {
		name = name*31 + uint64(b)
	}
	t.Logf("seed %d", *seedFlag)
	return rand.New(rand.NewPCG(*seedFlag, name))
}
