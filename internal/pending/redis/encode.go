package redis

import (
	"bytes"
	"encoding/gob"
	"io"

	"github.com/klauspost/compress/zstd"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// largest is the size of the largest result that is kept, before and after it
// is compressed.
const largest = 64 << 20

// format is the first byte of what is stored; another program's is not read.
const format = 1

// encode writes an outcome down. Encoders live as long as a call: results are
// kept when a store fails, which is rare.
func encode(o state.Outcome) ([]byte, error) {
	out := bytes.NewBuffer([]byte{format})
	compressor, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	bounded := &boundedWriter{to: compressor, left: largest}
	if err := gob.NewEncoder(bounded).Encode(o); err != nil {
		// Free what the encoder holds; the error that matters is known.
		_ = compressor.Close()
		if bounded.left < 0 {
			return nil, domain.Errorf(domain.CodeInvalid, "the result of job %d is larger than %d MB", o.Job, largest>>20)
		}
		return nil, err
	}
	if err := compressor.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func decode(data []byte) (state.Outcome, error) {
	var o state.Outcome
	if len(data) == 0 || data[0] != format {
		return o, domain.Errorf(domain.CodeCorrupt, "not a pending result")
	}
	decompressor, err := zstd.NewReader(bytes.NewReader(data[1:]), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return o, err
	}
	defer decompressor.Close()
	err = gob.NewDecoder(io.LimitReader(decompressor, largest)).Decode(&o)
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
