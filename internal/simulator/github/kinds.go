package github

// The kinds of faults, as the audit counts them and as nasty mode draws them.
const (
	FaultServerError     = "server_error"
	FaultHTMLPage        = "html_page"
	FaultMalformed       = "malformed_json"
	FaultTruncated       = "truncated_body"
	FaultReset           = "connection_reset" // without an answer
	FaultCut             = "connection_cut"   // in the middle of an answer
	FaultDelayed         = "delayed_answer"
	FaultSlow            = "slow_body"
	FaultHuge            = "huge_body"
	FaultSecondary       = "secondary_limit"
	FaultSecondarySilent = "secondary_limit_without_retry_after"
	FaultAbsurdWait      = "absurd_retry_after"
	FaultUnauthorized    = "unauthorized_once"
	FaultNotFound        = "not_found_once"
	FaultRedirect        = "redirect_elsewhere"
	FaultResetPast       = "reset_in_the_past"
	FaultResetFar        = "reset_far_ahead"
	FaultClock           = "clock_jump"
	FaultOther           = "other"

	FaultPartialNode       = "partial_node"
	FaultPartialField      = "partial_field"
	FaultPartialConnection = "partial_connection"
	FaultPartialAlias      = "partial_alias"
	FaultPartialDeeper     = "partial_deeper"       // the error's path goes on below what is null
	FaultPartialNoPath     = "partial_without_path" // something is null, and no error says what
	FaultNodeNotFound      = "node_not_found"
	FaultNodeForbidden     = "node_forbidden"
	FaultQueryTimeout      = "query_timeout"
	FaultHeavy             = "heavy_page"
)

// The kinds of changes of the world that nasty mode makes.
const (
	ChangeOrdinary       = "ordinary_change" // pushes, issues, edits, merges, stars
	ChangePart           = "part_changed"    // a comment, a label and the like was added or edited
	ChangePartDeleted    = "part_deleted"
	ChangeIssueDeleted   = "issue_deleted"
	ChangeIssueShifted   = "issue_deleted_between_pages"
	ChangeIssueRestored  = "issue_restored"
	ChangeRepoDeleted    = "repository_deleted"
	ChangeRepoRestored   = "repository_restored"
	ChangeTransferred    = "repository_transferred"
	ChangeRenamed        = "repository_renamed"
	ChangeVisibility     = "repository_visibility"
	ChangeBlocked        = "repository_blocked"
	ChangeUnblocked      = "repository_unblocked"
	ChangeAccessTaken    = "access_withdrawn"
	ChangeAccessGranted  = "access_granted"
	ChangeForcePush      = "force_push"
	ChangeLateMerge      = "late_merge"
	ChangeHeavyConnected = "connection_became_heavy"
)

// FaultKinds lists the faults that nasty mode draws from.
func FaultKinds() []string {
	return append(append([]string{}, wireFaults...), append([]string{FaultNotFound}, queryFaults...)...)
}

// ChangeKinds lists the changes that nasty mode draws from.
func ChangeKinds() []string {
	kinds := []string{ChangeIssueShifted, ChangeHeavyConnected}
	for _, u := range upheavals() {
		kinds = append(kinds, u.kind)
	}
	return kinds
}

// wireFaults can befall any request.
var wireFaults = []string{
	FaultServerError, FaultHTMLPage, FaultMalformed, FaultTruncated, FaultReset, FaultCut, FaultDelayed, FaultSlow,
	FaultHuge, FaultSecondary, FaultSecondarySilent, FaultAbsurdWait, FaultUnauthorized, FaultRedirect,
	FaultResetPast, FaultResetFar, FaultClock,
}

// queryFaults befall GraphQL alone.
var queryFaults = []string{
	FaultPartialNode, FaultPartialField, FaultPartialConnection, FaultPartialAlias, FaultPartialDeeper,
	FaultPartialNoPath, FaultNodeNotFound, FaultNodeForbidden, FaultQueryTimeout,
}
