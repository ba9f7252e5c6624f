import { assert, describe, it } from "@effect/vitest"
import { groupsHere } from "@corral/testing/edge/Survivors"
import { within } from "@corral/testing/time/Until"
import { Effect, Fiber } from "effect"
import { spawn } from "node:child_process"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  commandInGroup,
  edgeGroup,
  emptyGroup,
  isFrozen,
  makeGroup,
  removeGroup
} from "../../src/process/ControlGroup.ts"
import { runSweep } from "../../src/process/Containment.ts"
import { Freezer } from "../../src/process/Freezer.ts"

it.live("fails where there is no group", () =>
  Effect.gen(function* () {
    const freezer = new Freezer(join(tmpdir(), "corral-none", "run_1"))
    assert.isFalse(yield* freezer.freeze())
    freezer.thaw()
  })
)

const inTime = (answer: Fiber.Fiber<string>) =>
  Effect.promise(() => within(Effect.runPromise(Fiber.join(answer)), 10_000, "the answer"))

describe.skipIf(groupsHere === undefined)("Freezer", () => {
  let counter = 0

  /** A group with a shell that answers each line. */
  const answering = Effect.acquireRelease(
    Effect.callback<{ readonly group: string; readonly echo: (text: string) => Effect.Effect<string> }>(
      (resume) => {
        const group = join(edgeGroup(groupsHere ?? "", `edge_freeze${process.pid}x${++counter}`), "run_1")
        makeGroup(group)
        const { args, file } = commandInGroup(group, "/bin/sh", [
          "-c",
          "echo up; while read line; do echo $line; done"
        ])
        const { stdin, stdout } = spawn(file, args, { env: {}, stdio: ["pipe", "pipe", "ignore"] })
        stdin.on("error", () => undefined)
        const echo = (text: string) =>
          Effect.callback<string>((resume) => {
            stdout.once("data", (chunk: Buffer) => resume(Effect.succeed(chunk.toString().trim())))
            stdin.write(`${text}\n`)
          })
        stdout.once("data", () => resume(Effect.succeed({ group, echo })))
      }
    ),
    ({ group }) => Effect.andThen(runSweep(emptyGroup(group)), () => Effect.sync(() => removeGroup(group)))
  )

  it.live("stops all processes of the group, which continue after the thaw where they were", () =>
    Effect.gen(function* () {
      const { echo, group } = yield* answering
      const freezer = new Freezer(group)
      assert.strictEqual(yield* echo("one"), "one")
      assert.isTrue(yield* freezer.freeze())
      assert.isTrue(isFrozen(group))
      const answer = yield* Effect.forkChild(echo("two"))
      const first = yield* Effect.raceFirst(
        Fiber.join(answer),
        Effect.as(Effect.sleep("100 millis"), "nothing")
      )
      assert.strictEqual(first, "nothing")
      freezer.thaw()
      assert.strictEqual(yield* inTime(answer), "two")
      assert.isTrue(yield* freezer.freeze(), "it can be frozen again")
    })
  )

  it.live("freezes what enters the group later", () =>
    Effect.gen(function* () {
      const { group } = yield* answering
      const freezer = new Freezer(group)
      assert.isTrue(yield* freezer.freeze())
      const { args, file } = commandInGroup(group, "/bin/sh", ["-c", "echo in"])
      const late = spawn(file, args, { env: {}, stdio: ["ignore", "pipe", "ignore"] })
      const printed = yield* Effect.forkChild(
        Effect.callback<string>((resume) => {
          late.stdout.once("data", (chunk: Buffer) => resume(Effect.succeed(chunk.toString().trim())))
        })
      )
      const first = yield* Effect.raceFirst(
        Fiber.join(printed),
        Effect.as(Effect.sleep("100 millis"), "nothing")
      )
      assert.strictEqual(first, "nothing")
      freezer.thaw()
      assert.strictEqual(yield* inTime(printed), "in")
    })
  )

  it.live("freezes nothing after its release", () =>
    Effect.gen(function* () {
      const { echo, group } = yield* answering
      const freezer = new Freezer(group)
      assert.isTrue(yield* freezer.freeze())
      freezer.release()
      assert.isFalse(yield* freezer.freeze())
      assert.isFalse(isFrozen(group))
      assert.strictEqual(yield* echo("on"), "on")
    })
  )

  it.live("leaves a frozen group that can be emptied and removed", () =>
    Effect.gen(function* () {
      const { group } = yield* answering
      assert.isTrue(yield* new Freezer(group).freeze())
      yield* runSweep(emptyGroup(group))
      assert.isTrue(removeGroup(group))
    })
  )
})
