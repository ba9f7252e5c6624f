/**
 * Profiles and runners of this Edge: those of its configuration file, and those that are managed over the API, in `presets.json` of the Edge's home.
 *
 * Guarantees: a change is durable when it succeeds, and holds for the next run. The file's own ids do not change. A Hub sets only profiles that
 * narrow, unless the file allows more. A preset never inherits decisions that were remembered for another one of its id.
 */
import {
  Conflict,
  NotFound,
  Overloaded,
  PermissionDenied,
  SchemaValidationFailed
} from "@corral/domain/errors/Failures"
import type { AgentId } from "@corral/domain/identity/Ids"
import {
  type CreatePreset,
  isNarrowing,
  type Preset,
  type PresetChange,
  type PresetKind,
  type PresetSettings
} from "@corral/domain/run/Preset"
import { Context, Deferred, Effect, Layer, Result, Semaphore } from "effect"
import { join } from "node:path"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { writeDurably } from "../store/PrivateFile.ts"
import { fileReason } from "../store/FileReason.ts"
import { lookAt, MAX_BYTES, readEntries, strictDecoder } from "./ConfigContent.ts"
import * as ConfigFile from "./ConfigFile.ts"
import {
  actsAlike,
  decodePreset,
  entriesOf,
  isOfFile,
  type ManagedPreset,
  mergePresets,
  type MergedPresets,
  PresetEntries,
  presetProblems,
  presetsIn,
  settingsOf,
  toPreset
} from "./ManagedPresets.ts"
import type { Offers } from "./Offers.ts"
import { RuntimeRegistry } from "./RuntimeRegistry.ts"

/** Refusals of every change. A change of an existing preset can also fail with `not_found`, a new value with `schema_validation_failed`. */
export type PresetFailure = Conflict | Overloaded

/** Fails where the caller may not change or set these. */
type Limit<E> = (
  state: ConfigFile.ConfigState,
  touched: ReadonlyArray<Pick<Preset, "kind" | "settings">>
) => Effect.Effect<void, E>

/** Runs before an id gets another meaning, and can refuse that. */
export type ReplaceHook = (id: AgentId) => Effect.Effect<void, Conflict>

export class Presets extends Context.Service<
  Presets,
  {
    /** Everything that is offered now, and the reason why the file's current content is not in use. */
    readonly look: Effect.Effect<{ readonly offers: Offers; readonly problem?: string | undefined }>
    /** A sentence about each configured adapter and preset that does not work. */
    readonly problems: Effect.Effect<ReadonlyArray<string>>
    /** Profiles and runners, by id. Of one id, that of the file is before that of the API. */
    readonly list: Effect.Effect<ReadonlyArray<Preset>>
    /** `by`: who changes it, for the log. */
    readonly create: (
      preset: CreatePreset,
      by: string
    ) => Effect.Effect<Preset, PresetFailure | SchemaValidationFailed>
    /** Absent settings do not change; `null` removes one. */
    readonly update: (
      id: AgentId,
      settings: PresetSettings,
      by: string
    ) => Effect.Effect<Preset, NotFound | PresetFailure | SchemaValidationFailed>
    readonly remove: (id: AgentId, by: string) => Effect.Effect<void, NotFound | PresetFailure>
    /** As a Hub sees them. */
    readonly listRemotely: Effect.Effect<ReadonlyArray<Preset>>
    /** A change that a Hub requests. Succeeds with the preset as it is then, unless it was removed. */
    readonly changeRemotely: (
      change: PresetChange,
      by: string
    ) => Effect.Effect<
      { readonly preset?: Preset },
      NotFound | PermissionDenied | PresetFailure | SchemaValidationFailed
    >
    /** Succeeds after the next change. */
    readonly changed: Effect.Effect<void>
    readonly onReplace: (hook: ReplaceHook) => void
  }
>()("corral/edge/Presets") {
  /** @internal */
  static readonly layer = Layer.effect(
    Presets,
    Effect.suspend(() => make())
  )
}

/** Whether `presets.json` is read. A diagnosis leaves out a file that is not usable. */
export const ReadsPresets = Context.Reference<boolean>("corral/edge/ReadsPresets", {
  defaultValue: () => true
})

const MAX_PRESETS = 100

const decodeFile = strictDecoder(PresetEntries)

