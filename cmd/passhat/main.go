// Command passhat reads trial logs of LLM agents and reports how reliable the
// agents are. Each command is one file here: its flags, their check, one call
// into a package, the exit code. Nothing is computed here and no SQL is written.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
