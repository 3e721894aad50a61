package tables

import (
	"fmt"

	"github.com/klauspost/compress/zstd"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// Payloads compresses the payloads of documents in chunks: those of one page
// together, because neighbours resemble each other. It is safe for concurrent use.
type Payloads struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// NewPayloads returns what packs payloads.
func NewPayloads() (*Payloads, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, fmt.Errorf("prepare compression: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0))
	if err != nil {
		return nil, fmt.Errorf("prepare decompression: %w", err)
	}
	return &Payloads{enc, dec}, nil
}

// PackChunk makes a chunk of the payloads of documents, and says where in it each
// of them begins.
func (p *Payloads) PackChunk(docs []document.Document) (chunk []byte, starts []int) {
	size := 0
	for i := range docs {
		size += len(docs[i].Raw)
	}
	plain := make([]byte, 0, size)
	starts = make([]int, len(docs))
	for i := range docs {
		starts[i] = len(plain)
		plain = append(plain, docs[i].Raw...)
	}
	return p.enc.EncodeAll(plain, make([]byte, 0, size/4+64)), starts
}

// Unpack is the inverse: all payloads of a chunk, one after the other, or an error
// of code corrupt.
func (p *Payloads) Unpack(chunk []byte) ([]byte, error) {
	plain, err := p.dec.DecodeAll(chunk, nil)
	if err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "a stored payload cannot be decompressed: %w", err)
	}
	return plain, nil
}

// Place is where a payload is: a part of a chunk.
type Place struct {
	Chunk       int64
	Start, Size int
}

// Cut returns one payload of a chunk that is unpacked.
func (p Place) Cut(plain []byte) ([]byte, error) {
	if p.Start < 0 || p.Size < 0 || p.Start+p.Size > len(plain) {
		return nil, domain.Errorf(domain.CodeCorrupt, "a stored payload of %d bytes ends beyond its chunk of %d", p.Size, len(plain))
	}
	return plain[p.Start : p.Start+p.Size : p.Start+p.Size], nil
}

// compactShare is how many of an account's chunks there may be for each document
// received before looking for replaced ones is worth its while: the look costs a
// scan of the account's documents.
const compactShare = 20

// WorthCompacting says whether to look for chunks that hold no document's payload
// any more, when so many documents came in and so many chunks are there.
func WorthCompacting(received, chunks int64) bool { return received*compactShare >= chunks }
