/**
 * Raw outputs of runs, for authors of adapters: kept only if the setting says so, on this machine only.
 *
 * Guarantees: at most `MAX_BYTES` together, of which the oldest runs' are deleted first. A disk that refuses a record ends the recording of its
 * run and not the run. Without the setting nothing is written; what was kept before is still read, and deleted with its run.
 */
import { NotFound } from "@corral/domain/errors/Failures"
import type { RunId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect, Layer } from "effect"
import type { RawRecord } from "@corral/domain/run/RawOutput"
import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { keepFolderPrivate } from "../process/PrivateFolder.ts"
import { RawFile } from "./RawFile.ts"
import { RawRun, type RawRunOptions } from "./RawRun.ts"

export const MAX_BYTES = 268_435_456

const NOTHING =
  "No raw output of this run is kept. An Edge keeps it for runs that start while CORRAL_EDGE_RAW_OUTPUT is keep, and deletes the oldest."

export class RawOutputs extends Context.Service<
  RawOutputs,
  {
    /** Records the output of a run, also of one that an earlier Edge has begun to record; `undefined` without the setting. */
    readonly record: (runId: RunId, secrets: RawRunOptions["secrets"]) => RawRun | undefined
    /** The records of a run as JSON lines. */
    readonly read: (runId: RunId) => Effect.Effect<string, NotFound>
    readonly forgetRun: (runId: RunId) => Effect.Effect<void>
  }
>()("corral/edge/raw/RawOutputs") {
  static readonly layer = (maxBytes = MAX_BYTES) =>
    Layer.effect(
      RawOutputs,
      Effect.flatMap(EdgeConfig, ({ home, rawOutput }) =>
        make(join(home, "raw"), rawOutput === "keep", maxBytes)
      )
    )
}

/** Files of all runs that have any, oldest run first, with their sizes: ids of runs sort by time. */
class RawFolder {
  readonly #folder: string
  readonly #maxBytes: number
  readonly #files = new Map<string, RawFile>()
  readonly #sizes = new Map<string, number>()
  #total = 0

  constructor(folder: string, maxBytes: number) {
    this.#folder = folder
    this.#maxBytes = maxBytes
    keepFolderPrivate(folder)
    for (const name of readdirSync(folder).toSorted())
      this.#resize(name.split(".", 1)[0] ?? "", statSync(join(folder, name)).size)
  }

  /** Bytes of stdout that an earlier Edge has written. */
  resume(runId: string): number {
    const end = this.#fileOf(runId).resume()
    this.#measure(runId)
    return end
  }

  append(runId: string, records: ReadonlyArray<RawRecord>, from: number): void {
    this.#fileOf(runId).append(records, from)
    this.#measure(runId)
  }

  #fileOf(runId: string): RawFile {
    const file = this.#files.get(runId) ?? new RawFile(this.#folder, runId)
    this.#files.set(runId, file)
    return file
  }

  /** Counts what the run's files have now, and deletes those of the oldest other runs while all have too much. */
  #measure(runId: string): void {
    this.#resize(runId, this.#fileOf(runId).bytes - (this.#sizes.get(runId) ?? 0))
    for (const oldest of this.#sizes.keys()) {
      if (this.#total <= this.#maxBytes) return
      if (oldest !== runId) this.delete(oldest)
    }
  }

  delete(runId: string): void {
    this.#fileOf(runId).delete()
    this.#files.delete(runId)
    this.#resize(runId, -(this.#sizes.get(runId) ?? 0))
    this.#sizes.delete(runId)
  }

  #resize(runId: string, by: number): void {
    this.#sizes.set(runId, (this.#sizes.get(runId) ?? 0) + by)
    this.#total += by
  }
}

const make = Effect.fnUntraced(function* (folder: string, isKept: boolean, maxBytes: number) {
  const clock = yield* Clock.Clock
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const files = isKept ? new RawFolder(folder, maxBytes) : undefined

  const sinkOf = (files: RawFolder, runId: RunId): RawRunOptions["sink"] => {
    let isBroken = false
    const attempt = <A>(use: () => A): A | undefined => {
      try {
        return isBroken ? undefined : use()
      } catch (cause) {
        isBroken = true
        fork(Effect.logWarning("failed to write the raw output of a run", { runId, cause }))
        return undefined
      }
    }
    return {
      written: attempt(() => files.resume(runId)) ?? 0,
      append: (records, from) => attempt(() => files.append(runId, records, from))
    }
  }

  return RawOutputs.of({
    record: (runId, secrets) =>
      files === undefined
        ? undefined
        : new RawRun({ sink: sinkOf(files, runId), secrets, now: () => clock.currentTimeMillisUnsafe() }),
    read: (runId) =>
      Effect.suspend(() => {
        const records = new RawFile(folder, runId).read()
        return records === undefined
          ? Effect.fail(new NotFound({ message: NOTHING }))
          : Effect.succeed(records)
      }),
    forgetRun: (runId) => Effect.sync(() => (files ?? new RawFile(folder, runId)).delete(runId))
  })
})
