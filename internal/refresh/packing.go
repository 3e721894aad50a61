package refresh

import (
	"fmt"

	"github.com/klauspost/compress/zstd"

	"sluice/internal/domain"
)

// Packer is how stores keep bodies: compressed, with a checksum. It is safe for
// concurrent use.
type Packer struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// NewPacker returns a packer.
func NewPacker() (*Packer, error) {
	// Bodies of some 17 KB become 3.0 KB in 45 µs. With entropy coding it is
	// 2.7 KB in 75 µs, and higher levels take twice that for another hundredth.
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithNoEntropyCompression(true),
		zstd.WithEncoderCRC(true), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, fmt.Errorf("prepare compression: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0))
	if err != nil {
		return nil, fmt.Errorf("prepare decompression: %w", err)
	}
	return &Packer{enc, dec}, nil
}

// Pack compresses a body.
func (p *Packer) Pack(body []byte) []byte {
	return p.enc.EncodeAll(body, make([]byte, 0, len(body)/4+64))
}

// Unpack returns the body that was packed, or an error of code corrupt.
func (p *Packer) Unpack(packed []byte) ([]byte, error) {
	body, err := p.dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "a stored value cannot be decompressed: %w", err)
	}
	return body, nil
}
