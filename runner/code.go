package runner

import (
	"path/filepath"
	"slices"
	"strings"
)

// interpreters run the text of an argument as code; the options behind which it stands
// are those of one letter that hold a c, an e or an r (sh -lc, python -c, node -e, php -r).
var interpreters = []string{"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "pwsh", "powershell", "cmd", "python", "python3", "node", "bun", "deno", "perl", "ruby", "php", "lua"}

// fromTasks are the places in arguments that take what a task says.
var fromTasks = []string{"{prompt}", "{task_id}", "{variant}", "{state}"}

// codeInjection finds an argument that is code and would have a task's text in it:
// what a task says is data of others and must not be run.
func codeInjection(command []string) (place, in string) {
	inside := ""
	for i, arg := range command {
		program := strings.TrimSuffix(filepath.Base(arg), ".exe")
		code := i > 0 && inside != "" && isCodeOption(command[i-1])
		if slices.Contains(interpreters, program) {
			inside = program
		}
		if !code {
			continue
		}
		for _, p := range fromTasks {
			if strings.Contains(arg, p) {
				return p, inside + " " + command[i-1]
			}
		}
	}
	return "", ""
}

func isCodeOption(arg string) bool {
	switch strings.ToLower(arg) {
	case "/c", "/k", "--eval", "--command", "-command", "eval":
		return true
	}
	return len(arg) > 1 && len(arg) < 6 && arg[0] == '-' && arg[1] != '-' && strings.ContainsAny(arg[1:], "cer")
}
