// Goclient uses the client that is generated from the description: it lists
// accounts, starts a collection at the simulated upstream, and follows its events
// to the end.
//
//	goclient URL API_TOKEN LOGIN TOKEN
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
)

func main() {
	if err := use(context.Background(), os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// outcome is what the test looks at.
type outcome struct {
	Before    int            `json:"before"`
	After     int            `json:"after"`
	First     string         `json:"first"`
	Status    ProgressStatus `json:"status"`
	Documents int64          `json:"documents"`
	Resumed   int            `json:"resumed"`
	Missing   ProblemCode    `json:"missing"`
	Page      string         `json:"page"`
}

func use(ctx context.Context, url, apiToken, login, token string) error {
	authorize := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+apiToken)
		return nil
	}
	c, err := NewClientWithResponses(url, WithRequestEditorFn(authorize))
	if err != nil {
		return err
	}
	var out outcome
	if out.Before, err = accounts(ctx, c); err != nil {
		return err
	}
	key := "go-" + login
	var runs []int64
	for range 2 {
		started, err := c.SignupWithResponse(ctx, &SignupParams{IdempotencyKey: &key}, SignupRequest{Source: "github", Login: login, Token: &token})
		if err != nil || started.JSON201 == nil || started.JSON201.Run == nil {
			return fmt.Errorf("sign up: %s, %w", started.Body, err)
		}
		runs = append(runs, started.JSON201.Run.Id)
	}
	if runs[0] != runs[1] {
		return fmt.Errorf("the same request began the runs %v", runs)
	}
	id, err := out.follow(ctx, c, runs[0])
	if err != nil {
		return err
	}
	again, err := c.WatchRun(ctx, runs[0], &WatchRunParams{LastEventID: &id})
	if err != nil {
		return err
	}
	out.Resumed = again.StatusCode
	if out.After, err = accounts(ctx, c); err != nil {
		return err
	}
	missing, err := c.GetAccountWithResponse(ctx, "nobody", nil)
	if err != nil || missing.ApplicationproblemJSON404 == nil {
		return fmt.Errorf("an account that is not there: %v", err)
	}
	out.Missing, out.Page = missing.ApplicationproblemJSON404.Code, *missing.ApplicationproblemJSON404.Type
	return json.NewEncoder(os.Stdout).Encode(out)
}

func accounts(ctx context.Context, c *ClientWithResponses) (int, error) {
	list, err := c.ListAccountsWithResponse(ctx, nil)
	if err != nil || list.JSON200 == nil {
		return 0, fmt.Errorf("list accounts: %v", err)
	}
	return len(list.JSON200.Items), nil
}

// follow reads events until the stream ends, and returns the last one's id.
func (out *outcome) follow(ctx context.Context, c *ClientWithResponses, run int64) (id string, err error) {
	response, err := c.WatchRun(ctx, run, nil)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	name := ""
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "id":
			id = value
		case "event":
			name = value
			if out.First == "" {
				out.First = name
			}
		case "data":
			var p Progress
			if err := json.Unmarshal([]byte(value), &p); err != nil || name == "error" {
				return "", fmt.Errorf("the event %s: %s, %v", name, value, err)
			}
			out.Status, out.Documents = p.Status, p.Documents
		}
	}
	return id, lines.Err()
}
