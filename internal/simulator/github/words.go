package github

// The vocabulary from which names, titles and messages are drawn. Some entries
// hold quotes, backslashes and characters outside ASCII on purpose: collectors
// meet them.
var (
	handles     = []string{"octo", "mira", "jun", "tamsin", "kofi", "ines", "bjorn", "yuki", "devon", "sable", "arlo", "noor"}
	givenNames  = []string{"Mira", "Jun", "Tamsin", "Kofi", "Inês", "Bjørn", "Yuki", "Devon", "Żaneta", "Arlo", "Noor", "민준"}
	familyNames = []string{"Okafor", "Lindqvist", "Tanaka", "O'Neill", "García", "Novák", "Mensah", "Kim", "Haddad", "Smith"}
	companies   = []string{"@octo-works", "Freelance", "University of Nowhere", "Brücke & Söhne", "", "Lighthouse Labs"}
	places      = []string{"Seoul", "Lagos", "Göteborg", "Lisboa", "", "Toronto", "Wellington"}
	languages   = []string{"Go", "Java", "TypeScript", "Python", "Rust", "Kotlin", "C", "Shell", "Ruby", ""}

	repoAdjectives = []string{"tiny", "rapid", "quiet", "broken", "modern", "lazy", "atomic", "plain", "humble", "static", "async", "linear"}
	repoNouns      = []string{"parser", "queue", "dotfiles", "blog", "cache", "router", "ledger", "kernel", "notes", "playground", "scheduler", "client"}

	verbs   = []string{"Fix", "Add", "Remove", "Refactor", "Document", "Rename", "Speed up", "Test", "Revert", "Bump"}
	objects = []string{"the parser", "retry handling", "\"quoted\" names", "path C:\\temp", "README", "시간 처리", "null checks", "the build", "pagination", "<html> escaping", "café menu", "dependencies"}
	reasons = []string{"when the input is empty", "on Windows", "after a rename", "under load", "for large repositories", "in the worker", "(again)", "before release", "so tests pass", "🎉"}
	folders = []string{"cmd", "internal/queue", "src/main/java", "docs", "web/assets", "pkg/store", "test"}
	labels  = []string{"bug", "enhancement", "good first issue", "question", "wontfix", "docs"}
)