const make = Effect.fnUntraced(function* () {
  const { configFile, environment, home } = yield* EdgeConfig
  const file = join(home, "presets.json")
  const config = yield* ConfigFile.openConfigFile(configFile, yield* RuntimeRegistry, environment)
  const stored = (yield* ReadsPresets) ? yield* Effect.fromResult(storedIn(file)) : []
  const store = new PresetStore(file, stored)
  const oneAtATime = yield* Semaphore.make(1)
  const hooks: Array<ReplaceHook> = []
  let next = Deferred.makeUnsafe<void>()

  const look = Effect.map(config.look, (state) => ({ ...state, ...store.merged(state) }))
  /** The preset before a change. Fails where the file defines it, or where the limit of the caller forbids the change. */
  const admit = Effect.fnUntraced(function* <E>(
    { id, kind = "profile", settings = {} }: Partial<CreatePreset> & Pick<CreatePreset, "id">,
    limit: Limit<E>
  ) {
    const state = yield* config.look
    if (isOfFile(state.content, id)) return yield* new Conflict({ message: OF_FILE })
    const before = store.find(id)
    yield* limit(state, [
      { kind, settings },
      ...(before === undefined ? [] : [{ kind: before.kind, settings: settingsOf(before) }])
    ])
    return { before, state }
  })

  const beforeReplacing = (id: AgentId) => Effect.forEach(hooks, (hook) => hook(id), { discard: true })

  const replace = Effect.fnUntraced(function* (
    id: string,
    presets: ReadonlyArray<ManagedPreset>,
    by: string
  ) {
    yield* store.replace(presets)
    yield* Effect.logInfo("changed a preset", { id, by })
    Deferred.doneUnsafe(next, Effect.void)
    next = Deferred.makeUnsafe<void>()
  })

  /** Stores a preset if it fits. */
  const put = Effect.fnUntraced(function* (
    after: ManagedPreset,
    { before, state }: { readonly before: ManagedPreset | undefined; readonly state: ConfigFile.ConfigState },
    by: string
  ) {
    const { id } = after.entry
    const others = store.without(id)
    // One that the file leaves out does not keep others from changing.
    const offered = store.merged(state).fitting.filter(({ entry }) => entry.id !== id)
    const issues = presetProblems(state, offered, after)
    if (issues.length > 0) return yield* new SchemaValidationFailed({ details: { issues } })
    if (others.length >= MAX_PRESETS) return yield* new Conflict({ message: TOO_MANY })
    // Before the change: after a crash in between, users are only asked again.
    if (before === undefined || !actsAlike(before, after)) yield* beforeReplacing(id)
    yield* replace(id, [...others, after], by)
    return after
  })

  const create = Effect.fnUntraced(function* <E>(preset: CreatePreset, by: string, limit: Limit<E>) {
    const admitted = yield* admit(preset, limit)
    if (admitted.before !== undefined) return yield* takenId()
    return yield* put(yield* decodeOrFail(preset.id, preset.kind, preset.settings), admitted, by)
  })

  const update = Effect.fnUntraced(function* <E>(
    id: AgentId,
    settings: PresetSettings,
    by: string,
    limit: Limit<E>
  ) {
    const admitted = yield* admit({ id, settings }, limit)
    const { before } = admitted
    if (before === undefined) return yield* new NotFound()
    const merged = Object.entries({ ...settingsOf(before), ...settings }).filter(
      ([, value]) => value !== null
    )
    return yield* put(yield* decodeOrFail(id, before.kind, Object.fromEntries(merged)), admitted, by)
  })

  const remove = Effect.fnUntraced(function* <E>(id: AgentId, by: string, limit: Limit<E>) {
    const { before } = yield* admit({ id }, limit)
    if (before === undefined) return yield* new NotFound()
    yield* beforeReplacing(id)
    yield* replace(id, store.without(id), by)
  })

  const listWith = (showsAllIn: (state: ConfigFile.ConfigState) => boolean) =>
    Effect.map(look, (state) => {
      const showsAll = showsAllIn(state)
      const ofFile = presetsIn(state.content).map((preset) => toPreset("file", preset, undefined, showsAll))
      const managed = store.presets.map((preset) =>
        toPreset("api", preset, state.problems.get(preset.entry.id), showsAll)
      )
      return [...ofFile, ...managed].toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
    })

  const locally = (preset: ManagedPreset) => toPreset("api", preset, undefined, true)
  const remotely = (preset: ManagedPreset) =>
    Effect.map(config.look, (state) => ({ preset: toPreset("api", preset, undefined, mayWiden(state)) }))

  return Presets.of({
    look,
    problems: Effect.map(look, ({ problems }) => [...config.problems(), ...problems.values()]),
    list: listWith(() => true),
    listRemotely: listWith(mayWiden),
    create: (preset, by) => oneAtATime.withPermit(Effect.map(create(preset, by, noLimit), locally)),
    update: (id, settings, by) =>
      oneAtATime.withPermit(Effect.map(update(id, settings, by, noLimit), locally)),
    remove: (id, by) => oneAtATime.withPermit(remove(id, by, noLimit)),
    changeRemotely: Effect.fn("Presets.changeRemotely")(function* (change, by) {
      switch (change._tag) {
        case "Create":
          return yield* remotely(yield* create(change, by, narrowOnly))
        case "Update":
          return yield* remotely(yield* update(change.id, change.settings, by, narrowOnly))
        case "Remove":
          yield* remove(change.id, by, narrowOnly)
          return {}
      }
    }, oneAtATime.withPermit),
    changed: Effect.suspend(() => Deferred.await(next)),
    onReplace: (hook) => void hooks.push(hook)
  })
})

