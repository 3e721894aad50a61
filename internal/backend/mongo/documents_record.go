package mongo

import (
	"strconv"
	"time"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// The names of fields of documents that queries use.
const (
	fieldAccount    = "account"
	fieldKind       = "kind"
	fieldName       = "name"
	fieldVersion    = "version"
	fieldRepository = "repository"
	fieldNumber     = "number"
	fieldCreatedAt  = "created_at"
	fieldUpdatedAt  = "updated_at"
	fieldSum        = "sum"
	fieldPayload    = "payload"
	fieldSeenAt     = "seen_at"
	fieldGoneWhy    = "gone_why"
	fieldGoneAt     = "gone_at"
	fieldGoneLast   = "gone_last"
	fieldDeleted    = "deleted"
	fieldOwn        = "own"
	fieldTitle      = "title"
	fieldContent    = "content"
)

// maxRecord is what the server takes, less what an update is wrapped in.
const maxRecord = 16<<20 - 64<<10

// documentRecord is a document as it is stored. Instants are microseconds since
// 1970, 0 for none: BSON's own dates are cut to milliseconds.
type documentRecord struct {
	ID         string `bson:"_id"`
	Account    int64  `bson:"account"`
	Kind       string `bson:"kind"`
	Name       string `bson:"name"`
	Version    int64  `bson:"version"`
	Repository int64  `bson:"repository"`
	Number     int64  `bson:"number"`
	CreatedAt  int64  `bson:"created_at"`
	UpdatedAt  int64  `bson:"updated_at,omitempty"`
	ClosedAt   int64  `bson:"closed_at,omitempty"`
	MergedAt   int64  `bson:"merged_at,omitempty"`
	State      string `bson:"state,omitempty"`
	Title      string `bson:"title,omitempty"`
	Author     string `bson:"author,omitempty"`
	Language   string `bson:"language,omitempty"`
	ClosedBy   string `bson:"closed_by,omitempty"`
	Stars      int64  `bson:"stars,omitempty"`
	Additions  int64  `bson:"additions,omitempty"`
	Deletions  int64  `bson:"deletions,omitempty"`
	Fork       bool   `bson:"fork,omitempty"`
	Private    bool   `bson:"private,omitempty"`
	External   bool   `bson:"external,omitempty"`
	Truncated  bool   `bson:"truncated,omitempty"`
	Measured   bool   `bson:"measured,omitempty"`
	// Own are the values that only its kind has, by the names of their columns.
	Own bson.D `bson:"own,omitempty"`
	// Payload is the JSON, compressed with zstd; missing if it is empty.
	Payload []byte `bson:"payload,omitempty"`
	// Sum is of everything above, in records that were stored before those had a
	// content.
	Sum []byte `bson:"sum,omitempty"`
	// Content stands for all that the record shows but its version; 0 if it is not
	// known.
	Content  int64 `bson:"content,omitempty"`
	Presence `bson:",inline"`
	// Deleted is set in records that were flagged before absences had a reason
	// and an instant.
	Deleted bool `bson:"deleted,omitempty"`
	// Unfed is what the feed does not tell of yet, and Told what it told of the
	// record's absence; ToldTitle is the title of a container that was told to all
	// that lies in it.
	Unfed     *unfed `bson:"unfed,omitempty"`
	Told      *told  `bson:"told,omitempty"`
	ToldTitle string `bson:"told_title,omitempty"`
}

// Presence is what a record, or that of a repository, says of being there: when it
// was last seen, and the absence that was claimed of it (see document.Mark).
type Presence struct {
	SeenAt   int64  `bson:"seen_at,omitempty"`
	GoneWhy  string `bson:"gone_why,omitempty"`
	GoneAt   int64  `bson:"gone_at,omitempty"`
	GoneLast int64  `bson:"gone_last,omitempty"`
}

func (p Presence) mark() document.Mark {
	if p.GoneWhy == "" {
		return document.Mark{}
	}
	return document.Mark{Why: document.Reason(p.GoneWhy), Since: instant(p.GoneAt), Last: instant(p.GoneLast)}
}

func (r *documentRecord) mark() document.Mark {
	if r.Deleted && r.GoneWhy == "" {
		return document.Mark{Why: document.GoneDeleted}
	}
	return r.Presence.mark()
}

// identity is the record's id: the parts of the key, and the length of the one
// that could be mistaken for what follows it.
func identity(k document.Key) string {
	return strconv.FormatInt(k.Account, 10) + ":" + strconv.Itoa(len(k.Kind)) + ":" + string(k.Kind) + ":" + k.Name
}

func checkKey(k document.Key) error {
	if !utf8.ValidString(string(k.Kind)) || !utf8.ValidString(k.Name) {
		return domain.Errorf(domain.CodeInvalid, "a document's kind and name must be UTF-8; got %+q and %+q", string(k.Kind), k.Name)
	}
	return nil
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func instant(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// item is a record on its way to the server.
type item struct {
	record  documentRecord
	encoded bson.Raw
}

// encode makes the record of a document, all but its last form.
func (s *Documents) encode(d *document.Document) (item, error) {
	if err := checkKey(d.Key); err != nil {
		return item{}, err
	}
	r := documentRecord{
		ID: identity(d.Key), Account: d.Account, Kind: string(d.Kind), Name: d.Name, Version: micros(d.Version),
		Repository: d.Repository, Number: d.Number,
		CreatedAt: micros(d.CreatedAt), UpdatedAt: micros(d.UpdatedAt), ClosedAt: micros(d.ClosedAt), MergedAt: micros(d.MergedAt),
		State: text(d.State), Title: text(d.Title), Author: text(d.Author), Language: text(d.Language), ClosedBy: text(d.ClosedBy),
		Stars: d.Stars, Additions: d.Additions, Deletions: d.Deletions,
		Fork: d.Fork, Private: d.Private, External: d.External, Truncated: d.Truncated, Measured: d.Measured,
	}
	r.Own = s.ownValues(d)
	if len(d.Raw) > 0 {
		r.Payload = s.enc.EncodeAll(d.Raw, make([]byte, 0, len(d.Raw)/4+64))
	}
	var err error
	if r.Content, err = content(&r, d.Raw); err != nil {
		return item{}, err
	}
	r.SeenAt = micros(d.SeenAt)
	it := item{record: r}
	if err := it.encode(); err != nil {
		return item{}, err
	}
	if len(it.encoded) > maxRecord {
		return item{}, domain.Errorf(domain.CodeInvalid,
			"the %s %q of account %d is too large for MongoDB: its payload of %d bytes makes %d when compressed, and a document has at most %d",
			d.Kind, d.Name, d.Account, len(d.Raw), len(it.encoded), maxRecord)
	}
	return it, nil
}

func (it *item) encode() (err error) {
	if it.encoded, err = bson.Marshal(&it.record); err != nil {
		return domain.Errorf(domain.CodeInternal, "encode %s: %w", it.record.ID, err)
	}
	return nil
}

// meet makes one item of two with the same key: of their copies the newer
// counts, the later one if they have one version, and that both were seen.
func (it *item) meet(later item) error {
	at := max(it.record.SeenAt, later.record.SeenAt)
	if later.record.Version >= it.record.Version {
		*it = later
	}
	if it.record.SeenAt == at {
		return nil
	}
	it.record.SeenAt = at
	return it.encode()
}

// decode is the inverse of encode; inherited is the absence of the document's
// repository. A record that was read without its payload is a document without
// one.
func (s *Documents) decode(r *documentRecord, inherited document.Mark) (document.Document, error) {
	d := document.Document{
		Key:     document.Key{Account: r.Account, Kind: document.Kind(r.Kind), Name: r.Name},
		Version: instant(r.Version),
		SeenAt:  instant(r.SeenAt),
		Fields: document.Fields{
			Repository: r.Repository, Number: r.Number, State: r.State, Title: r.Title, Author: r.Author, Language: r.Language,
			Stars: r.Stars, Additions: r.Additions, Deletions: r.Deletions,
			CreatedAt: instant(r.CreatedAt), UpdatedAt: instant(r.UpdatedAt), ClosedAt: instant(r.ClosedAt), MergedAt: instant(r.MergedAt),
			ClosedBy: r.ClosedBy, Fork: r.Fork, Private: r.Private, External: r.External,
			Truncated: r.Truncated, Measured: r.Measured,
		},
	}
	s.readOwn(&d, r.Own)
	s.kinds.SetGone(&d, r.mark(), inherited)
	if len(r.Payload) == 0 {
		return d, nil
	}
	var err error
	if d.Raw, err = s.dec.DecodeAll(r.Payload, nil); err != nil {
		return document.Document{}, domain.Errorf(domain.CodeCorrupt, "the stored payload of %s cannot be decompressed: %w", r.ID, err)
	}
	return d, nil
}
