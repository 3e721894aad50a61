package github

import "strconv"

var (
	eventNames   = [eventKinds]string{"PushEvent", "IssuesEvent", "IssuesEvent", "PullRequestEvent", "PullRequestEvent", "WatchEvent"}
	eventActions = [eventKinds]string{"", "opened", "closed", "opened", "closed", "started"}
)

// event writes one entry of an account's activity.
func (w *renderer) event(e event) {
	r, ok := w.world.repoByID(e.repo)
	if !ok {
		w.open('{')
		w.key("id").join(e.id())
		w.close('}')
		return
	}
	actor := w.world.person(e.account)
	w.open('{')
	w.key("id").join(e.id())
	w.key("type").join(eventNames[e.kind])
	w.key("actor").open('{')
	w.key("id").int(actor.id)
	w.key("login").join(actor.login)
	w.key("display_login").join(actor.login)
	w.key("gravatar_id").join()
	w.key("url").join(w.base, "/users/", actor.login)
	w.key("avatar_url").join("https://avatars.example.com/u/", strconv.FormatInt(actor.id, 10), "?")
	w.close('}')
	w.key("repo").open('{')
	w.key("id").int(r.id)
	w.key("name").join(r.fullName())
	w.key("url").join(w.base, "/repos/", r.fullName())
	w.close('}')
	w.key("payload")
	w.payload(&e, r)
	w.key("public").bool(!r.private)
	w.key("created_at").time(e.at)
	w.close('}')
}

func (w *renderer) payload(e *event, r *repo) {
	w.open('{')
	switch e.kind {
	case eventPush:
		w.key("repository_id").int(r.id)
		w.key("push_id").int(20_000_000_000 + r.id*1000 + int64(e.number))
		w.key("ref").join("refs/heads/main")
		w.key("head").join(shaOf(r.key, e.number))
		w.key("before").join(shaOf(r.key, max(e.number-1, 0)))
	case eventIssueOpened, eventIssueClosed:
		w.key("action").join(eventActions[e.kind])
		w.key("issue")
		w.brief(e, r)
	case eventPullOpened, eventPullMerged:
		w.key("action").join(eventActions[e.kind])
		w.key("number").int(int64(e.number))
		w.key("pull_request")
		w.brief(e, r)
	default:
		w.key("action").join(eventActions[e.kind])
	}
	w.close('}')
}

// brief writes the item as it stood when the event happened: an event never
// changes afterwards.
func (w *renderer) brief(e *event, r *repo) {
	it, _ := r.itemAt(e.number, e.at)
	id := it.id()
	if it.pull {
		id = it.pullID()
	}
	w.open('{')
	w.key("id").int(id)
	w.key("node_id").join(it.ownNodeID())
	w.key("number").int(int64(it.number))
	w.key("title").str(it.title())
	w.key("state").join(restState(&it))
	w.close('}')
}
