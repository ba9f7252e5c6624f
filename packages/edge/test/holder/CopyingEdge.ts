/**
 * `node CopyingEdge.ts HOME RUN FILE`: an Edge that writes what a file contains to the stdin of a run, from the byte on at which the holder
 * stopped. Starts `cat` as the program if the run is new. Prints its position in stdout with each read.
 */
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { HeldProcess } from "../../src/holder/HeldProcess.ts"
import { Holder } from "../../src/holder/Holder.ts"
import { RUN_MARK } from "../../src/process/ProcessSweep.ts"

const [, , home = "", run = "", file = ""] = process.argv
const input = readFileSync(file, "latin1")

let position = 0
let child: HeldProcess | undefined
const advance = (bytes: number): void => {
  position += bytes
  process.stdout.write(`${position}\n`)
}

const handlers = {
  onChunk: ({ length }: Buffer) => {
    advance(length)
    child?.reportUnread(0)
  },
  onEnd: () => process.exit(2),
  onSpawnError: () => process.exit(3)
}

const copy = Effect.gen(function* () {
  const holder = yield* Holder
  const connection = yield* holder.open(run)
  const { opened } = connection
  const spec = {
    file: "/bin/cat",
    args: [],
    cwd: "/",
    env: { [RUN_MARK]: run },
    stdin: "pipe" as const
  }
  const limits = { mark: `${RUN_MARK}=${run}`, maxBytes: 1_000_000_000, until: {} }
  advance(opened.outputBytes)
  child = opened.isNew
    ? HeldProcess.start(connection, spec, limits, handlers)
    : HeldProcess.adopt(connection, { from: opened.outputBytes, isConfined: false }, handlers)
  for (let at = opened.stdinBytes, size = 1; at < input.length; size = (size * 7 + 11) % 5_003) {
    child.write(input.slice(at, at + size))
    at += size
    // Lets the socket write, so that the end comes between two frames or within one.
    if (size % 5 === 0) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  }
  return yield* Effect.never
})

await Effect.runPromise(Effect.provide(copy, Holder.layerOf({ home })))
