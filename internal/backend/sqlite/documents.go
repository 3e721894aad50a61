package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/document/tables"
)

// Documents implements document.Store. The fields of documents are columns, and
// so are the values of their own that sources declare; their payloads are
// compressed together, those of one page in one chunk.
type Documents struct {
	tables.Store[*driver.Conn, []packedDocuments]
	tables.Lister
	db      *DB
	kinds   document.Kinds
	columns documentColumns
}

var _ document.Store = (*Documents)(nil)

// NewDocuments returns a store of the declared kinds on an open database, in which
// it makes room for them; the caller closes that.
func NewDocuments(ctx context.Context, db *DB, kinds document.Kinds) (*Documents, error) {
	own, err := tables.OwnOf(kinds)
	if err != nil {
		return nil, err
	}
	payloads, err := tables.NewPayloads()
	if err != nil {
		return nil, err
	}
	if own, err = db.makeRoom(ctx, kinds, own); err != nil {
		return nil, err
	}
	s := &Documents{db: db, kinds: kinds, columns: newDocumentColumns(kinds, own)}
	s.Store = tables.NewStore(kinds, payloads, tables.Rows[*driver.Conn, []packedDocuments]{
		Transact: db.Write, Pack: s.pack, Homes: homes, Held: heldOf, Unseen: unseen, Inside: inside, Gone: goneOf, Store: s.store, Seen: markSeen, Sight: sight,
		FlagRepository: flagRepository, FlagUnseen: flagUnseen, Own: s.ownValues, Fill: s.fill, Log: writeLog, Feed: s.feedRows(),
		Find: s.find, FindAll: s.findAll, Scan: s.scan, Batch: documentScanBatch, RawBatch: documentScanBatch,
	})
	s.Lister = s.lister()
	return s, nil
}

// PackedDocuments are documents on their way into a transaction.
type PackedDocuments = tables.Packed[[]packedDocuments]

// pack cuts documents into what shares a chunk. That belongs to one account, and
// goes when nothing of the account needs it any more; a page never has more than
// one.
func (s *Documents) pack(_ context.Context, docs []document.Document, _ []document.Held) (parts []packedDocuments, _ error) {
	for from, i := 0, 1; from < len(docs); i++ {
		if i < len(docs) && docs[i].Account == docs[from].Account {
			continue
		}
		p := packedDocuments{from: from, to: i}
		p.chunk, p.starts = s.PackChunk(docs[from:i])
		parts, from = append(parts, p), i
	}
	return parts, nil
}

// Compact removes chunks that hold no document's payload any more.
func (s *Documents) Compact(_ context.Context, c *driver.Conn, account, received int64) error {
	chunks, err := number(c, "SELECT count(*) FROM chunk WHERE account_id = ?", account)
	if err != nil || !tables.WorthCompacting(received, chunks) {
		return err
	}
	return Exec(c, `DELETE FROM chunk WHERE account_id = ?1
		AND id NOT IN (SELECT chunk FROM document WHERE account_id = ?1)`, nil, account)
}

// find reads a document and its chunk.
func (s *Documents) find(ctx context.Context, key document.Key) (doc document.Document, in tables.Place, chunk []byte, found bool, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT "+s.columns.all.list+", c.data FROM "+documentsFrom+" JOIN chunk c ON c.id = d.chunk"+
			" WHERE d.account_id = ? AND d.kind = ? AND d.name = ?",
			func(r *driver.Stmt) {
				doc, in = s.scanDocument(r, &s.columns.all)
				chunk, found = readBlob(r, s.columns.all.count), true
			}, key.Account, string(key.Kind), key.Name)
	})
	return doc, in, chunk, found, err
}

// Count implements document.Reader.
func (s *Documents) Count(ctx context.Context, account int64) (map[document.Kind]int64, error) {
	out := map[document.Kind]int64{}
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT kind, count(*) FROM document WHERE account_id = ? GROUP BY kind",
			func(r *driver.Stmt) { out[document.Kind(r.ColumnText(0))] = r.ColumnInt64(1) }, account)
	})
	return out, err
}
