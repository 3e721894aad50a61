package github

import (
	"encoding/json"
	"fmt"
	"strings"
)

// queries are the GraphQL texts, each encoded once as a JSON string.
type queries struct {
	pushedUp, pushedDown, updated, contributed  []byte
	repository, repositoryCommits               []byte
	repositoryThreads, target                   []byte
	history, historyChanges                     []byte
	pulls, pullsChanged, pullsByID, pullsOfMany []byte
	// nested and connected are those of resources, by the types of their jobs.
	nested    map[string]nestedQueries
	connected map[string]connectedQueries
}

// rateLimit is asked in every query: the headers do not tell a query's cost.
const rateLimit = `rateLimit{cost limit remaining resetAt}`

const pageInfo = `totalCount pageInfo{hasNextPage endCursor}`

// ownerFields name an owner by what never changes, beside the login.
const ownerFields = `owner{login ...on User{databaseId} ...on Organization{databaseId}}`

const repositoryBase = `id databaseId nameWithOwner ` + ownerFields + ` description url isFork isPrivate isEmpty isArchived isDisabled ` +
	`hasIssuesEnabled stargazerCount forkCount diskUsage homepageUrl licenseInfo{spdxId} primaryLanguage{name} createdAt updatedAt pushedAt`

const repositoryFields = repositoryBase + ` defaultBranchRef{name}`

// newestFields are asked beside, since a repository's own updatedAt need not
// move when one of its issues does.
const newestFields = ` issues(first:1,orderBy:{field:UPDATED_AT,direction:DESC}){totalCount nodes{updatedAt}}` +
	` pullRequests(first:1,orderBy:{field:UPDATED_AT,direction:DESC}){totalCount nodes{updatedAt}}`

// commitCount prices a first collection; asked for one commit of each of 100
// repositories, it adds no point to the query.
const commitCount = ` defaultBranchRef{target{...on Commit{history(first:1){totalCount}}}}`

// viewer tells whose token it is.
const viewer = `viewer{databaseId} `

// commitFields: asked for how many parents each of 100 commits has, a query costs
// what it does without.
const commitFields = `oid messageHeadline message committedDate authoredDate additions deletions changedFilesIfAvailable url ` +
	`author{name email user{login databaseId}} committer{name email user{login databaseId}} parents{totalCount}`

// wideID asks for the id of what GitHub has more of than GraphQL's Int can count:
// databaseId is refused for these. It is told as a text. Older servers know databaseId
// alone.
const wideID = `databaseId:fullDatabaseId`

const pullFields = `id ` + wideID + ` number title state isDraft createdAt updatedAt closedAt mergedAt merged ` +
	`additions deletions changedFiles url body locked milestone{title} totalCommentsCount authorAssociation author{login} mergedBy{login} ` +
	`baseRefName headRefName baseRepository{databaseId nameWithOwner stargazerCount ` + ownerFields + `} ` +
	`headRepository{databaseId nameWithOwner ` + ownerFields + `}`

// labelFields are asked of up to 100 pull requests, which adds no point to the
// query; asked for who is assigned as well, it would cost two.
const (
	labelFields  = ` labels(first:100){nodes{name}}`
	labelsOfMany = ` labels(first:100)@include(if:$labels){nodes{name}}`
)

