package runner

import (
	"path/filepath"
	"strings"
)

// interpreters run the text of an argument as code: behind options that hold one of these
// letters, or with these names.
var interpreters = map[string]struct {
	letters string
	names   []string
}{
	"sh": {"c", nil}, "bash": {"c", nil}, "dash": {"c", nil}, "zsh": {"c", nil}, "ksh": {"c", nil}, "ash": {"c", nil}, "fish": {"cC", []string{"--command", "--init-command"}},
	"python": {"c", nil}, "pypy": {"c", nil}, "perl": {"eE", nil}, "ruby": {"e", nil}, "php": {"rBRE", nil}, "lua": {"e", nil}, "rscript": {"e", nil},
	"node": {"ep", []string{"--eval", "--print"}}, "bun": {"ep", []string{"--eval", "--print"}}, "deno": {"", []string{"eval"}},
	"cmd": {"", []string{"/c", "/k"}}, "pwsh": {"", []string{"-c", "-command"}}, "powershell": {"", []string{"-c", "-command"}},
	"env": {"S", []string{"--split-string"}}, // a command in one text
}

// fromTasks are the places in arguments that take what a task says.
var fromTasks = []string{"{prompt}", "{task_id}", "{variant}", "{state}"}

// codeInjection finds an argument that is code and would have a task's text in it:
// what a task says is data of others and must not be run. It knows the usual
// interpreters, not every program that runs what it is given.
func codeInjection(command []string) (place, in string) {
	for i, arg := range command {
		program := strings.TrimRight(strings.TrimSuffix(strings.ToLower(filepath.Base(arg)), ".exe"), "0123456789.")
		how, ok := interpreters[program]
		if !ok {
			continue
		}
		option := ""
		for _, next := range command[i+1:] {
			is := isOption(next) || next == "eval" && program == "deno"
			if name := codeOption(next, how.letters, how.names); is && name != "" {
				option = name
			}
			if p := placeIn(next); p != "" && option != "" && (!is || isCodeJoined(next, option)) {
				return p, program + " " + option
			}
			if !is && !(program == "env" && strings.Contains(next, "=")) {
				break // code, or the name of a program
			}
		}
	}
	return "", ""
}

func isOption(arg string) bool {
	return len(arg) > 1 && (arg[0] == '-' || arg[0] == '+' || arg[0] == '/' && len(arg) == 2)
}

// codeOption is the option behind which, or in which, code stands; "" for another argument.
func codeOption(arg, letters string, names []string) string {
	name, _, _ := strings.Cut(arg, "=")
	for _, n := range names {
		if strings.EqualFold(name, n) {
			return n
		}
	}
	if letters == "" || arg[0] != '-' || strings.HasPrefix(arg, "--") {
		return ""
	}
	// Of letters joined, up to what can be a value: -lc, -cprint(…).
	for i := 1; i < len(arg) && (arg[i]|0x20 >= 'a' && arg[i]|0x20 <= 'z'); i++ {
		if strings.IndexByte(letters, arg[i]) >= 0 {
			return arg[:i+1]
		}
	}
	return ""
}

// isCodeJoined reports whether the code stands in the option itself.
func isCodeJoined(arg, option string) bool { return len(arg) > len(option) }

func placeIn(arg string) string {
	for _, p := range fromTasks {
		if strings.Contains(arg, p) {
			return p
		}
	}
	return ""
}
