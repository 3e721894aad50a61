package refresh_test

import (
	"bytes"
	"strings"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

func TestWhatIsPackedComesBack(t *testing.T) {
	p, err := refresh.NewPacker()
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{
		"nothing": {}, "a byte": {7}, "text": []byte(strings.Repeat(`{"name":"메이플"},`, 1000)), "zeros": make([]byte, 1<<20),
	} {
		packed := p.Pack(body)
		back, err := p.Unpack(packed)
		if err != nil || !bytes.Equal(back, body) {
			t.Errorf("%s: %d bytes came back as %d, %v", name, len(body), len(back), err)
		}
		if len(body) > 1000 && len(packed) > len(body)/5 {
			t.Errorf("%s: %d bytes are packed in %d", name, len(body), len(packed))
		}
	}
}

func TestDamageToWhatIsPackedIsNoticed(t *testing.T) {
	p, err := refresh.NewPacker()
	if err != nil {
		t.Fatal(err)
	}
	packed := p.Pack([]byte(strings.Repeat("all that was kept, ", 50)))
	for i := range packed {
		broken := bytes.Clone(packed)
		broken[i] ^= 0x10
		if body, err := p.Unpack(broken); err == nil && !bytes.Equal(body, []byte(strings.Repeat("all that was kept, ", 50))) {
			t.Fatalf("byte %d was changed, and nobody noticed", i)
		} else if err != nil && domain.CodeOf(err) != domain.CodeCorrupt {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
	if _, err := p.Unpack(packed[:len(packed)-1]); domain.CodeOf(err) != domain.CodeCorrupt {
		t.Errorf("what is cut off: %v", err)
	}
}
