package kafka

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestBatchesAreCompressed: what clients compress at once is what the library's
// own decompressor makes of it, and a broker that does not know how is spared.
func TestBatchesAreCompressed(t *testing.T) {
	c, err := newCompressor()
	if err != nil {
		t.Fatal(err)
	}
	open := kgo.DefaultDecompressor()
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			batch := []byte(strings.Repeat("refresh "+string(rune('a'+n)), n*1000))
			// The library brings a buffer that was used before.
			var used bytes.Buffer
			used.WriteString("what was there")
			used.Reset()
			packed, codec := c.Compress(&used, batch)
			if codec != kgo.CodecZstd || len(batch) > 0 && len(packed) > len(batch)/10 {
				t.Errorf("%d bytes became %d with codec %d", len(batch), len(packed), codec)
			}
			if got, err := open.Decompress(packed, codec); err != nil || !bytes.Equal(got, batch) {
				t.Errorf("%d bytes came back as %d, %v", len(batch), len(got), err)
			}
			if plain, codec := c.Compress(&used, batch, kgo.CompressDisableZstd); codec != kgo.CodecNone || !bytes.Equal(plain, batch) {
				t.Errorf("codec %d for a broker that knows none", codec)
			}
		})
	}
	all.Wait()
}
