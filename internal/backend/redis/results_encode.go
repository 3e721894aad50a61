package redis

import (
	"bytes"
	"encoding/gob"
	"io"

	"github.com/klauspost/compress/zstd"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// largestResult is the size of the largest result that is kept, before and after it
// is compressed.
const largestResult = 64 << 20

// resultFormat is the first byte of what is stored; another program's is not read.
const resultFormat = 1

// encodeOutcome writes an outcome down. Encoders live as long as a call: results are
// kept when a store fails, which is rare.
func encodeOutcome(o state.Outcome) ([]byte, error) {
	out := bytes.NewBuffer([]byte{resultFormat})
	compressor, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	bounded := &boundedWriter{to: compressor, left: largestResult}
	if err := gob.NewEncoder(bounded).Encode(o); err != nil {
		// Free what the encoder holds; the error that matters is known.
		_ = compressor.Close()
		if bounded.left < 0 {
			return nil, domain.Errorf(domain.CodeInvalid, "the result of job %d is larger than %d MB", o.Job, largestResult>>20)
		}
		return nil, err
	}
	if err := compressor.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func decodeOutcome(data []byte) (state.Outcome, error) {
	var o state.Outcome
	if len(data) == 0 || data[0] != resultFormat {
		return o, domain.Errorf(domain.CodeCorrupt, "not a pending result")
	}
	decompressor, err := zstd.NewReader(bytes.NewReader(data[1:]), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return o, err
	}
	defer decompressor.Close()
	err = gob.NewDecoder(io.LimitReader(decompressor, largestResult)).Decode(&o)
	return o, err
}

// boundedWriter refuses what goes beyond its bound.
type boundedWriter struct {
	to   io.Writer
	left int
}

func (w *boundedWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, io.ErrShortWrite
	}
	return w.to.Write(p)
}