const mayWiden = ({ content, problem }: ConfigFile.ConfigState): boolean =>
  content.remotePresets === true && problem === undefined

const noLimit: Limit<never> = () => Effect.void

const narrowOnly: Limit<PermissionDenied> = (state, touched) =>
  mayWiden(state) || touched.every(isNarrowing)
    ? Effect.void
    : Effect.fail(new PermissionDenied({ message: ONLY_NARROWING }))

const storedIn = (file: string) => {
  const status = lookAt(file)
  if (status === undefined) return Result.succeed([])
  return Result.map(readEntries(decodeFile, file, status), presetsIn)
}

/** Presets of the API, in memory and on disk. */
class PresetStore {
  readonly #file: string
  presets: ReadonlyArray<ManagedPreset>
  #merged: (MergedPresets & { readonly from: ConfigFile.ConfigState }) | undefined

  constructor(file: string, presets: ReadonlyArray<ManagedPreset>) {
    this.#file = file
    this.presets = presets
  }

  find(id: string): ManagedPreset | undefined {
    return this.presets.find(({ entry }) => entry.id === id)
  }

  without(id: string): ReadonlyArray<ManagedPreset> {
    return this.presets.filter(({ entry }) => entry.id !== id)
  }

  /** Computed again when the file or a preset has changed. */
  merged(from: ConfigFile.ConfigState): MergedPresets {
    if (this.#merged?.from !== from) this.#merged = { from, ...mergePresets(from, this.presets) }
    return this.#merged
  }

  /** Succeeds when the presets are durable. */
  replace(presets: ReadonlyArray<ManagedPreset>): Effect.Effect<void, Conflict | Overloaded> {
    return Effect.suspend((): Effect.Effect<void, Conflict | Overloaded> => {
      const text = `${JSON.stringify(entriesOf(presets))}\n`
      if (Buffer.byteLength(text) > MAX_BYTES) return Effect.fail(new Conflict({ message: TOO_MANY }))
      return Effect.try({
        try: () => {
          writeDurably(this.#file, text)
          this.presets = presets
          this.#merged = undefined
        },
        catch: (cause) => new Overloaded({ message: `The presets can't be stored: ${fileReason(cause)}.` })
      })
    })
  }
}

const OF_FILE = "The configuration file of the Edge defines this id. Change it there."
const TOO_MANY = "An Edge stores up to 100 presets, 1 MiB in total. Remove one first."
const ONLY_NARROWING =
  "From a Hub, only profiles with a label, an adapter, a mode below full_access and a model can be set. Set others on the device."

const takenId = () =>
  new SchemaValidationFailed({ details: { issues: [{ path: "id", message: "this id is taken" }] } })

const decodeOrFail = (id: string, kind: PresetKind, settings: PresetSettings) =>
  Result.match(decodePreset(id, kind, settings), {
    onSuccess: (preset) => Effect.succeed(preset),
    onFailure: (issues) => Effect.fail(new SchemaValidationFailed({ details: { issues } }))
  })
