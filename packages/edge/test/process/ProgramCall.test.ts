import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { existsSync, readFileSync, watch } from "node:fs"
import { setImmediate } from "node:timers/promises"
import { join } from "node:path"
import { callProgram } from "../../src/process/ProgramCall.ts"
import { temporaryFolder, writeProgram } from "../Folder.ts"

const env = { PATH: "/usr/bin:/bin" }

/** The file's text, once it is there with a line end. */
const written = (folder: string, name: string) =>
  Effect.callback<string>((resume) => {
    const file = join(folder, name)
    const look = () => {
      const text = existsSync(file) ? readFileSync(file, "utf8") : ""
      if (text.endsWith("\n")) resume(Effect.succeed(text.trim()))
    }
    const watcher = watch(folder, look)
    look()
    return Effect.sync(() => watcher.close())
  })

const isAlive = (pid: number): boolean => {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}

const isGone = (pid: number) =>
  Effect.promise(async () => {
    while (isAlive(pid)) await setImmediate()
  })

describe("call", () => {
  it.live("gives what was printed and how it ended", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const program = writeProgram(join(cwd, "tool"), 'echo "said $1"; echo also >&2; exit 3')
      assert.deepStrictEqual(yield* callProgram({ program, args: ["x"], env, cwd }), {
        code: 3,
        stdout: "said x\n",
        stderr: "also\n"
      })
      assert.isUndefined(yield* callProgram({ program: join(cwd, "nowhere"), args: [], env, cwd }))
      assert.isUndefined(yield* callProgram({ program, args: ["\0"], env, cwd }))
    })
  )

  it.live("keeps the beginning of much output, and reads all of it", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const program = writeProgram(join(cwd, "tool"), "echo first; head -c 3000000 /dev/zero; exit 0")
      const answer = yield* callProgram({ program, args: [], env, cwd })
      assert.strictEqual(answer?.code, 0)
      assert.strictEqual(answer?.stdout.length, 65_536)
      assert.isTrue(answer?.stdout.startsWith("first\n"))
    })
  )

  it.live("does not wait for a child that holds the output, and leaves none behind", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const program = writeProgram(join(cwd, "tool"), "sleep 600 &\necho $!")
      const answer = yield* callProgram({ program, args: [], env, cwd })
      yield* isGone(Number(answer?.stdout))
    })
  )

  it.effect("ends after 10 seconds, a wrapper's child too", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const program = writeProgram(
        join(cwd, "tool"),
        "trap '' TERM; sleep 600 &\necho $$ $! > pids.new; mv pids.new pids; wait"
      )
      const calling = yield* Effect.forkChild(callProgram({ program, args: [], env, cwd }))
      // Started before its clock runs out.
      yield* Effect.yieldNow
      const pids = (yield* written(cwd, "pids")).split(" ").map(Number)
      assert.lengthOf(pids, 2)
      assert.deepStrictEqual(pids.map(isAlive), [true, true])
      yield* TestClock.adjust("10 seconds")
      assert.isUndefined(yield* Fiber.join(calling))
      for (const pid of pids) yield* isGone(pid)
    })
  )
})
