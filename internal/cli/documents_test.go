package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/internal/config"
)

var (
	// spans are what a document shows as typed: fenced and indented blocks, and
	// what stands in backquotes.
	fences   = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```")
	indented = regexp.MustCompile(`(?m)^    \S.*$`)
	inline   = regexp.MustCompile("`([^`\n]+)`")
	// calls begin with the program, perhaps behind a prompt or what sets variables.
	calls = regexp.MustCompile(`(?:^|[\s($;&|])(?:\./)?(?:bin/)?sluice ((?:--?[a-z]|[a-z])[^|;&\n#)]*)`)
	// flags that stand alone, such as `--every 6h`.
	loneFlag  = regexp.MustCompile(`^--[a-z][a-z-]+`)
	variables = regexp.MustCompile(`\bSLUICE_[A-Z][A-Z_]*[A-Z]\b`)
)

// testVariables are variables that tests and scripts read.
var testVariables = []string{"SLUICE_TEST_", "SLUICE_GITHUB_SCHEMA"}

// TestDocumentsNameWhatThereIs: every command, flag and variable that a
// document names can be typed.
func TestDocumentsNameWhatThereIs(t *testing.T) {
	commandLines, variablesSeen := 0, 0
	all := commands(t)
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(file, "../../")
		for _, span := range typed(string(text)) {
			for _, call := range calls.FindAllStringSubmatch(span, -1) {
				commandLines++
				if problem := checkCall(all, call[1]); problem != "" {
					t.Errorf("%s: `sluice %s`: %s", name, strings.TrimSpace(call[1]), problem)
				}
			}
			if flag := loneFlag.FindString(span); flag != "" && !isFlagOfSomething(all, flag[2:]) {
				t.Errorf("%s: no command has %s", name, flag)
			}
		}
		for _, variable := range variables.FindAllString(string(text), -1) {
			variablesSeen++
			if !isVariable(all, variable) {
				t.Errorf("%s: nothing reads %s", name, variable)
			}
		}
	}
	if commandLines < 90 || variablesSeen < 20 {
		t.Errorf("only %d command lines and %d variables were found", commandLines, variablesSeen)
	}
}

// documents are those for people who use the program.
func documents(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"../../README.md", "../../docs/*.md", "../../deploy/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	return files
}

// typed returns what a document shows as typed.
func typed(text string) (spans []string) {
	for _, fence := range fences.FindAllStringSubmatch(text, -1) {
		spans = append(spans, strings.Split(strings.ReplaceAll(fence[1], "\\\n", " "), "\n")...)
	}
	text = fences.ReplaceAllString(text, "")
	spans = append(spans, indented.FindAllString(text, -1)...)
	for _, span := range inline.FindAllStringSubmatch(text, -1) {
		spans = append(spans, span[1])
	}
	return spans
}

// checkCall says what is wrong with a command line. Arguments are not looked
// at: documents name them in capitals.
func checkCall(all map[string]*cobra.Command, line string) string {
	words := strings.Fields(line)
	root := all[""]
	c, rest, err := root.Find(slices.Collect(wordsBefore(words, "…")))
	if err != nil {
		return err.Error()
	}
	if !c.Runnable() && c.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && isWord(rest[0]) {
		return "there is no such command"
	}
	for _, word := range words {
		word = strings.TrimLeft(word, "[(")
		flag, _, _ := strings.Cut(strings.TrimRight(word, "])…,.;:"), "=")
		switch {
		case strings.HasPrefix(flag, "--") && len(flag) > 2:
			if find(c, func(f *pflag.Flag) bool { return f.Name == flag[2:] }) == nil && flag != "--help" && flag != "--version" {
				return "it has no flag " + flag
			}
		case len(flag) == 2 && flag[0] == '-' && flag != "-h":
			if find(c, func(f *pflag.Flag) bool { return f.Shorthand == flag[1:] }) == nil {
				return "it has no flag " + flag
			}
		}
	}
	return ""
}

// wordsBefore yields the words up to one that stands for others.
func wordsBefore(words []string, end string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, word := range words {
			if word == end || !yield(word) {
				return
			}
		}
	}
}

var word = regexp.MustCompile(`^[a-z]+$`)

func isWord(text string) bool { return word.MatchString(text) }

func find(c *cobra.Command, is func(*pflag.Flag) bool) (found *pflag.Flag) {
	look := func(f *pflag.Flag) {
		if is(f) {
			found = f
		}
	}
	c.LocalFlags().VisitAll(look)
	c.InheritedFlags().VisitAll(look)
	return found
}

func isFlagOfSomething(all map[string]*cobra.Command, name string) bool {
	for _, c := range all {
		if find(c, func(f *pflag.Flag) bool { return f.Name == name }) != nil {
			return true
		}
	}
	return name == "help"
}

func isVariable(all map[string]*cobra.Command, name string) bool {
	if slices.ContainsFunc(testVariables, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
		return true
	}
	return len(config.UnknownVariables([]string{name + "=x"}, flagNames(all[""]))) == 0
}
