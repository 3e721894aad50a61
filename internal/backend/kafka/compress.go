package kafka

import (
	"bytes"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kgo"
)

// compressor packs the batches of all clients of this process. The one of the
// library makes an encoder, with tables of more than a megabyte, whenever its pool
// has none, which is often when there is little to do.
type compressor struct{ encoder *zstd.Encoder }

// newCompressor returns what the library would use: its level and its window.
var newCompressor = sync.OnceValues(func() (*compressor, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithWindowSize(64<<10), zstd.WithZeroFrames(true))
	return &compressor{encoder}, err
})

// Compress implements kgo.Compressor.
func (c *compressor) Compress(dst *bytes.Buffer, src []byte, flags ...kgo.CompressFlag) ([]byte, kgo.CompressionCodecType) {
	if slices.Contains(flags, kgo.CompressDisableZstd) {
		return src, kgo.CodecNone
	}
	dst.Grow(c.encoder.MaxEncodedSize(len(src)))
	return c.encoder.EncodeAll(src, dst.AvailableBuffer()), kgo.CodecZstd
}
