package maplestory

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Truth is what a collector must have kept of a value: the fields worth keeping
// in canonical form (keys sorted, no spaces, numbers as they came).
type Truth struct {
	Value []byte
	Hash  [32]byte // SHA-256 over Value
	// Change is how often the value had changed by then.
	Change uint64
}

// Truth tells what the value of a key ("part:ocid", or an ocid alone for its
// equipment) was at an instant; the zero instant means now. False if there is no
// such key.
func (s *Server) Truth(key string, at time.Time) (Truth, bool) {
	now := s.options.Now()
	if at.IsZero() {
		at = now
	}
	p, ocid, ok := splitKey(key)
	if !ok {
		return Truth{}, false
	}
	character, ok := s.world.character(ocid, now)
	if !ok {
		return Truth{}, false
	}
	t := Truth{Change: s.world.changeCount(p, character, at)}
	if p == itemEquipment {
		t.Value = s.keptEquipment(character, t.Change)
	} else {
		t.Value = canonical(s.append(nil, p, character, t.Change, "null"), keptOf[p])
	}
	t.Hash = sha256.Sum256(t.Value)
	return t, true
}

// keptEquipment puts the kept items together in the order of sorted keys.
func (s *Server) keptEquipment(character int, change uint64) []byte {
	o := s.wardrobe.outfit(s.options.Seed, character, change)
	items := s.wardrobe.kept()
	w := &buffer{}
	w.open('{')
	w.str("character_class", s.class(character))
	w.str("character_gender", s.gender(character))
	w.key("item_equipment").open('[')
	for slot, variant := range o.variant[o.presetNumber] {
		w.comma()
		w.b = append(w.b, items[slot][variant].worn...)
	}
	w.close(']')
	for preset, worn := range o.variant {
		w.key(listName(preset)).open('[')
		for slot, variant := range worn {
			w.comma()
			w.b = append(w.b, items[slot][variant].preset...)
		}
		w.close(']')
	}
	w.int("preset_no", o.presetNumber+1)
	w.key("title").open('{')
	w.str("title_name", s.title(character))
	w.close('}')
	w.close('}')
	return w.b
}

// fields says what is kept of an object: the named members, and of each what
// its own fields say; nil keeps everything.
type fields map[string]fields

func keep(names string) fields {
	out := fields{}
	for name := range strings.FieldsSeq(names) {
		out[name] = nil
	}
	return out
}

// keptOf says what is kept of each part. The date is not part of a value.
var keptOf = [parts]fields{
	itemEquipment: keptOfEquipment(),
	basic: keep(`character_name world_name character_gender character_class character_class_level character_level
		character_exp character_exp_rate character_guild_name character_date_create liberation_quest_clear_flag`),
	stat:       keep(`character_class final_stat remain_ap`),
	popularity: keep(`popularity`),
	ability:    keep(`ability_grade ability_info remain_fame preset_no`),
	symbolEquipment: {
		"character_class": nil,
		"symbol":          keep(`symbol_name symbol_force symbol_level symbol_growth_count symbol_require_growth_count`),
	},
}

var (
	keptOfWorn = with(keep(`item_equipment_part item_equipment_slot item_name starforce
		potential_option_grade potential_option_1 potential_option_2 potential_option_3
		additional_potential_option_grade additional_potential_option_1 additional_potential_option_2 additional_potential_option_3`),
		"item_total_option", keep(`str dex int luk attack_power magic_power boss_damage ignore_monster_armor all_stat`))
	keptOfPreset = keep(`item_equipment_slot item_name`)
)

func with(f fields, name string, inner fields) fields {
	f[name] = inner
	return f
}

func keptOfEquipment() fields {
	f := with(keep(`character_gender character_class preset_no`), "item_equipment", keptOfWorn)
	for preset := range presets {
		f[listName(preset)] = keptOfPreset
	}
	return with(f, "title", keep("title_name"))
}

// canonical is the plain and slow way to trim: read everything, prune, write.
func canonical(body []byte, kept fields) []byte {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := decoder.Decode(&value); err != nil {
		return strconv.AppendQuote(nil, err.Error())
	}
	if err := encoder.Encode(prune(value, kept)); err != nil {
		return strconv.AppendQuote(nil, err.Error())
	}
	return bytes.TrimSpace(out.Bytes())
}

func prune(value any, kept fields) any {
	if kept == nil {
		return value
	}
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = prune(v[i], kept)
		}
	case map[string]any:
		for name, inner := range v {
			if within, ok := kept[name]; ok {
				v[name] = prune(inner, within)
			} else {
				delete(v, name)
			}
		}
	}
	return value
}