// newQueries makes the texts; plain are those for older servers, which do not ask about
// lists.
func newQueries(opt Options, plain bool) queries {
	affiliations := "OWNER"
	if opt.Collaborator {
		affiliations = "OWNER,COLLABORATOR,ORGANIZATION_MEMBER"
	}
	newest := newestFields
	if !plain {
		newest += toldFields(opt.Resources)
	}
	more, _ := beside(opt.Resources)
	text := func(query string) []byte {
		if plain {
			query = strings.ReplaceAll(query, wideID, "databaseId")
		}
		return jsonString(query)
	}
	repositories := func(field, direction, fields, beside string) []byte {
		return jsonString(fmt.Sprintf(`query($login:String!,$after:String,$first:Int!){user:repositoryOwner(login:$login){__typename id ...on Organization{databaseId} repositories(first:$first,after:$after,`+
			`ownerAffiliations:[%s],orderBy:{field:%s,direction:%s}){%s nodes{%s}}}%s%s}`,
			affiliations, field, direction, pageInfo, fields, beside, rateLimit))
	}
	q := queries{
		pushedUp:   repositories("PUSHED_AT", "ASC", repositoryFields+commitCount, viewer),
		pushedDown: repositories("PUSHED_AT", "DESC", repositoryFields, viewer),
		updated:    repositories("UPDATED_AT", "ASC", repositoryFields+newest, ""),
		contributed: jsonString(`query($login:String!,$after:String,$first:Int!){user(login:$login){id repositories:repositoriesContributedTo(first:$first,after:$after){` +
			pageInfo + ` nodes{` + repositoryFields + newest + `}}}` + rateLimit + `}`),
		repository:        repositoryQuery(repositoryFields + newest),
		repositoryCommits: repositoryQuery(repositoryFields),
		repositoryThreads: repositoryQuery(repositoryBase + newest),
		target: jsonString(`query($owner:String!,$name:String!){repository(owner:$owner,name:$name){` + repositoryFields + newest + commitCount +
			`}` + viewer + rateLimit + `}`),
		history:        historyQuery(opt, false),
		historyChanges: historyQuery(opt, true),
		pulls: text(`query($id:ID!,$after:String,$first:Int!){node(id:$id){...on Repository{pullRequests(first:$first,after:$after,` +
			`orderBy:{field:CREATED_AT,direction:ASC}){` + pageInfo + ` nodes{` + pullFields + labelFields + more + `}}}}` + rateLimit + `}`),
		pullsChanged: text(`query($id:ID!,$after:String,$first:Int!){node(id:$id){...on Repository{pullRequests(first:$first,after:$after,` +
			`orderBy:{field:UPDATED_AT,direction:DESC}){` + pageInfo + ` nodes{` + pullFields + labelFields + more + `}}}}` + rateLimit + `}`),
		pullsOfMany: text(`query($ids:[ID!]!,$first:Int!,$labels:Boolean!){nodes(ids:$ids){...on Repository{id pullRequests(first:$first,` +
			`orderBy:{field:CREATED_AT,direction:ASC}){` + pageInfo + ` nodes{` + pullFields + labelsOfMany + `}}}}` + rateLimit + `}`),
		pullsByID: text(`query($ids:[ID!]!){nodes(ids:$ids){...on PullRequest{` + pullFields + labelFields + more + `}}` + rateLimit + `}`),
	}
	q.nested, q.connected = map[string]nestedQueries{}, map[string]connectedQueries{}
	for typ, w := range walks() {
		switch w := w.(type) {
		case *nested:
			q.nested[typ] = w.queries(text)
		case *connected:
			q.connected[typ] = w.queries()
		}
	}
	return q
}

// repositoryQuery asks for one repository.
func repositoryQuery(fields string) []byte {
	return jsonString(`query($id:ID!){node(id:$id){...on Repository{` + fields + `}}` + rateLimit + `}`)
}

// historyQuery walks the default branch. The variant for changes also asks for
// the histories that its proof compares.
func historyQuery(opt Options, changes bool) []byte {
	variables, filter := `$id:ID!,$after:String,$first:Int!,$until:GitTimestamp!`, ``
	if opt.OnlyOwnCommits {
		variables, filter = variables+`,$author:ID!`, `,author:{id:$author}`
	}
	since, beside := ``, ``
	if changes {
		variables, since = variables+`,$since:GitTimestamp!`, `,since:$since`
		beside = ` past:history(first:1,until:$since` + filter + `){totalCount nodes{oid}}` +
			` whole:history(first:1,until:$until` + filter + `){totalCount nodes{oid}}`
	}
	return jsonString(`query(` + variables + `){node(id:$id){...on Repository{defaultBranchRef{target{...on Commit{` +
		`history(first:$first,after:$after,until:$until` + since + filter + `){` + pageInfo + ` nodes{` + commitFields + `}}` + beside +
		`}}}}}` + rateLimit + `}`)
}

func jsonString(query string) []byte {
	// A string always encodes.
	raw, _ := json.Marshal(strings.Join(strings.Fields(query), " "))
	return raw
}

// graphqlRequest makes the body of a GraphQL call.
func graphqlRequest(query []byte, variables map[string]any) request {
	vars := encode(variables)
	body := make([]byte, 0, len(query)+len(vars)+32)
	body = append(body, `{"query":`...)
	body = append(body, query...)
	body = append(body, `,"variables":`...)
	body = append(body, vars...)
	return request{query: append(body, '}')}
}

// cursorOrNull is how the start of a walk is said in GraphQL.
func cursorOrNull(after string) any {
	if after == "" {
		return nil
	}
	return after
}
