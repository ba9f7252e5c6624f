import { assert, describe, it } from "@effect/vitest"
import { mint } from "@corral/service/Identifiers"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { removeAbandonedGroups } from "../../src/process/GroupRecord.ts"
import {
  edgeGroup,
  emptyGroup,
  commandInGroup,
  makeGroup,
  ownGroup,
  removeGroup
} from "../../src/process/ControlGroup.ts"
import { runSweep } from "../../src/process/Containment.ts"
import { groupsHere } from "@corral/testing/edge/Survivors"

let counter = 0
const newEdge = () => mint<string>("edge", Date.now())
const MINUTE_MS = 60_000

/** A folder of groups that no other Edge uses. Emptied and removed with the test. */
const groupFolder = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = join(ownGroup() ?? "(none)", `test-abandoned${process.pid}x${++counter}`)
    makeGroup(folder)
    return folder
  }),
  (folder) => Effect.andThen(runSweep(emptyGroup(folder)), () => Effect.sync(() => removeGroup(folder)))
)

const inMinutes = (minutes: number) => TestClock.setTime(Date.now() + minutes * MINUTE_MS)

/** A shell that waits inside a group until the test ends. */
const occupy = (group: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      makeGroup(group)
      const { args, file } = commandInGroup(group, "/bin/sh", ["-c", "echo inside; read line"])
      const child = spawn(file, args, { stdio: ["pipe", "pipe", "ignore"] })
      await once(child.stdout, "data")
      return child
    }),
    (child) =>
      Effect.promise(async () => {
        const ended = once(child, "exit")
        child.kill("SIGKILL")
        await ended
      })
  )

describe.skipIf(groupsHere === undefined)("removeAbandonedGroups", () => {
  it.effect("removes old empty groups of other Edges and of proofs, with the groups inside", () =>
    Effect.gen(function* () {
      const folder = yield* groupFolder
      const edge = edgeGroup(folder, newEdge())
      const proof = join(folder, `corral-proof-${process.pid}-${randomUUID()}`)
      for (const group of [join(edge, "run_1", "a", "b"), join(edge, "run_2"), proof]) makeGroup(group)
      yield* inMinutes(11)
      yield* removeAbandonedGroups(folder, newEdge())
      assert.deepStrictEqual(
        [edge, proof, folder].map((each) => existsSync(each)),
        [false, false, true]
      )
    })
  )

  it.effect("leaves groups that are younger than 10 minutes, as those of a run that starts", () =>
    Effect.gen(function* () {
      const folder = yield* groupFolder
      const run = join(edgeGroup(folder, newEdge()), "run_1")
      makeGroup(run)
      yield* inMinutes(9)
      yield* removeAbandonedGroups(folder, newEdge())
      assert.isTrue(existsSync(run))
    })
  )

  it.effect("leaves a group with a process, however deep, and ends no process", () =>
    Effect.gen(function* () {
      const folder = yield* groupFolder
      const edge = edgeGroup(folder, newEdge())
      const [busy, empty] = [join(edge, "run_1", "inner"), join(edge, "run_2")]
      const child = yield* occupy(busy)
      makeGroup(empty)
      yield* inMinutes(600)
      yield* removeAbandonedGroups(folder, newEdge())
      assert.deepStrictEqual(
        [busy, empty].map((each) => existsSync(each)),
        [true, true]
      )
      assert.deepStrictEqual([child.exitCode, child.signalCode], [null, null])
    })
  )

  it.effect("leaves the groups of this Edge, and groups with other names", () =>
    Effect.gen(function* () {
      const folder = yield* groupFolder
      const separateEdge = newEdge()
      const groups = [
        edgeGroup(folder, separateEdge),
        join(folder, "corral-edge_1"),
        join(folder, `corral-${newEdge()}x`),
        join(folder, `x-corral-${newEdge()}`),
        join(folder, newEdge()),
        join(folder, "corral-proof-1-x"),
        join(folder, "system.slice", `corral-${newEdge()}`)
      ]
      groups.forEach(makeGroup)
      yield* inMinutes(600)
      yield* removeAbandonedGroups(folder, separateEdge)
      assert.deepStrictEqual(
        groups.filter((group) => !existsSync(group)),
        []
      )
    })
  )

  it.effect("lets two Edges clean the same folder at the same time", () =>
    Effect.gen(function* () {
      const folder = yield* groupFolder
      const left = Array.from({ length: 20 }, () => edgeGroup(folder, newEdge()))
      left.forEach((group) => makeGroup(join(group, "run_1")))
      yield* inMinutes(11)
      const clean = () => removeAbandonedGroups(folder, newEdge())
      yield* Effect.all([clean(), clean()], { concurrency: "unbounded" })
      assert.deepStrictEqual(
        left.filter((group) => existsSync(group)),
        []
      )
    })
  )

  it.effect("does nothing in a folder that does not exist", () =>
    removeAbandonedGroups("/nowhere", newEdge())
  )
})
