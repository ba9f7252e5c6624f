import { within } from "@corral/testing/time/Until"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import { tmpdir } from "node:os"
import { sweep } from "../../src/process/Containment.ts"
import { findSurvivors } from "../../src/process/MarkSearch.ts"
import { signalGroup } from "../../src/process/ProcessSweep.ts"
import { Subprocess } from "../../src/process/Subprocess.ts"
import { terminate, terminateAfterInput } from "../../src/process/RunChild.ts"

const GRACE = 6_000

/** Prints what it receives, and ends only by force. */
const stubborn = `
  for (const name of ["SIGINT", "SIGTERM"]) process.on(name, () => console.log(name))
  process.stdin.on("data", (text) => process.stdout.write(text)).on("end", () => console.log("end of input"))
  setInterval(() => undefined, 60_000)
  console.log("ready")
`

/** A process that does not end by itself, with the options to terminate it. */
const started = Effect.gen(function* () {
  const exited = yield* Deferred.make<void>()
  const ending = Promise.withResolvers<void>()
  let output = ""
  let notify = () => {}
  const child = yield* Effect.acquireRelease(
    Effect.sync(
      () =>
        new Subprocess(
          {
            file: process.execPath,
            args: ["-e", stubborn],
            cwd: tmpdir(),
            env: { PATH: process.env.PATH ?? "" },
            stdin: "pipe"
          },
          {
            onChunk: (chunk) => {
              output += chunk.toString("utf8")
              notify()
            },
            onGone: () => {
              Deferred.doneUnsafe(exited, Effect.void)
              ending.resolve()
            },
            onEnd: () => undefined,
            onSpawnError: (error) => ending.reject(error)
          }
        )
    ),
    ({ pid }) => Effect.sync(() => pid !== undefined && signalGroup(pid, "SIGKILL"))
  )
  /** Waits for a line of the process, and returns all lines so far. */
  const awaitLine = (line: string): Effect.Effect<ReadonlyArray<string>> =>
    Effect.promise(async () => {
      const lines = () => output.split("\n").slice(0, -1)
      const arrival = new Promise<void>((resolve) => {
        notify = () => {
          if (lines().includes(line)) resolve()
        }
        notify()
      })
      await within(arrival, 10_000, line)
      return lines()
    })
  yield* awaitLine("ready")
  const options = {
    child,
    exited,
    grace: GRACE,
    sweep: Effect.suspend(() => sweep({ mark: "CORRAL_RUN_ID=none", leader: child.pid }))
  }
  return {
    options,
    heard: awaitLine,
    isGone: Effect.promise(() => within(ending.promise, 10_000, "the end")),
    child
  }
})

describe("terminate", () => {
  it.effect("shares the grace between cancel, SIGINT and SIGTERM, and then kills", () =>
    Effect.gen(function* () {
      const { child, heard, isGone, options } = yield* started
      child.write("cancel\n")
      yield* Effect.forkScoped(terminate(options, true), { startImmediately: true })
      assert.deepStrictEqual(yield* heard("cancel"), ["ready", "cancel"])
      yield* TestClock.adjust(GRACE / 3)
      assert.deepStrictEqual(yield* heard("SIGINT"), ["ready", "cancel", "SIGINT"])
      yield* TestClock.adjust(GRACE / 3)
      assert.deepStrictEqual(yield* heard("SIGTERM"), ["ready", "cancel", "SIGINT", "SIGTERM"])
      assert.isFalse(child.isGone)
      yield* TestClock.adjust(GRACE / 3)
      yield* isGone
    })
  )

  it.effect("starts with SIGINT, after half of the grace SIGTERM, where the protocol has no cancel", () =>
    Effect.gen(function* () {
      const { heard, isGone, options } = yield* started
      yield* Effect.forkScoped(terminate(options, false), { startImmediately: true })
      assert.deepStrictEqual(yield* heard("SIGINT"), ["ready", "SIGINT"])
      yield* TestClock.adjust(GRACE / 2)
      assert.deepStrictEqual(yield* heard("SIGTERM"), ["ready", "SIGINT", "SIGTERM"])
      yield* TestClock.adjust(GRACE / 2)
      yield* isGone
    })
  )
})

/** Prints much at SIGINT, and ends. Its child ignores signals, and has its stdout. */
const talkative = `
  process.on("SIGINT", () => process.stdout.write("x".repeat(500_000) + "last words", () => process.exit(0)))
  require("node:child_process").spawn("/bin/sh", ["-c", "trap '' INT TERM; echo ready; exec sleep 120"], {
    stdio: ["ignore", "inherit", "ignore"]
  })
`

describe("terminate, when the process exits first", () => {
  it.live("kills its other processes without a wait, and all that was printed arrives", () =>
    Effect.gen(function* () {
      const [exited, isReady, end] = [
        yield* Deferred.make<void>(),
        yield* Deferred.make<void>(),
        yield* Deferred.make<string>()
      ]
      let output = ""
      const mark = `CORRAL_RUN_ID=run_${randomUUID()}`
      const child = new Subprocess(
        {
          file: process.execPath,
          args: ["-e", talkative],
          cwd: tmpdir(),
          env: { PATH: process.env.PATH ?? "", CORRAL_RUN_ID: mark.slice("CORRAL_RUN_ID=".length) },
          stdin: "ignore"
        },
        {
          onChunk: (chunk) => {
            output += chunk.toString("utf8")
            if (output.includes("ready\n")) Deferred.doneUnsafe(isReady, Effect.void)
          },
          onGone: () => Deferred.doneUnsafe(exited, Effect.void),
          onEnd: () => Deferred.doneUnsafe(end, Effect.succeed(output)),
          onSpawnError: (error) => Deferred.doneUnsafe(isReady, Effect.die(error))
        }
      )
      const target = () => ({ mark, leader: child.pid })
      yield* Deferred.await(isReady)
      yield* terminate({ child, exited, grace: GRACE, sweep: Effect.suspend(() => sweep(target())) }, false)
      assert.deepStrictEqual(findSurvivors(target()).pids, [])
      assert.isTrue((yield* Deferred.await(end)).endsWith("last words"))
    })
  )
})

describe("terminateAfterInput", () => {
  it.effect("closes the input, and sends signals when the process stays", () =>
    Effect.gen(function* () {
      const { heard, isGone, options } = yield* started
      yield* Effect.forkScoped(terminateAfterInput(options, 1_000), { startImmediately: true })
      assert.deepStrictEqual(yield* heard("end of input"), ["ready", "end of input"])
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(yield* heard("SIGINT"), ["ready", "end of input", "SIGINT"])
      yield* TestClock.adjust(GRACE)
      yield* isGone
    })
  )
})
