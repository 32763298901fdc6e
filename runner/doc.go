// Package runner runs a command as repeated trials of the tasks of a file and
// records them, one line of canonical JSON a trial, as they end.
//
// It is for those whose harness is a loop: the command is any program that tries
// a task once. Every trial runs in a clean folder of its own, with the prompt on
// stdin and in the environment; exit code 0 is a pass. What is recorded survives
// any interruption, and a run goes on where it stopped without trying anything
// twice and without forgetting a failure.
//
// The package knows neither stores nor formats: its output is a log like any
// other, which package ingest reads.
package runner
