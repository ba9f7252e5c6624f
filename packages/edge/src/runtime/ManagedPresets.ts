/**
 * Presets that are managed over the API, on top of those of the configuration file, and the checks of a new one: those of the file. Pure.
 *
 * Guarantees: a preset that no longer fits the file or the adapters is left out with a sentence; the file and the others are offered.
 */
import { currentAgentId } from "@corral/domain/offer/Offer"
import {
  isNarrowing,
  narrowingFields,
  type Preset,
  type PresetKind,
  type PresetSettings
} from "@corral/domain/run/Preset"
import { Result, Schema } from "effect"
import { type ConfigProblem, strictDecoder } from "./ConfigContent.ts"
import type { ConfigState } from "./ConfigFile.ts"
import { type EdgeConfigFile, Profile, RunnerEntry } from "./ConfigSchema.ts"
import { makeOffers, type Offers } from "./Offers.ts"

/** Content of the file of managed presets: the entries of a configuration file. */
export const PresetEntries = Schema.Struct({
  profiles: Schema.Array(Profile),
  runners: Schema.Array(RunnerEntry)
})
type PresetEntries = typeof PresetEntries.Type

export type ManagedPreset =
  | { readonly kind: "profile"; readonly entry: Profile }
  | { readonly kind: "runner"; readonly entry: RunnerEntry }

export const presetsIn = ({ profiles = [], runners = [] }: Partial<PresetEntries>) => [
  ...profiles.map((entry): ManagedPreset => ({ kind: "profile", entry })),
  ...runners.map((entry): ManagedPreset => ({ kind: "runner", entry }))
]

export const entriesOf = (presets: ReadonlyArray<ManagedPreset>): PresetEntries => ({
  profiles: presets.flatMap((preset) => (preset.kind === "profile" ? [preset.entry] : [])),
  runners: presets.flatMap((preset) => (preset.kind === "runner" ? [preset.entry] : []))
})

const decoders = { profile: strictDecoder(Profile), runner: strictDecoder(RunnerEntry) }

/** Path of a problem in the body of a request: its entry is `settings`, without the id. */
const pathInBody = (path: string): string =>
  path === "id" ? path : path === "" ? "settings" : `settings.${path}`

/** The entry of a request, or what the configuration file would say about it. */
export const decodePreset = (
  id: string,
  kind: PresetKind,
  settings: PresetSettings
): Result.Result<ManagedPreset, ReadonlyArray<ConfigProblem>> => {
  if ("id" in settings) return Result.fail([{ path: "settings.id", message: "Not a field of this object" }])
  const value = { ...settings, id }
  const decoded: Result.Result<ManagedPreset, ReadonlyArray<ConfigProblem>> = kind === "profile"
    ? Result.map(decoders.profile(value), (entry) => ({ kind, entry }))
    : Result.map(decoders.runner(value), (entry) => ({ kind, entry }))
  return Result.mapError(decoded, (problems) =>
    problems.map(({ message, path }) => ({ path: pathInBody(path), message }))
  )
}

export const settingsOf = ({ entry }: ManagedPreset): PresetSettings =>
  Object.fromEntries(Object.entries(entry).filter(([name]) => name !== "id"))

const isNarrowingField = (name: string): boolean => narrowingFields.some((field) => field === name)

/** What the settings run, and with which variables and grants: the rest is a name and limits. */
const meansOf = (preset: ManagedPreset): string =>
  JSON.stringify(
    Object.entries({ kind: preset.kind, ...settingsOf(preset) })
      .filter(([name]) => name === "adapter" || !isNarrowingField(name))
      .map(([name, value]) => [name, name === "adapter" ? currentAgentId(String(value)) : value] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1))
  )

/** Whether decisions that were remembered for one hold for the other. */
export const actsAlike = (a: ManagedPreset, b: ManagedPreset): boolean => meansOf(a) === meansOf(b)

const acpIds = ({ acp = [] }: EdgeConfigFile): ReadonlyArray<string> =>
  [acp].flat().map(({ name }) => `acp:${name}`)

/** Whether the configuration file defines the id. */
export const isOfFile = (content: EdgeConfigFile, id: string): boolean =>
  presetsIn(content).some(({ entry }) => entry.id === id) || acpIds(content).includes(id)

const combined = (content: EdgeConfigFile, presets: ReadonlyArray<ManagedPreset>): EdgeConfigFile => {
  const { profiles, runners } = entriesOf([...presetsIn(content), ...presets])
  return { ...content, profiles, runners }
}

/** Ids of later agents and adapters of the configuration file. */
const RESERVED = /^(?:acp|custom):/

/** What is wrong with a preset on top of the file and other presets. */
export const presetProblems = (
  { adapters, content }: Pick<ConfigState, "adapters" | "content">,
  others: ReadonlyArray<ManagedPreset>,
  preset: ManagedPreset
): ReadonlyArray<ConfigProblem> => {
  if (RESERVED.test(preset.entry.id)) return [{ path: "id", message: "this id is taken" }]
  const offered = makeOffers(combined(content, [...others, preset]), adapters)
  return "byId" in offered
    ? []
    : offered.map(({ message, path }) => ({ path: pathInBody(path.replace(/^.*\./, "")), message }))
}

export interface MergedPresets {
  readonly offers: Offers
  /** Presets that fit the file and each other. */
  readonly fitting: ReadonlyArray<ManagedPreset>
  /** Why a managed preset is not offered, by id. */
  readonly problems: ReadonlyMap<string, string>
}

const notOffered = ({ entry: { id } }: ManagedPreset, reason: string): string =>
  `The preset ${id} is not offered: ${reason}.`

/** The offers of the file and of the presets that fit it. */
export const mergePresets = (
  state: Pick<ConfigState, "adapters" | "content" | "offers">,
  presets: ReadonlyArray<ManagedPreset>
): MergedPresets => {
  const problems = new Map<string, string>()
  const fitting: Array<ManagedPreset> = []
  for (const preset of presets) {
    const [problem] = presetProblems(state, fitting, preset)
    if (problem === undefined) fitting.push(preset)
    else problems.set(preset.entry.id, notOffered(preset, problem.message))
  }
  const offered = makeOffers(combined(state.content, fitting), state.adapters)
  const offers = "byId" in offered ? offered : state.offers
  for (const preset of fitting)
    if (!offers.byId.has(preset.entry.id))
      problems.set(preset.entry.id, notOffered(preset, "its adapter is not loaded"))
  return { offers, fitting, problems }
}

/** A preset for the device itself, or for a Hub. */
export const toPreset = (
  source: Preset["source"],
  managed: ManagedPreset,
  problem: string | undefined,
  showsAll: boolean
): Preset => {
  const { kind } = managed
  const all = settingsOf(managed)
  const settings = Object.fromEntries(
    Object.entries(all).filter(([name]) => showsAll || isNarrowingField(name))
  )
  return {
    id: managed.entry.id,
    kind,
    source,
    settings,
    editable: source === "api" && (showsAll || isNarrowing({ kind, settings: all })),
    ...(problem === undefined ? {} : { problem })
  }
}
