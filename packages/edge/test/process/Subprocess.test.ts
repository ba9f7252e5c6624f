import type { ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { afterEach, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { signalGroup } from "../../src/process/ProcessSweep.ts"
import { Subprocess, type SubprocessSpec } from "../../src/process/Subprocess.ts"
import { openFolder, temporaryFolder } from "../Folder.ts"
import { groupsHere } from "@corral/testing/edge/Survivors"
import { within } from "@corral/testing/time/Until"

type Ending =
  | { readonly _tag: "Ended"; readonly end: ProcessEnd; readonly output: Buffer }
  | { readonly _tag: "SpawnError"; readonly code: string | undefined }

let started: Array<Subprocess> = []
afterEach(() => {
  for (const { pid } of started) if (pid !== undefined) signalGroup(pid, "SIGKILL")
  started = []
})

interface Watched {
  readonly child: Subprocess
  readonly ending: Promise<Ending>
  /** How often an end or an error was told, by now. */
  readonly times: () => number
}

const run = (
  spec: Partial<SubprocessSpec>,
  onChunk: (chunk: Buffer, child: Subprocess) => void = () => undefined
): Watched => {
  let times = 0
  const { promise: ending, resolve } = Promise.withResolvers<Ending>()
  const chunks: Array<Buffer> = []
  const child = new Subprocess(
    {
      file: "/bin/sh",
      args: [],
      cwd: tmpdir(),
      env: { PATH: process.env.PATH ?? "" },
      stdin: "pipe",
      ...spec
    },
    {
      onChunk: (chunk) => {
        chunks.push(chunk)
        onChunk(chunk, child)
      },
      onEnd: (end) => {
        times++
        resolve({ _tag: "Ended", end, output: Buffer.concat(chunks) })
      },
      onSpawnError: (error) => {
        times++
        resolve({ _tag: "SpawnError", code: error.code })
      }
    }
  )
  started.push(child)
  return { child, ending, times: () => times }
}

const shell = (
  script: string,
  onChunk?: (chunk: Buffer, child: Subprocess) => void,
  more: Partial<SubprocessSpec> = {}
) => run({ args: ["-c", script], ...more }, onChunk)
const node = (script: string, onChunk?: (chunk: Buffer, child: Subprocess) => void) =>
  run({ file: process.execPath, args: ["-e", script] }, onChunk)

const ended = async ({ ending }: Watched) => {
  const result = await ending
  assert(result._tag === "Ended", `not ended: ${JSON.stringify(result)}`)
  return { ...result.end, text: result.output.toString("utf8"), output: result.output }
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe("Subprocess", () => {
  it("reads output that waits in the pipe although the thread was busy when the program ended", async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const chunks: Array<Buffer> = []
    // A grandchild prints after the program has ended, while this thread is busy for longer than the output lingers.
    const printed = join(openFolder(), "printed")
    const args = [
      "-c",
      `(while kill -0 $$ 2>/dev/null; do :; done; printf late; : > '${printed}'; sleep 0.6) & exit 0`
    ]
    const busy = () => {
      while (!existsSync(printed)) continue
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
    }
    const child = new Subprocess(
      { file: "/bin/sh", args, cwd: tmpdir(), env: { PATH: process.env.PATH ?? "" }, stdin: "ignore" },
      {
        onChunk: (chunk) => chunks.push(chunk),
        onGone: () => process.nextTick(busy),
        onEnd: () => resolve(Buffer.concat(chunks).toString()),
        onSpawnError: ({ message }) => resolve(message)
      }
    )
    started.push(child)
    assert.strictEqual(await promise, "late")
  })

  it("gives what the child prints, and its end", async () => {
    const { text, code, signal, stderr } = await ended(shell("echo out; echo err >&2; exit 3"))
    assert.deepStrictEqual(
      { text, code, signal, stderr },
      { text: "out\n", code: 3, signal: null, stderr: "err\n" }
    )
  })

  it("gives the signal that ended the child", async () => {
    const { code, signal } = await ended(shell("kill -KILL $$"))
    assert.deepStrictEqual({ code, signal }, { code: null, signal: "SIGKILL" })
  })

  it("gives the environment and folder it was told, and no more", async () => {
    const { text } = await ended(run({ file: "/usr/bin/env", env: { ONE: "1", TWO: "zwei" }, cwd: "/" }))
    assert.deepStrictEqual(text.trim().split("\n").toSorted(), ["ONE=1", "TWO=zwei"])
    assert.strictEqual((await ended(run({ args: ["-c", "pwd"], cwd: "/" }))).text, "/\n")
  })

  it("leads its own session and group", async () => {
    const watched = shell("cut -d' ' -f5,6 /proc/self/stat")
    const { text } = await ended(watched)
    assert.strictEqual(text.trim(), `${watched.child.pid} ${watched.child.pid}`)
  })

  it("tells one end, with everything that was printed before it", async () => {
    const bytes = 3_000_000
    const watched = node(`process.stdout.write("x".repeat(${bytes}), () => process.exit(0))`)
    const { output } = await ended(watched)
    assert.strictEqual(output.length, bytes)
    assert.strictEqual(watched.times(), 1)
    assert.isTrue(watched.child.isGone)
  })

  it("is not gone while it lives", async () => {
    const watched = shell("read line; exit 0", undefined)
    assert.isFalse(watched.child.isGone)
    watched.child.write("go\n")
    await ended(watched)
    assert.isTrue(watched.child.isGone)
  })

  it("keeps the last 16 KiB of stderr", async () => {
    const { stderr } = await ended(node(`process.stderr.write("a".repeat(100000) + "the end")`))
    assert.strictEqual(stderr.length, 16_384)
    assert.isTrue(stderr.endsWith("aathe end"))
  })

  it("keeps no half of a word of stderr", async () => {
    const { stderr } = await ended(node(`process.stderr.write("a-secret-word ".repeat(10000))`))
    assert.match(stderr, /^( a-secret-word){1000,} $/)
  })

  it("tells the end though a grandchild holds stdout", async () => {
    let grandchild = 0
    const watched = shell("sleep 600 & echo $!; exit 4", (chunk) => (grandchild = Number(chunk)))
    const { code } = await ended(watched)
    assert.strictEqual(code, 4)
    assert.isTrue(isAlive(grandchild), "the end was told while it lived")
  })

  it("reports the end although a grandchild keeps printing", async () => {
    const watched = shell("(while echo tick; do sleep 0.02; done) & exit 4")
    const { code } = await within(ended(watched), 15_000, "the end")
    assert.strictEqual(code, 4)
  })

  /** A child that has printed so much and is gone, and whose reader paused at the first chunk. */
  const pausedAndGone = async (bytes: number) => {
    const paused = Promise.withResolvers<Subprocess>()
    const watched = node(`process.stdout.write("x".repeat(${bytes}), () => process.exit(0))`, (_, child) => {
      child.pause()
      paused.resolve(child)
    })
    const child = await paused.promise
    while (!child.isGone) await new Promise((resolve) => setImmediate(resolve))
    assert.strictEqual(watched.times(), 0, "no end before the reader has read")
    return watched
  }

  /** Resumes the child each time that the reader pauses it. */
  const readOn = async (watched: Watched) => {
    const reading = setInterval(() => watched.child.resume(), 1)
    const { output } = await ended(watched)
    clearInterval(reading)
    return output.length
  }

  it("gives a reader that paused everything, also when the child was gone long before", async () => {
    assert.strictEqual(await readOn(await pausedAndGone(130_000)), 130_000)
  })

  it("gives a reader that paused everything, also when the event loop stands as it reads on", async () => {
    const watched = await pausedAndGone(130_000)
    await new Promise((resolve) => setImmediate(resolve))
    watched.child.resume()
    // Longer than a grandchild is waited for.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150)
    assert.strictEqual(await readOn(watched), 130_000)
  })

  it("lets a paused reader's child wait rather than buffer what it prints", async () => {
    const bytes = 5_000_000
    const first = Promise.withResolvers<Subprocess>()
    let size = 0
    const watched = node(
      `process.stdout.write("x".repeat(${bytes}), () => process.exit(0))`,
      (chunk, child) => {
        if (size === 0) {
          child.pause()
          first.resolve(child)
        }
        size += chunk.length
      }
    )
    const child = await first.promise
    for (let i = 0; i < 100; i++) await new Promise((resolve) => setImmediate(resolve))
    assert.isBelow(size, 200_000)
    child.resume()
    assert.strictEqual((await ended(watched)).output.length, bytes)
  })

  it("passes input on and closes it", async () => {
    const watched = shell("cat")
    watched.child.write("one\n")
    watched.child.write("zwei ü 🐎\n")
    watched.child.closeInput()
    watched.child.closeInput()
    watched.child.write("too late\n")
    assert.strictEqual((await ended(watched)).text, "one\nzwei ü 🐎\n")
  })

  it("survives a child that does not read: a broken pipe is no error of ours", async () => {
    const closed = Promise.withResolvers<Subprocess>()
    const watched = shell("exec 0<&-; echo closed; sleep 0.2; exit 5", (_, child) => closed.resolve(child))
    const child = await closed.promise
    for (let i = 0; i < 50; i++) child.write("x".repeat(100_000))
    assert.strictEqual((await ended(watched)).code, 5)
    child.write("after the end")
    child.closeInput()
  })

  it("gives end of input at once where stdin is ignored", async () => {
    const watched = shell("cat; echo over", undefined, { stdin: "ignore" })
    watched.child.write("this is lost")
    assert.strictEqual((await ended(watched)).text, "over\n")
  })

  it("tells that a program is not there, and no end", async () => {
    const watched = run({ file: "/nowhere/at-all" })
    assert.deepStrictEqual(await watched.ending, { _tag: "SpawnError", code: "ENOENT" })
    assert.isUndefined(watched.child.pid)
    assert.isTrue(watched.child.isGone)
    watched.child.write("x")
    watched.child.closeInput()
    assert.strictEqual(watched.times(), 1)
  })

  it.effect("tells that a file cannot be run", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "plain.txt")
      writeFileSync(file, "text")
      assert.deepStrictEqual(yield* Effect.promise(() => run({ file }).ending), {
        _tag: "SpawnError",
        code: "EACCES"
      })
    })
  )

  it.skipIf(groupsHere === undefined).each([
    ["is not there", "/nowhere/at-all", "ENOENT"],
    ["cannot be run", "/dev/null", "EACCES"]
  ])("tells that a program %s, also where it would enter a group first", async (_, file, code) => {
    const group = join(groupsHere ?? "", `corral-test${process.pid}`)
    assert.deepStrictEqual(await run({ file, group }).ending, { _tag: "SpawnError", code })
  })

  it("tells that the folder is not there", async () => {
    assert.strictEqual((await run({ cwd: "/nowhere/at-all" }).ending)._tag, "SpawnError")
  })

  it.each([
    ["an argument longer than the system takes", { args: ["-c", "true", "x".repeat(3_000_000)] }],
    ["a zero byte in the environment", { env: { A: "a\0b" } }],
    ["a zero byte in an argument", { args: ["-c", "true", "a\0b"] }],
    ["a folder that is a file", { cwd: "/dev/null" }]
  ] as const)("tells what the system refuses at once like any other: %s", async (_, spec) => {
    assert.strictEqual((await run(spec).ending)._tag, "SpawnError")
  })
})
