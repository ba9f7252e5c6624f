/** Snapshots of generated hostile trees: they end, they run nothing, and each changed file is in the diff or named as left out. */
import { tries } from "@corral/testing/time/Effort"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { pathText } from "../../src/workspace/PathText.ts"
import { temporaryFolder } from "../Folder.ts"
import { anySteps, applySteps, type HostileStep, regularFiles, traceProgram } from "./HostileTree.ts"
import { repository } from "./Repository.ts"
import { changesBy, snapshotPlace } from "./SnapshotPlace.ts"

/** Files that the rules of a generated tree can ignore. */
const mayBeIgnored = (path: string, steps: ReadonlyArray<HostileStep>): boolean =>
  path.split("/").some((name) => name === "b" || name.endsWith(".tmp")) &&
  steps.some(({ kind, path: at }) => kind === "rules" && at.at(-1) === ".gitignore")

const check = Effect.fnUntraced(function* (
  first: ReadonlyArray<HostileStep>,
  second: ReadonlyArray<HostileStep>,
  isRepository: boolean
) {
  const traces = yield* temporaryFolder
  const trace = traceProgram(traces)
  const place = yield* snapshotPlace((root) => {
    if (isRepository) repository(root)
    applySteps(root, first, trace, 0)
  })
  const before = regularFiles(place.root)
  const { items, leftOut } = yield* changesBy(place, () => applySteps(place.root, second, trace, 100))
  const after = regularFiles(place.root)
  const named = new Set(items.flatMap(({ fromPath, path }) => [path, fromPath ?? path]))
  const isNamed = (path: string): boolean =>
    named.has(path) || leftOut.some((left) => path === left || (left.endsWith("/") && path.startsWith(left)))
  for (const path of new Set([...before.keys(), ...after.keys()])) {
    const text = pathText(Buffer.from(path, "latin1"))
    const isIgnored = mayBeIgnored(path, [...first, ...second])
    if (before.get(path) !== after.get(path) && !isIgnored) assert.isTrue(isNamed(text), text)
  }
  assert.isFalse(existsSync(join(traces, "ran")))
})

describe("A hostile tree", () => {
  it.live.prop(
    "hides no change",
    [anySteps, anySteps],
    ([first, second]) => check(first, second, first.length % 2 === 0).pipe(Effect.scoped),
    tries(3)
  )
})
