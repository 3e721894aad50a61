package source

var verdictNames = [...]string{Done: "done", Retry: "retry", Wait: "wait", Fail: "fail", FailRun: "fail_run", PauseAccount: "pause_account"}

// String is what logs and spans call it.
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return "unknown"
}
