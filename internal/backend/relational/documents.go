package relational

import (
	"context"
	"database/sql"
	"slices"

	"sluice/internal/document"
	"sluice/internal/document/tables"
	"sluice/internal/domain"
)

// Documents implements document.Store, beside the state or alone. Fields are
// columns, and so are the values of their own that sources declare; payloads are
// compressed together, those of one page in one chunk.
type Documents struct {
	tables.Store[*Tx, packedDocuments]
	tables.Lister
	db      *DB
	kinds   document.Kinds
	columns documentColumns
	chunks  *Sequence
}

var _ document.Store = (*Documents)(nil)

// chunkBlock is how many chunk ids a process takes at a time.
const chunkBlock = 1024

// NewDocuments returns a store of the declared kinds on an open database, in which
// it makes room for them; the caller closes that.
func NewDocuments(ctx context.Context, db *DB, kinds document.Kinds) (*Documents, error) {
	payloads, err := tables.NewPayloads()
	if err != nil {
		return nil, err
	}
	own, err := tables.OwnOf(kinds)
	if err == nil {
		err = db.addColumns(ctx, own)
	}
	if err == nil {
		err = db.makeViews(ctx, kinds)
	}
	if err != nil {
		return nil, err
	}
	s := &Documents{db: db, kinds: kinds, columns: newDocumentColumns(kinds, own), chunks: NewSequence(db, "chunk", chunkBlock)}
	s.Store = tables.NewStore(kinds, payloads, tables.Rows[*Tx, packedDocuments]{
		Transact: db.Tx, Pack: s.pack, Homes: homes, Held: heldOf, Unseen: unseen, Inside: inside, Gone: goneOf, Store: s.store, Seen: markSeen, Sight: sight,
		FlagRepository: flagRepository, FlagUnseen: flagUnseen, Own: s.ownOf, Fill: s.fill, Log: writeLog, Feed: s.feedRows(),
		Find: s.find, FindAll: s.findAll, Scan: s.scan, Batch: scanBatch, RawBatch: scanRawBatch,
	})
	s.Lister = s.lister()
	return s, nil
}

// maxChunk is how large the payloads of a chunk are together, unless a single
// one is larger.
const maxChunk = 4 << 20

// packetSpare is what a packet holds beside a chunk.
const packetSpare = 1 << 10

// PackedDocuments are documents on their way into a transaction.
type PackedDocuments = tables.Packed[packedDocuments]

// packedDocuments are the rows of documents, and of their chunks with how many of
// the documents each is for.
type packedDocuments struct {
	rows, chunks []Row
	sizes        []int
}

// pack compresses documents and makes their rows.
func (s *Documents) pack(ctx context.Context, docs []document.Document, held []document.Held) (p packedDocuments, err error) {
	parts := splitChunks(docs)
	first, err := s.chunks.Take(ctx, len(parts))
	if err != nil {
		return p, err
	}
	p.rows = make([]Row, 0, len(docs))
	for i, part := range parts {
		id := first + int64(i)
		data, starts := s.PackChunk(part)
		if limit := s.db.MaxPacket() - packetSpare; len(data) > limit {
			return p, domain.Errorf(domain.CodeInvalid,
				"document %s %q of account %d has %d compressed bytes; the server takes %d: raise its max_allowed_packet", part[0].Kind, part[0].Name, part[0].Account, len(data), limit)
		}
		for k := range part {
			content := held[len(p.rows)].Content
			p.rows = append(p.rows, s.documentRow(&part[k], tables.Place{Chunk: id, Start: starts[k], Size: len(part[k].Raw)}, content))
		}
		p.chunks, p.sizes = append(p.chunks, chunkRow(id, part[0].Account, data)), append(p.sizes, len(part))
	}
	return p, nil
}

