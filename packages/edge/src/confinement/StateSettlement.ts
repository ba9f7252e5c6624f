/**
 * Taking back of the private states in an Edge's home, with their removal and their reports.
 *
 * Guarantees: a state is removed once it was taken back, and not taken back again, also if the Edge ends meanwhile. One that could not be taken
 * back stays, and is reported.
 */
import type { Counter, Metrics } from "@corral/service/telemetry/Metrics"
import { Effect } from "effect"
import { existsSync, readdirSync, renameSync } from "node:fs"
import { join } from "node:path"
import { edgeMetrics } from "../EdgeMetrics.ts"
import { removeTemporary } from "../process/TemporaryFolder.ts"
import { type PathReason, returnConversations } from "./StateReturn.ts"
import { type LayerRecord, readRecord } from "./LayerRecord.ts"
import { countFiles } from "./StateFiles.ts"

// What becomes of the private state of a run that has ended: conversations go to the user, everything else is counted.
//
// Does not: remove it.

interface LayerSettlement {
  /** Number of files that the user has. */
  readonly returned: number
  readonly discarded: number
  /** Files that may not come back. They are among the discarded. */
  readonly refused: ReadonlyArray<PathReason>
  /** Files that could not be taken back, so that the state stays. */
  readonly unreturned: ReadonlyArray<PathReason>
}

const nothing: LayerSettlement = { returned: 0, discarded: 0, refused: [], unreturned: [] }

const settleRecord = async ({ folders, workspace }: LayerRecord): Promise<LayerSettlement> => {
  let total = nothing
  for (const each of folders) {
    const { copied = [], credentials = [] } = each.folder
    const { refused, returned, unreturned } = await returnConversations(each, workspace)
    const accounted = new Set([
      ...returned,
      ...unreturned.map(([path]) => path),
      ...each.received.map(({ path }) => path),
      ...[...copied, ...credentials].map(({ path }) => path)
    ])
    const discarded = await countFiles(each.layer, (path) => !accounted.has(path))
    total = {
      returned: total.returned + returned.length,
      discarded: total.discarded + discarded,
      refused: [...total.refused, ...refused],
      unreturned: [...total.unreturned, ...unreturned]
    }
  }
  return total
}

/** Takes back what a run left. Throws if its record cannot be read. */
const settleLayer = async (layer: string): Promise<LayerSettlement> => {
  const record = readRecord(layer)
  if (record === undefined) throw new Error("its record cannot be read")
  return record === "missing" ? nothing : settleRecord(record)
}

/** States that are being removed. */
const REMOVED = "removed-"
const SHOWN_FILES = 20

const shown = (files: ReadonlyArray<PathReason>): ReadonlyArray<string> =>
  files.slice(0, SHOWN_FILES).map(([path, reason]) => `${path}: ${reason}`)

export class StateSettlement {
  /** Runs whose state could not be taken back. */
  readonly unreturned = new Set<string>()
  readonly #around: string
  readonly #counters: Readonly<Record<"returned" | "discarded" | "refused" | "unreturned", Counter>>
  #removals = 0

  constructor(edgeHome: string, metrics: Metrics) {
    this.#around = join(edgeHome, "runtime-state")
    const counter = (outcome: string) => metrics.counter(edgeMetrics.stateFiles, { outcome })
    this.#counters = {
      returned: counter("returned"),
      discarded: counter("discarded"),
      refused: counter("refused"),
      unreturned: counter("unreturned")
    }
  }

  layerOf(run: string): string {
    return join(this.#around, run)
  }

  /** Takes back the state of a run, if it has one. */
  readonly settle = (run: string): Effect.Effect<void> => {
    const layer = this.layerOf(run)
    if (!existsSync(layer)) return Effect.void
    return Effect.tryPromise({
      try: () => settleLayer(layer),
      catch: (cause) => (cause instanceof Error ? cause.message : String(cause))
    }).pipe(
      Effect.matchEffect({
        onFailure: (cause) => this.#report(run, [cause]),
        onSuccess: ({ discarded, refused, returned, unreturned }) => {
          this.#counters.returned.add(returned)
          this.#counters.discarded.add(discarded)
          this.#counters.refused.add(refused.length)
          this.#counters.unreturned.add(unreturned.length)
          const end = unreturned.length > 0 ? this.#report(run, shown(unreturned)) : this.#finish(run)
          return refused.length === 0
            ? end
            : Effect.andThen(
                Effect.logWarning("refused files that a run left in its state", {
                  run,
                  files: shown(refused)
                }),
                end
              )
        }
      })
    )
  }

  /** Takes back all states, except those of live runs. */
  readonly recover = (live: ReadonlySet<string>): Effect.Effect<void> =>
    Effect.suspend(() =>
      Effect.forEach(
        existsSync(this.#around) ? readdirSync(this.#around).filter((name) => !live.has(name)) : [],
        (name) => (name.startsWith(REMOVED) ? removeTemporary(this.layerOf(name)) : this.settle(name)),
        { discard: true }
      )
    )

  readonly remove = (layer: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (!existsSync(layer)) return Effect.void
      const removed = this.layerOf(`${REMOVED}${process.pid}-${this.#removals++}`)
      renameSync(layer, removed)
      return removeTemporary(removed)
    })

  #finish(run: string): Effect.Effect<void> {
    this.unreturned.delete(run)
    return this.remove(this.layerOf(run))
  }

  #report(run: string, causes: ReadonlyArray<string>): Effect.Effect<void> {
    this.unreturned.add(run)
    const folder = this.layerOf(run)
    return Effect.logWarning("failed to take back the state of a run", { run, folder, causes })
  }
}
