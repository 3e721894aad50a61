package notify

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// titles say what happened once, and several times.
var titles = map[Kind][2]string{
	AccountPaused: {"An account was paused", "%d accounts were paused"},
	RunFailed:     {"A run failed", "%d runs failed"},
	RunIncomplete: {"A run is incomplete", "%d runs are incomplete"},
	DeadLetters:   {"A refresh was given up", "%d refreshes were given up"},
	BreakerOpen:   {"A part fails and is left alone", "Parts failed and were left alone %d times"},
	QuotaFloor:    {"A ration is used up", "%d rations are used up"},
	Test:          {"This is a test", "This is a test"},
}

// Title says in a few words what a message is about.
func (m *Message) Title() string {
	both, known := titles[m.Kind]
	switch {
	case !known:
		return string(m.Kind)
	case m.Count == 1 || m.Kind == Test:
		return both[0]
	}
	return fmt.Sprintf(both[1], m.Count)
}

// Lines are the events of a message, a line each, and how many more there were.
func (m *Message) Lines() []string {
	lines := make([]string, 0, len(m.Events)+1)
	for _, e := range m.Events {
		line := e.At.UTC().Format(time.RFC3339) + " "
		if e.Login != "" {
			line += e.Source + " " + e.Login + ": "
		}
		lines = append(lines, line+e.Text)
	}
	if more := m.Count - int64(len(m.Events)); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more, the last at %s", more, m.Last.UTC().Format(time.RFC3339)))
	}
	return lines
}

// webhookBody is what a webhook says.
type webhookBody struct {
	// Type is that of the Standard Webhooks specification.
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      struct {
		ID     string  `json:"id"`
		Target string  `json:"target"`
		Kind   Kind    `json:"kind"`
		Title  string  `json:"title"`
		Count  int64   `json:"count"`
		Events []Event `json:"events"`
	} `json:"data"`
}

// webhook is the body of a webhook; each attempt says the same.
func (m *Message) webhook() ([]byte, error) {
	body := webhookBody{Type: "sluice." + string(m.Kind), Timestamp: m.CreatedAt.UTC()}
	body.Data.ID, body.Data.Target, body.Data.Kind, body.Data.Title = m.ID, m.Target, m.Kind, m.Title()
	body.Data.Count, body.Data.Events = m.Count, m.Events
	return json.Marshal(body)
}

// slackText escapes what Slack would take for its own marks: names come from
// upstreams.
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

const (
	// maxHeader and maxSection are what Slack takes.
	maxHeader  = 150
	maxSection = 3000
)

type slackBlock struct {
	Type     string       `json:"type"`
	Text     *slackWords  `json:"text,omitempty"`
	Elements []slackWords `json:"elements,omitempty"`
}

type slackWords struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// slack is the body of a message for Slack and what is compatible with it: a
// text for notifications, and blocks for those who show them.
func (m *Message) slack() ([]byte, error) {
	title := m.Title()
	section := ""
	for _, line := range m.Lines() {
		// What is shown whole is better than a message that is refused.
		if line = "• " + slackText.Replace(line) + "\n"; len(section)+len(line) < maxSection {
			section += line
		}
	}
	return json.Marshal(struct {
		Text   string       `json:"text"`
		Blocks []slackBlock `json:"blocks"`
	}{
		Text: slackText.Replace("Sluice: " + title),
		Blocks: []slackBlock{
			{Type: "header", Text: &slackWords{"plain_text", cut("Sluice: "+title, maxHeader)}},
			{Type: "section", Text: &slackWords{"mrkdwn", section}},
			{Type: "context", Elements: []slackWords{{"plain_text", "notification " + m.ID}}},
		},
	})
}

func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
