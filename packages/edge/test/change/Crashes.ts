/**
 * A decision that ends in the middle: the recorded calls of the system and commits are replayed up to each of them, in a new folder and a new store,
 * and the next Edge recovers. Calls that were not synced may be lost.
 */
import { assert } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { dirname, join } from "node:path"
import { mkdtempSync, rmSync } from "node:fs"
import { DecisionCommit } from "../../src/change/DecisionCommit.ts"
import { type FileOperations, nodeOperations } from "../../src/change/FolderFiles.ts"
import { Store } from "../../src/store/Store.ts"
import type { ShadowRepository } from "../../src/workspace/ShadowRepository.ts"
import type { Seeded } from "../harness/Seeded.ts"
import { readTree, shownTree } from "./ChangePlace.ts"
import {
  changesOf,
  decide,
  folderWith,
  plainPath,
  type RecordedStep,
  steppedOperations,
  steppedStore
} from "./Decisions.ts"
import { randomTrees, type Tree } from "./RandomTrees.ts"

const memoryStore = Effect.map(Layer.build(Layer.fresh(Store.layerMemory)), (context) =>
  Context.get(context, Store)
)

/** Which of the unsynced calls reach the disk. */
type Loss = (at: number) => boolean

const isPath = (value: unknown): value is Buffer => Buffer.isBuffer(value)

/** Folders whose entries a call changes. */
const foldersOf = ({ args, name }: RecordedStep & { readonly kind: "file" }): ReadonlyArray<string> =>
  name === "write" || name === "writeLink" || name === "giveTo"
    ? args
        .slice(0, 1)
        .filter(isPath)
        .map((path) => dirname(path.toString("latin1")))
    : args.filter(isPath).map((path) => dirname(path.toString("latin1")))

/** Calls among the first ones that are on disk for certain: those before a sync of each of their folders. */
const syncedOf = (steps: ReadonlyArray<RecordedStep>): ReadonlySet<number> => {
  const synced = new Set<number>()
  for (const [at, step] of steps.entries()) {
    if (step.kind !== "file" || step.name === "sync") continue
    const isSynced = foldersOf(step).every((folder) =>
      steps
        .slice(at + 1)
        .some(
          (later) =>
            later.kind === "file" &&
            later.name === "sync" &&
            later.args.some((path) => isPath(path) && path.toString("latin1") === folder)
        )
    )
    if (isSynced) synced.add(at)
  }
  return synced
}

const moved = (value: unknown, from: string, to: string): unknown =>
  isPath(value) && value.subarray(0, from.length + 1).toString("latin1") === `${from}/`
    ? Buffer.concat([Buffer.from(to), value.subarray(from.length)])
    : isPath(value) && value.toString("latin1") === from
      ? Buffer.from(to)
      : value

/** Makes a call in another folder. One that needs a lost one fails, as it is lost itself. */
const replay = ({ args, name }: RecordedStep & { readonly kind: "file" }, from: string, to: string): void => {
  const call = nodeOperations[name] as (...args: ReadonlyArray<unknown>) => void
  try {
    call(...args.map((value) => moved(value, from, to)))
  } catch {
    // Lost.
  }
}

/** Records an acceptance, and recovers from each of its beginnings. Returns how many were tried. */
export const checkCrashes = Effect.fnUntraced(function* (
  parent: string,
  shadow: ShadowRepository,
  seeded: Seeded,
  trees: { readonly base: Tree; readonly result: Tree } = randomTrees(seeded)
) {
  const changes = yield* changesOf(shadow, trees.base, trees.result)
  const place = mkdtempSync(join(parent, "crash-"))
  const folder = folderWith(place, "recorded", trees.base)
  const steps: Array<RecordedStep> = []
  const recording: FileOperations = steppedOperations((name, args) =>
    steps.push({
      kind: "file",
      name,
      args: args.map((value, at) =>
        isPath(value) && !(at > 0 && name.startsWith("write")) ? plainPath(value) : value
      )
    })
  )
  const recorded = steppedStore(yield* memoryStore, (writes) => steps.push({ kind: "commit", writes }))
  const { end } = yield* decide(new DecisionCommit(recorded, recording), shadow, folder, changes)
  const [before, after] = [shownTree(trees.base), shownTree(trees.result)]
  if (end === "conflict") {
    assert.deepStrictEqual(shownTree(readTree(folder)), before)
    return 0
  }
  assert.deepStrictEqual(shownTree(readTree(folder)), after)
  let tried = 0
  for (let length = 0; length <= steps.length; length++) {
    const losses: ReadonlyArray<Loss> = [() => false, () => true, () => seeded.whole(0, 1) === 0]
    for (const isLost of losses) {
      const prefix = steps.slice(0, length)
      const synced = syncedOf(prefix)
      const crashed = folderWith(place, `c${tried++}`, trees.base)
      const store = yield* memoryStore
      for (const [at, step] of prefix.entries()) {
        if (step.kind === "commit") yield* store.commit(step.writes)
        else if (synced.has(at) || !isLost(at)) replay(step, folder, crashed)
      }
      const next = new DecisionCommit(store, nodeOperations)
      for (const entry of next.unfinished()) yield* next.recover(entry, crashed, shadow)
      assert.isEmpty(next.unfinished())
      const isDecided = store.get("SELECT id FROM change_decisions") !== undefined
      assert.deepStrictEqual(
        shownTree(readTree(crashed)),
        isDecided ? after : before,
        `after ${length} steps`
      )
      rmSync(crashed, { recursive: true })
    }
  }
  rmSync(place, { recursive: true })
  return tried
}, Effect.scoped)
