package maplestory

import "strconv"

// append renders a part of a character as it is after so many changes. shown is
// the date that the answer shows, as JSON.
func (s *Server) append(out []byte, p part, character int, change uint64, shown string) []byte {
	w := &buffer{b: out}
	w.open('{')
	w.raw("date", shown)
	switch p {
	case itemEquipment:
		s.appendEquipment(w, character, change)
	case basic:
		s.appendBasic(w, character, change)
	case stat:
		s.appendStat(w, character, change)
	case popularity:
		w.int("popularity", int(s.level(character)*10+change))
	case ability:
		s.appendAbility(w, character, change)
	case symbolEquipment:
		s.appendSymbols(w, character, change)
	}
	w.close('}')
	return w.b
}

func (s *Server) level(character int) uint64 {
	return 200 + derive(s.options.Seed, forLevel, uint64(character))%100
}

func (s *Server) class(character int) string {
	return classes[derive(s.options.Seed, forClass, uint64(character))%uint64(len(classes))]
}

func (s *Server) gender(character int) string {
	if s.level(character)%2 == 0 {
		return "여"
	}
	return "남"
}

// listName is the name of a preset's list, from one.
func listName(preset int) string { return "item_equipment_preset_" + strconv.Itoa(preset+1) }

func (s *Server) appendEquipment(w *buffer, character int, change uint64) {
	o := s.wardrobe.outfit(s.options.Seed, character, change)
	w.str("character_gender", s.gender(character))
	w.str("character_class", s.class(character))
	w.int("preset_no", o.presetNumber+1)
	s.appendItems(w, "item_equipment", o.variant[o.presetNumber])
	for preset, worn := range o.variant {
		s.appendItems(w, listName(preset), worn)
	}
	w.key("title").open('{')
	w.str("title_name", s.title(character))
	w.str("title_icon", icon(uint64(character), 3))
	w.str("title_description", description(200))
	w.raw("date_expire", "null")
	w.raw("date_option_expire", "null")
	w.close('}')
	w.raw("medal_shape", "null")
	w.raw("dragon_equipment", "[]")
	w.raw("mechanic_equipment", "[]")
}

func (s *Server) title(character int) string {
	return "핑아일체 " + strconv.FormatUint(s.level(character), 10)
}

// appendItems copies pieces that were rendered long before.
func (s *Server) appendItems(w *buffer, name string, worn []int) {
	w.key(name).open('[')
	for slot, variant := range worn {
		if slot > 0 {
			w.b = append(w.b, ',')
		}
		w.b = append(w.b, s.wardrobe.items[slot][variant]...)
	}
	w.close(']')
}

func (s *Server) appendBasic(w *buffer, character int, change uint64) {
	w.str("character_name", s.world.name(character))
	w.str("world_name", worlds[s.level(character)%uint64(len(worlds))])
	w.str("character_gender", s.gender(character))
	w.str("character_class", s.class(character))
	w.str("character_class_level", "6")
	w.int("character_level", int(s.level(character)))
	w.int("character_exp", int(s.level(character)*1_000_000_007+change))
	w.str("character_exp_rate", "42.", strconv.FormatUint(100+change%900, 10))
	w.str("character_guild_name", nameBeginnings[s.level(character)%uint64(len(nameBeginnings))])
	w.str("character_image", icon(uint64(character), 4))
	w.str("character_date_create", s.world.created(character).In(korea).Format("2006-01-02T15:04-07:00"))
	w.str("access_flag", "true")
	w.str("liberation_quest_clear_flag", "true")
}

func (s *Server) appendStat(w *buffer, character int, change uint64) {
	w.str("character_class", s.class(character))
	w.key("final_stat").open('[')
	for i, name := range statNames {
		w.open('{')
		w.str("stat_name", name)
		w.digits("stat_value", int(s.level(character)*uint64(100+i)+change))
		w.close('}')
	}
	w.close(']')
	w.int("remain_ap", 0)
}

func (s *Server) appendAbility(w *buffer, character int, change uint64) {
	w.str("ability_grade", "레전드리")
	w.key("ability_info").open('[')
	for i := range 3 {
		w.open('{')
		w.digits("ability_no", i+1)
		w.str("ability_grade", "유니크")
		w.str("ability_value", potentials[(s.level(character)+uint64(i))%uint64(len(potentials))], "10%")
		w.close('}')
	}
	w.close(']')
	w.int("remain_fame", int(s.level(character)*100+change))
	w.int("preset_no", 1)
}

func (s *Server) appendSymbols(w *buffer, character int, change uint64) {
	w.str("character_class", s.class(character))
	w.key("symbol").open('[')
	for i, name := range symbols {
		w.open('{')
		w.str("symbol_name", name)
		w.str("symbol_icon", icon(uint64(i), 5))
		w.str("symbol_description", description(300))
		w.digits("symbol_force", 220)
		w.int("symbol_level", int(20-s.level(character)%10))
		w.int("symbol_growth_count", int(change))
		w.int("symbol_require_growth_count", 0)
		w.close('}')
	}
	w.close(']')
}
