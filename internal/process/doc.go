// Package process starts programs that do not outlive the one that started them, and ends them whole.
//
// It promises that a program is in a process group of its own, so that Ctrl-C in a terminal reaches its starter alone,
// that on Linux the kernel ends it when its starter dies in whatever way, and that a killed program's descendants end
// with it. What the program is told, and where its output goes, is its starter's business. Elsewhere than on Linux a
// starter that is killed leaves its programs behind.
package process
