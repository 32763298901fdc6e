package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// ciStep is what a job of docs/ci.md runs, as a CI system hands it to a shell.
type ciStep struct {
	name, when, run string
}

// ciPages reads the two workflows of docs/ci.md.
func ciPages(t *testing.T) (github, gitlab map[string]any) {
	t.Helper()
	data, err := os.ReadFile(page("ci.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(data), -1)
	if len(blocks) != 2 {
		t.Fatalf("docs/ci.md has %d workflows, want those of GitHub Actions and GitLab CI", len(blocks))
	}
	for i, into := range []*map[string]any{&github, &gitlab} {
		if err := yaml.Unmarshal([]byte(blocks[i][1]), into); err != nil {
			t.Fatalf("docs/ci.md, workflow %d: %v", i+1, err)
		}
	}
	return github, gitlab
}

// at walks into a document, or ends the test.
func at(t *testing.T, v any, path ...string) any {
	t.Helper()
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok || m[key] == nil {
			t.Fatalf("docs/ci.md: no %s", strings.Join(path, "."))
		}
		v = m[key]
	}
	return v
}

// ciBox is a folder with the evals of a project and gh. The program itself is
// this test under the name passhat, which TestMain puts on the PATH.
func ciBox(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"gate.yaml": "max_flakiness: 0.5\nprofiles: {pr: {inconclusive: pass}}\n",
		"bin/gh":    "#!/bin/sh\ntest -s \"$5\" && echo \"$@\" >> gh.log\n",
		// Ten tasks that always pass; each night is a run of its own.
		"run-evals": `#!/bin/sh
: > "$4"
for task in a b c d e f g h i j; do i=0; while [ $i -lt "$2" ]; do
echo "{\"suite\":\"s\",\"run_id\":\"$NIGHT\",\"run_at\":\"2026-11-0${NIGHT}T00:00:00Z\",\"task_id\":\"$task\",\"trial\":$i,\"model\":\"m\",\"passed\":true}" >> "$4"
i=$((i+1)); done; done
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ciRun runs one script with bash -e, as both systems do.
func ciRun(t *testing.T, dir, script string, env ...string) int {
	t.Helper()
	cmd := exec.Command("bash", "-e", "-c", script)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + dir, "PASSHAT_STORE=passhat-store"}, env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return 0
	}
	exit, ok := err.(*exec.ExitError)
	if !ok {
		t.Fatal(err)
	}
	t.Logf("%s\n%s", script, out)
	return exit.ExitCode()
}

func ciFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s was not written", name)
		}
		os.Remove(filepath.Join(dir, name))
	}
}

// The workflows of docs/ci.md are run: two nights, then a pull request.
func TestCIPages(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	github, gitlab := ciPages(t)
	t.Run("github", func(t *testing.T) {
		dir := ciBox(t)
		var steps []ciStep
		for _, s := range at(t, github, "jobs", "gate", "steps").([]any) {
			m := s.(map[string]any)
			if run, ok := m["run"].(string); ok {
				name, _ := m["name"].(string)
				when, _ := m["if"].(string)
				steps = append(steps, ciStep{name, when, run})
			}
		}
		event := func(name, trials, night string, want ...int) {
			t.Helper()
			var got []int
			for _, s := range steps {
				if strings.Contains(s.when, "'") && !strings.Contains(s.when, "'"+name+"'") {
					continue
				}
				run := regexp.MustCompile(`\$\{\{ github\.event_name[^}]*\}\}`).ReplaceAllString(s.run, trials)
				run = strings.ReplaceAll(run, "${{ github.event.number }}", "7")
				if strings.Contains(run, "${{") {
					t.Fatalf("step %s: an expression that this test does not know: %s", s.name, run)
				}
				got = append(got, ciRun(t, dir, run, "NIGHT="+night))
			}
			if len(got) != len(want) {
				t.Fatalf("%s ran %d steps, want %d", name, len(got), len(want))
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%s, night %s, step %d: exit code %d, want %d", name, night, i+1, got[i], want[i])
				}
			}
		}
		event("schedule", "8", "1", 0, 3) // no baseline yet
		event("schedule", "8", "2", 0, 0)
		ciFiles(t, dir, "gate.md", "gate.xml", "gate.html")
		event("pull_request", "3", "3", 0, 0, 0)
		ciFiles(t, dir, "gate.md", "gate.xml", "gate.html", "gh.log")
	})
	t.Run("gitlab", func(t *testing.T) {
		dir := ciBox(t)
		var lines []string
		for _, line := range at(t, gitlab, "gate", "script").([]any) {
			lines = append(lines, line.(string))
		}
		script := strings.Join(lines, "\n")
		for _, c := range []struct {
			source, trials, night string
			want                  int
		}{{"schedule", "8", "1", 3}, {"schedule", "8", "2", 0}, {"merge_request_event", "3", "3", 0}} {
			if got := ciRun(t, dir, script, "CI_PIPELINE_SOURCE="+c.source, "TRIALS="+c.trials, "NIGHT="+c.night); got != c.want {
				t.Errorf("%s, night %s: exit code %d, want %d", c.source, c.night, got, c.want)
			}
		}
		ciFiles(t, dir, "gate.md", "gate.xml", "gate.html")
	})
}
