/**
 * Preset: a profile or a runner of an Edge, with the settings of its entry in `edge.config.json`. Those of the file change with the file; others are
 * managed over the API.
 *
 * Does not: check the settings. The Edge does, with the checks of its configuration file.
 */
import { Schema } from "effect"
import { AgentId } from "../identity/Ids.ts"
import { isTooDeep } from "../text/Depth.ts"

export const PresetKind = Schema.Literals(["profile", "runner"])
export type PresetKind = typeof PresetKind.Type

/** Largest settings, in characters of JSON. */
export const MAX_PRESET_CHARACTERS = 16_384

/** Fields of an entry of `profiles` or `runners` in `schemas/edge-config.json`, other than its id. */
export const PresetSettings = Schema.Record(Schema.String, Schema.Unknown).check(
  Schema.makeFilter(
    (settings) => !isTooDeep(settings) && JSON.stringify(settings).length <= MAX_PRESET_CHARACTERS,
    { expected: `at most ${MAX_PRESET_CHARACTERS} characters of JSON` }
  )
)
export type PresetSettings = typeof PresetSettings.Type

/**
 * `source`: where it is defined. `editable`: whether the reader can change it here. `problem`: why it is not offered. Readers at a Hub see the
 * fields that narrow, and of others only that they exist, unless the device takes any preset from the Hub.
 */
export const Preset = Schema.Struct({
  id: AgentId,
  kind: PresetKind,
  source: Schema.Literals(["file", "api"]),
  settings: PresetSettings,
  editable: Schema.Boolean,
  problem: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "Preset" })
export type Preset = typeof Preset.Type

/** Body that creates a preset. */
export const CreatePreset = Schema.Struct({
  /** Unique among adapters, profiles and runners. */
  id: Schema.String,
  kind: PresetKind,
  settings: PresetSettings
}).annotate({ identifier: "CreatePreset" })
export type CreatePreset = typeof CreatePreset.Type

/** Body that changes a preset. Absent settings do not change; `null` removes one. */
export const UpdatePreset = Schema.Struct({ settings: PresetSettings }).annotate({
  identifier: "UpdatePreset"
})
export type UpdatePreset = typeof UpdatePreset.Type

/** One change, as the Hub sends it. */
export const PresetChange = Schema.Union([
  Schema.TaggedStruct("Create", CreatePreset.fields),
  Schema.TaggedStruct("Update", { id: AgentId, settings: PresetSettings }),
  Schema.TaggedStruct("Remove", { id: AgentId })
])
export type PresetChange = typeof PresetChange.Type

/** Settings that only narrow an adapter. */
export const narrowingFields = ["label", "adapter", "mode", "model"] as const

/** Whether the preset is a profile below `full_access`, without settings that start programs, pass variables or allow actions. */
export const isNarrowing = ({ kind, settings }: Pick<Preset, "kind" | "settings">): boolean =>
  kind === "profile" &&
  settings["mode"] !== "full_access" &&
  Object.keys(settings).every((name) => narrowingFields.some((field) => field === name))
