package runner_test

import (
	"strings"
	"testing"
)

// What a task says is an argument or stands in the environment; it is never code.
func TestPromptIsNeverCode(t *testing.T) {
	for _, tt := range []struct {
		command []string
		refused string // the place
	}{
		{[]string{"sh", "-c", "agent '{prompt}'"}, "{prompt} within the text of sh -c"},
		{[]string{"env", "A=1", "/bin/bash", "-lc", "agent {task_id}"}, "{task_id} within the text of bash -lc"},
		{[]string{"python3", "-c", "print('{state}')"}, "{state} within the text of python -c"},
		{[]string{"python3", "-cprint('{prompt}')"}, "{prompt} within the text of python -c"},
		{[]string{"/usr/bin/python3.11", "-c", "print('{prompt}')"}, "{prompt} within the text of python -c"},
		{[]string{"bash", "-c", "--", "echo {prompt}"}, "{prompt} within the text of bash -c"},
		{[]string{"bash", "-c", "-x", "echo {prompt}"}, "{prompt} within the text of bash -c"},
		{[]string{"env", "-S", "bash -c \"echo {prompt}\""}, "{prompt} within the text of env -S"},
		{[]string{"node", "-p", "{prompt}"}, "{prompt} within the text of node -p"},
		{[]string{"node", "--eval={prompt}"}, "{prompt} within the text of node --eval"},
		{[]string{"perl", "-E", "print '{prompt}'"}, "{prompt} within the text of perl -E"},
		{[]string{"python3", "agent.py", "-r", "{task_id}"}, ""},
		{[]string{"python3", "agent.py", "--seed", "1", "-c", "{prompt}"}, ""},
		{[]string{"env", "A=1", "./agent", "-c", "{prompt}"}, ""},
		{[]string{"sh", "-c", "agent \"$1\"", "sh", "{prompt}"}, ""},
		{[]string{"sh", "-c", "agent \"$PASSHAT_PROMPT\""}, ""},
		{[]string{"sh", "-c", "cd {dir} && true {trial} {seed}"}, ""},
		{[]string{"true", "-c", "{prompt}"}, ""},
		{[]string{"sh", "{dir}/agent.sh", "{prompt}"}, ""},
	} {
		s := spec(t, "true", `{"task_id":"a","prompt":"'; touch broken; '"}`)
		s.Command = tt.command
		_, _, err := do(t, t.Context(), s)
		switch {
		case tt.refused == "" && err != nil && !strings.Contains(err.Error(), "no program"):
			t.Errorf("%q: %v", tt.command, err)
		case tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused) || !strings.Contains(err.Error(), "$PASSHAT_")):
			t.Errorf("%q: %v, want it refused for %s", tt.command, err, tt.refused)
		}
	}
}
