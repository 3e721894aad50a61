package declared

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"sluice/internal/domain"
)

// Rename gives the source of a file another name: in its text, and nothing else of it.
func Rename(text []byte, name string) ([]byte, error) {
	if !sourceNames.MatchString(name) {
		return nil, domain.Errorf(domain.CodeInvalid, "%q cannot be the name of a source: give small letters, digits and hyphens, such as my-api", name)
	}
	if len(text) > mostFile {
		return text, nil // which is what is wrong with it
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil || len(document.Content) != 1 {
		return text, nil //nolint:nilerr // who loads it tells what is wrong
	}
	root := document.Content[0]
	for i := 0; root.Kind == yaml.MappingNode && i+1 < len(root.Content); i += 2 {
		if key, value := root.Content[i], root.Content[i+1]; key.Value == "source" && value.Kind == yaml.ScalarNode {
			return replaceScalar(text, value, name)
		}
	}
	return text, nil
}

// replaceScalar writes something else where a value stands.
func replaceScalar(text []byte, at *yaml.Node, instead string) ([]byte, error) {
	width := len(at.Value)
	if at.Style == yaml.SingleQuotedStyle || at.Style == yaml.DoubleQuotedStyle {
		width += 2
	}
	lines := strings.SplitAfter(string(text), "\n")
	if at.Line > len(lines) || at.Column-1+width > len(lines[at.Line-1]) || !strings.Contains(lines[at.Line-1][at.Column-1:at.Column-1+width], at.Value) {
		return nil, domain.Errorf(domain.CodeInvalid, "the name in line %d cannot be replaced: write source: %s there", at.Line, instead)
	}
	line := lines[at.Line-1]
	lines[at.Line-1] = line[:at.Column-1] + instead + line[at.Column-1+width:]
	return []byte(strings.Join(lines, "")), nil
}
