package maplestory

import (
	"slices"
	"strings"

	"sluice/internal/domain"
	"sluice/internal/source/trim"
)

// volatileField is the member of every answer that is no part of its value.
const volatileField = "date"

// DefaultFields is what is kept of an answer unless configured otherwise.
//
// A field is a part and a path of names within its answer, such as
// "item-equipment:item_equipment.item_name". Lists do not count as a step: a
// path goes on in each of their elements. A path that ends at an object or a
// list keeps all of it. A part that no field names is kept as a whole. Where
// something else than an object or a list stands on the way (null, mostly), it
// is kept as it is.
//
// The date of an answer is never kept: it says when, not what, and would make
// every answer a new value.
//
// Of an equipment of 300 KB these fields keep about 17 KB. What is worn is kept
// with what decides its strength: name, place, stars, potential options and the
// totals that count in a fight. Of presets it is kept what is in them. Dropped
// are icons, shapes and descriptions, which belong to the kind of item and not
// to the character, and the addends of the totals.
func DefaultFields() []string {
	return []string{
		"item-equipment:character_class",
		"item-equipment:character_gender",
		"item-equipment:preset_no",
		"item-equipment:title.title_name",

		"item-equipment:item_equipment.item_equipment_part",
		"item-equipment:item_equipment.item_equipment_slot",
		"item-equipment:item_equipment.item_name",
		"item-equipment:item_equipment.starforce",
		"item-equipment:item_equipment.potential_option_grade",
		"item-equipment:item_equipment.potential_option_1",
		"item-equipment:item_equipment.potential_option_2",
		"item-equipment:item_equipment.potential_option_3",
		"item-equipment:item_equipment.additional_potential_option_grade",
		"item-equipment:item_equipment.additional_potential_option_1",
		"item-equipment:item_equipment.additional_potential_option_2",
		"item-equipment:item_equipment.additional_potential_option_3",
		"item-equipment:item_equipment.item_total_option.str",
		"item-equipment:item_equipment.item_total_option.dex",
		"item-equipment:item_equipment.item_total_option.int",
		"item-equipment:item_equipment.item_total_option.luk",
		"item-equipment:item_equipment.item_total_option.attack_power",
		"item-equipment:item_equipment.item_total_option.magic_power",
		"item-equipment:item_equipment.item_total_option.boss_damage",
		"item-equipment:item_equipment.item_total_option.ignore_monster_armor",
		"item-equipment:item_equipment.item_total_option.all_stat",

		"item-equipment:item_equipment_preset_1.item_equipment_slot",
		"item-equipment:item_equipment_preset_1.item_name",
		"item-equipment:item_equipment_preset_2.item_equipment_slot",
		"item-equipment:item_equipment_preset_2.item_name",
		"item-equipment:item_equipment_preset_3.item_equipment_slot",
		"item-equipment:item_equipment_preset_3.item_name",

		// Without the image and the flag of recent visits.
		"basic:character_name",
		"basic:world_name",
		"basic:character_gender",
		"basic:character_class",
		"basic:character_class_level",
		"basic:character_level",
		"basic:character_exp",
		"basic:character_exp_rate",
		"basic:character_guild_name",
		"basic:character_date_create",
		"basic:liberation_quest_clear_flag",

		"symbol-equipment:character_class",
		"symbol-equipment:symbol.symbol_name",
		"symbol-equipment:symbol.symbol_force",
		"symbol-equipment:symbol.symbol_level",
		"symbol-equipment:symbol.symbol_growth_count",
		"symbol-equipment:symbol.symbol_require_growth_count",
	}
}

// compileFields makes a tree for each part.
func compileFields(fields []string) (map[string]*trim.Fields, error) {
	paths := map[string][]string{}
	for _, field := range fields {
		part, path, found := strings.Cut(field, ":")
		name, _, _ := strings.Cut(path, ".")
		switch {
		case !found || !slices.Contains(Parts(), part):
			return nil, domain.Errorf(domain.CodeInvalid, "maplestory: the field %q begins with no known part; write part:name.name", field)
		case name == volatileField:
			return nil, domain.Errorf(domain.CodeInvalid, "maplestory: the field %q changes with every answer and cannot be kept; leave it out", field)
		}
		paths[part] = append(paths[part], path)
	}
	roots := map[string]*trim.Fields{}
	for _, part := range append(Parts(), NamePart) {
		if len(paths[part]) == 0 {
			roots[part] = trim.Without(volatileField)
			continue
		}
		root, err := trim.Compile(paths[part]...)
		if err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "maplestory: %s: %w", part, err)
		}
		roots[part] = root
	}
	return roots, nil
}
