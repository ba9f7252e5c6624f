/**
 * A decision that is killed ahead of one of its calls, and then its recoveries, of which each may be killed. A call is one of the system or a commit. A
 * person edits in between, or ahead of a call.
 */
import { assert } from "@effect/vitest"
import { Context, Effect, Exit, Layer } from "effect"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { DecisionCommit } from "../../src/change/DecisionCommit.ts"
import { Store } from "../../src/store/Store.ts"
import type { ShadowRepository } from "../../src/workspace/ShadowRepository.ts"
import { readTree, shownTree } from "./ChangePlace.ts"
import { changesOf, decide, folderWith, steppedOperations, steppedStore } from "./Decisions.ts"
import type { Tree } from "./RandomTrees.ts"
import { shadowPlace } from "./Subsets.ts"

/** A process: the first one decides, the others recover. */
export interface Life {
  /** Number of calls that it makes. Without it, the process is not killed. */
  readonly calls?: number
  /** What a person does before it. */
  readonly before?: (root: string) => void
  /** What a person does ahead of a call, of which the first is 0. */
  readonly during?: (root: string, call: number) => void
}

export interface Trees {
  readonly base: Tree
  readonly result: Tree
  /** What the workspace has; as `base`. */
  readonly workspace?: Tree
}

export const treeOf = (files: Readonly<Record<string, string>>): Tree =>
  new Map(
    Object.entries(files).map(([name, content]) => [
      name,
      { mode: "100644" as const, content: Buffer.from(content, "latin1") }
    ])
  )

/** Plays the lives, and one that is not killed if the last one is. Returns the files, and how many lives were killed. */
export const playLives = Effect.fnUntraced(function* (
  parent: string,
  shadow: ShadowRepository,
  { base, result, workspace = base }: Trees,
  lives: ReadonlyArray<Life>
) {
  const changes = yield* changesOf(shadow, base, result)
  const place = mkdtempSync(join(parent, "lives-"))
  const root = folderWith(place, "workspace", workspace)
  const store = Context.get(yield* Layer.build(Layer.fresh(Store.layerMemory)), Store)
  let killed = 0
  const play = Effect.fnUntraced(function* (life: Life, isFirst: boolean) {
    life.before?.(root)
    let calls = 0
    let isKilled = false
    const step = () => {
      life.during?.(root, calls)
      isKilled ||= calls++ === life.calls
      if (isKilled) throw new Error("killed")
    }
    const commit = new DecisionCommit(steppedStore(store, step), steppedOperations(step))
    const work = isFirst
      ? decide(commit, shadow, root, changes)
      : Effect.suspend(() =>
          Effect.forEach(commit.unfinished(), (entry) => commit.recover(entry, root, shadow), {
            discard: true
          })
        )
    const exit = yield* Effect.exit(work)
    if (isKilled) killed++
    else assert.isTrue(Exit.isSuccess(exit), String(exit))
    return isKilled
  })
  let wasKilled = true
  for (const [at, life] of lives.entries()) if (wasKilled) wasKilled = yield* play(life, at === 0)
  if (wasKilled) yield* play({}, false)
  const isDecided = store.get("SELECT id FROM change_decisions") !== undefined
  assert.isUndefined(store.get("SELECT id FROM change_journal"), "the journal is empty")
  const beside = readdirSync(root, { recursive: true, encoding: "latin1" }).filter((name) =>
    name.includes(".corral-")
  )
  assert.isEmpty(beside)
  const tree = readTree(root)
  rmSync(place, { recursive: true })
  const texts = [...tree].map(([name, { content }]) => [name, content.toString("latin1")] as const)
  return { files: Object.fromEntries(texts) as Record<string, string>, tree, isDecided, killed }
}, Effect.scoped)

/** A changed, a created and a removed file, and a folder that becomes a file. */
export const mixedTrees: Trees = {
  base: treeOf({ a: "1\n2\n3\n", removed: "removed\n", "f/x": "inner\n" }),
  result: treeOf({ a: "1\nagent\n3\n", "new/created": "created\n", f: "file\n" })
}

/** Plays lives of which the first two may be killed, with each number of calls that these make. */
export const eachKill = Effect.fnUntraced(function* (
  trees: Trees,
  livesOf: (first: number, second: number) => ReadonlyArray<Life>,
  check: (played: Effect.Success<ReturnType<typeof playLives>>, message: string) => void
) {
  const { folder, shadow } = yield* shadowPlace
  for (let first = 0, isKilled = true; isKilled; first++)
    for (let second = 0, isKilledTwice = true; isKilledTwice; second++) {
      const played = yield* playLives(folder, shadow, trees, livesOf(first, second))
      isKilled = played.killed > 0
      isKilledTwice = played.killed > 1
      check(played, `killed after ${first} calls, and after ${second} calls of the recovery`)
    }
}, Effect.scoped)

/** Kills a decision, and then its recovery, ahead of each of their calls: it is complete or absent. */
export const checkKills = (trees: Trees) =>
  eachKill(
    trees,
    (first, second) => [{ calls: first }, { calls: second }],
    ({ isDecided, tree }, message) =>
      assert.deepStrictEqual(shownTree(tree), shownTree(isDecided ? trees.result : trees.base), message)
  )