// store writes documents with the chunks that they need. What was not there when it
// was looked for must not be there now either: the transaction would have to be
// repeated.
func (s *Documents) store(ctx context.Context, tx *Tx, chosen []tables.Chosen[packedDocuments]) error {
	var chunks, created, known []Row
	for i := range chosen {
		p := &chosen[i].Packed
		used := map[int]bool{}
		for _, place := range chosen[i].New {
			used[place], created = true, append(created, p.rows[place])
		}
		for _, place := range chosen[i].Known {
			used[place], known = true, append(known, p.rows[place])
		}
		from := 0
		for k, size := range p.sizes {
			for place := from; place < from+size; place++ {
				if used[place] {
					chunks = append(chunks, p.chunks[k])
					break
				}
			}
			from += size
		}
	}
	if _, err := insertChunk.Run(ctx, tx, chunks); err != nil {
		return err
	}
	inserted, err := s.columns.create.Run(ctx, tx, created)
	if err != nil {
		return err
	}
	if inserted != int64(len(created)) {
		return errAgain
	}
	_, err = s.columns.insert.Run(ctx, tx, known)
	return err
}

// splitChunks cuts documents into what shares a chunk: neighbours of one account, up
// to a size.
func splitChunks(docs []document.Document) [][]document.Document {
	var parts [][]document.Document
	from, total := 0, 0
	for i := range docs {
		n := len(docs[i].Raw)
		if i > from && (docs[i].Account != docs[from].Account || total+n > maxChunk) {
			parts = append(parts, docs[from:i])
			from, total = i, 0
		}
		total += n
	}
	return append(parts, docs[from:])
}

// maxDeletes bounds how many chunks one statement removes.
const maxDeletes = 1000

// Compact removes chunks that hold no document's payload any more. They are
// looked for without locks: a chunk and the documents that point to it become
// visible together, and nothing ever points to an older chunk, so that one
// without readers stays so.
func (s *Documents) Compact(ctx context.Context, tx *Tx, account, received int64) error {
	chunks := int64(0)
	err := Query(ctx, tx, func(r *sql.Rows) error { return r.Scan(&chunks) },
		"SELECT COUNT(*) FROM chunk WHERE account_id = ?", account)
	if err != nil || !tables.WorthCompacting(received, chunks) {
		return err
	}
	var ids []int64
	err = Query(ctx, tx, func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	}, `SELECT id FROM chunk WHERE account_id = ? AND id NOT IN (SELECT chunk FROM document WHERE account_id = ?) ORDER BY id`, account, account)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(ids, maxDeletes) {
		var remove Statement
		remove.Write("DELETE FROM chunk WHERE id IN (").Ints(part...).Write(")")
		if _, err := remove.Exec(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// find reads a document and its chunk.
func (s *Documents) find(ctx context.Context, key document.Key) (doc document.Document, in tables.Place, chunk []byte, found bool, err error) {
	var find Statement
	find.Write("SELECT " + s.columns.all.list + ", c.data FROM " + documentsFrom + " LEFT JOIN chunk c ON c.id = d.chunk WHERE d.account_id = ").Int(key.Account)
	find.Write(" AND d.kind = ").Blob(keyOf(string(key.Kind), kindWidth)).Write(" AND d.name = ").Blob(keyOf(key.Name, nameWidth))
	err = s.db.Run(ctx, &find, func(r *sql.Rows) (err error) {
		found = true
		doc, in, err = s.scanDocument(r, &s.columns.all, &chunk)
		return err
	})
	return doc, in, chunk, found, err
}

// Count implements document.Reader.
func (s *Documents) Count(ctx context.Context, account int64) (map[document.Kind]int64, error) {
	byKey := map[string]int64{}
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		var kind string
		var n int64
		err := r.Scan(&kind, &n)
		byKey[kind] = n
		return err
	}, "SELECT kind, COUNT(*) FROM document WHERE account_id = ? GROUP BY kind", account)
	if err != nil {
		return nil, err
	}
	out := make(map[document.Kind]int64, len(byKey))
	for key, n := range byKey {
		rest := ""
		if len(key) == kindWidth {
			if rest, err = s.kindRest(ctx, account, key); err != nil {
				return nil, err
			}
		}
		out[document.Kind(whole(key, rest, kindWidth))] = n
	}
	return out, nil
}

// kindRest is what the key of a long kind does not hold.
func (s *Documents) kindRest(ctx context.Context, account int64, key string) (rest string, err error) {
	err = s.db.Query(ctx, func(r *sql.Rows) error { return r.Scan(&rest) },
		"SELECT kind_rest FROM document WHERE account_id = ? AND kind = ? LIMIT 1", account, []byte(key))
	return rest, err
}
