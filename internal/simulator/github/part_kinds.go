package github

import "strconv"

// The ids of parts: so many kinds of a repository, and so many of each, have ids of
// their own.
const (
	mostPartKinds = 32
	mostParts     = 4_000_000
)

func (p *part) id() int64 {
	return ((p.repo.id-repoIDBase)*mostPartKinds+int64(p.kind))*mostParts + int64(p.serial) + 1
}

func (p *part) title() string { return partNames[p.kind] + " " + strconv.Itoa(p.serial) + editsOf(p) }

// name is what names a part where that is not its id, empty otherwise.
func (p *part) name() string {
	switch p.kind {
	case partBranch, partTag, partContributor:
		return partNames[p.kind] + "-" + strconv.Itoa(p.serial)
	case partDependabot, partScanning:
		return strconv.Itoa(p.serial + 1)
	case partPullCommit:
		return strconv.Itoa(p.number) + ":" + p.sha()
	case partPullFile:
		return strconv.Itoa(p.number) + ":" + p.file()
	}
	return ""
}

// sha is the commit that a part stands at, which is another after every edit.
func (p *part) sha() string { return shaOf(p.key, p.edits) }

func (p *part) file() string { return "internal/" + strconv.Itoa(p.serial) + ".go" }

// words are what the truth tells of a part beside its name.
func (p *part) words() string {
	switch p.kind {
	case partBranch, partTag:
		return p.name() + " " + p.sha()
	case partContributor:
		return p.name() + " " + strconv.Itoa(p.contributions())
	case partIssueEvent:
		return p.event()
	case partPullFile:
		return p.file()
	}
	return p.title()
}

func (p *part) contributions() int { return 10 + p.edits }

func (p *part) event() string {
	return []string{"labeled", "assigned", "closed", "milestoned", "renamed"}[p.key%5]
}

// aboutItem tells whether parts of a kind belong to an issue or a pull request.
func (k partKind) aboutItem() bool { return k == partComment || k == partIssueEvent || k.aboutPull() }

func (k partKind) aboutPull() bool {
	return k == partReviewComment || k == partReview || k == partPullCommit || k == partPullFile
}

// nobodys tells whether parts of a kind are not told to be by anybody.
func (k partKind) nobodys() bool {
	switch k {
	case partLabel, partBranch, partTag, partContributor, partDependabot, partScanning, partPullFile:
		return true
	}
	return false
}

// fixed tells whether parts of a kind never change once they are there.
func (k partKind) fixed() bool {
	return k == partIssueEvent || k == partPullCommit || k == partPullFile
}

// switchedOff tells whether a repository has parts of a kind at all.
func (r *repo) switchedOff(k partKind) bool {
	switch k {
	case partDependabot:
		return r.key%4 == 0
	case partScanning:
		return r.key%3 == 0
	case partDiscussion:
		return r.key%5 == 0
	case partBranch, partTag, partContributor:
		return r.commitCount() == 0
	}
	return false
}
