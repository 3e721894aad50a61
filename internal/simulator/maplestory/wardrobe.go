package maplestory

import (
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
)

const (
	presets = 3
	// variants of an item for each slot. It is a prime, so that stepping by
	// whatever is not a multiple of it never stands still.
	variants = 31
	// itemSize is about how large an item is without a description.
	itemSize = 3_100
)

// wardrobe holds every item that anybody can wear, rendered.
type wardrobe struct {
	slots int
	items [][variants][]byte
	// kept are the same items as a collector keeps them: as they are worn, and
	// as they are in a preset.
	kept func() [][variants]keptItem
}

type keptItem struct{ worn, preset []byte }

func newWardrobe(seed uint64, bodySize int) *wardrobe {
	lists := 1 + presets
	w := &wardrobe{slots: min(max(bodySize/(lists*itemSize), 1), len(slots))}
	w.items = make([][variants][]byte, w.slots)
	padding := max(bodySize/(lists*w.slots)-itemSize, 0)
	for slot := range w.items {
		for v := range w.items[slot] {
			w.items[slot][v] = renderItem(seed, slot, v, padding)
		}
	}
	w.kept = sync.OnceValue(w.keep)
	return w
}

func (w *wardrobe) keep() [][variants]keptItem {
	out := make([][variants]keptItem, w.slots)
	for slot := range w.items {
		for v, item := range w.items[slot] {
			out[slot][v] = keptItem{worn: canonical(item, keptOfWorn), preset: canonical(item, keptOfPreset)}
		}
	}
	return out
}

// outfit is which variant a character has of each slot, for each preset.
type outfit struct {
	presetNumber int
	variant      [presets][]int
}

// outfit steps one slot of the preset that is worn with every change.
func (w *wardrobe) outfit(seed uint64, character int, change uint64) outfit {
	o := outfit{presetNumber: int(derive(seed, forPreset, uint64(character)) % presets)}
	flat := make([]int, presets*w.slots)
	for i := range flat {
		preset, slot := i/w.slots, i%w.slots
		h := derive(seed, forItem, uint64(character), uint64(i))
		variant := h % variants
		if preset == o.presetNumber {
			turns := (change + uint64(w.slots-1-slot)) / uint64(w.slots)
			variant += turns % variants * (1 + h>>32%(variants-1))
		}
		flat[i] = int(variant % variants)
	}
	for p := range o.variant {
		o.variant[p] = flat[p*w.slots : (p+1)*w.slots]
	}
	return o
}

// renderItem writes one item with every field that the API has for it. The
// name, the stars and the options tell the variants apart.
func renderItem(seed uint64, slot, variant, padding int) []byte {
	h := derive(seed, forPiece, uint64(slot), uint64(variant))
	name := series[variant%len(series)] + " " + slots[slot]
	w := &buffer{}
	w.open('{')
	w.str("item_equipment_part", strings.TrimRight(slots[slot], "1234"))
	w.str("item_equipment_slot", slots[slot])
	w.str("item_name", name)
	w.str("item_icon", icon(h, 1))
	if padding > 0 {
		w.str("item_description", description(padding))
	} else {
		w.raw("item_description", "null")
	}
	w.str("item_shape_name", name)
	w.str("item_shape_icon", icon(h, 2))
	w.raw("item_gender", "null")
	renderOptions(w, "item_total_option", h, 600, `"equipment_level_decrease":0`)
	renderOptions(w, "item_base_option", mix(h), 60, `"base_equipment_level":200`)
	renderPotential(w, "potential_option", mix(h+1))
	renderPotential(w, "additional_potential_option", mix(h+2))
	w.int("equipment_level_increase", 0)
	renderOptions(w, "item_exceptional_option", mix(h+3), 4, `"exceptional_upgrade":0`)
	renderOptions(w, "item_add_option", mix(h+4), 90, `"equipment_level_decrease":0`)
	w.int("growth_exp", 0)
	w.int("growth_level", 0)
	w.digits("scroll_upgrade", variant%13)
	w.digits("cuttable_count", int(h>>8%11))
	w.str("golden_hammer_flag", "미적용")
	w.digits("scroll_resilience_count", 0)
	w.digits("scroll_upgradeable_count", 0)
	w.raw("soul_name", "null")
	w.raw("soul_option", "null")
	renderOptions(w, "item_etc_option", mix(h+5), 100, "")
	w.digits("starforce", variant%26)
	w.str("starforce_scroll_flag", "미사용")
	renderOptions(w, "item_starforce_option", mix(h+6), 145, "")
	w.int("special_ring_level", 0)
	w.raw("date_expire", "null")
	w.raw("freestyle_flag", "null")
	w.close('}')
	return w.b
}

// optionNames are those of the API, in its order.
var optionNames = []string{
	"str", "dex", "int", "luk", "max_hp", "max_mp", "attack_power", "magic_power", "armor", "speed", "jump",
	"boss_damage", "ignore_monster_armor", "all_stat", "damage", "max_hp_rate", "max_mp_rate",
}

func renderOptions(w *buffer, name string, h uint64, most int, extra string) {
	w.key(name).open('{')
	for i, option := range optionNames {
		n := int(mix(h+uint64(i)) % uint64(most+1))
		if i > 8 {
			n %= 30
		}
		w.digits(option, n)
	}
	if extra != "" {
		w.comma()
		w.b = append(w.b, extra...)
	}
	w.close('}')
}

func renderPotential(w *buffer, name string, h uint64) {
	w.str(name+"_flag", "false")
	w.str(name+"_grade", grades[h%uint64(len(grades))])
	for i := 1; i <= 3; i++ {
		h = mix(h)
		w.str(name+"_"+strconv.Itoa(i), potentials[h%uint64(len(potentials))], strconv.Itoa(int(3+h>>32%38)), "%")
	}
}

// icon is an address as long as the API's.
func icon(h, which uint64) string {
	var raw [32]byte
	for i := range raw {
		raw[i] = byte(mix(h+which*64+uint64(i)) >> 16)
	}
	return "https://open.api.nexon.com/static/maplestory/item/icon/" + strings.ToUpper(hex.EncodeToString(raw[:])) + ".png?version=20260114"
}

// description is a text of about so many bytes, of whole characters.
func description(size int) string {
	text := strings.Repeat(describe, size/len(describe)+1)
	for size > 0 && text[size]&0xc0 == 0x80 {
		size--
	}
	return text[:size]
}
