/** A home with its holder, and runs of programs in it. */
import { onTestFinished } from "@effect/vitest"
import { Effect, ManagedRuntime } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { Holder, type HolderOptions } from "../../src/holder/Holder.ts"
import { HeldProcess, type HeldLimits } from "../../src/holder/HeldProcess.ts"
import type { HeldRunConnection } from "../../src/holder/HeldRunConnection.ts"
import { RUN_MARK } from "../../src/process/MarkSweep.ts"
import type { SubprocessSpec } from "../../src/process/Subprocess.ts"
import { openFolder } from "../Folder.ts"

export interface ConnectedEdge {
  readonly holder: Holder["Service"]
  /** As an Edge that stops: runs continue. */
  readonly close: () => Promise<void>
}

/** Connects as an Edge of that home does. Closed with the test. */
export const connectEdge = async (options: HolderOptions): Promise<ConnectedEdge> => {
  const runtime = ManagedRuntime.make(Holder.layerOf(options))
  const close = () => runtime.dispose()
  onTestFinished(close)
  return { holder: await runtime.runPromise(Holder), close }
}

/** A home whose holder ends with the test. */
export const openHome = (): string => {
  const home = openFolder()
  onTestFinished(() => endHolder(home))
  return home
}

/** Processes of holders of a home. */
export const holdersOf = (home: string): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^[0-9]+$/.test(name))
    .filter((name) => {
      try {
        const args = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0")
        return args.includes(home) && args.some((each) => /holder(\.cjs|\/main\.ts)$/.test(each))
      } catch {
        return false
      }
    })
    .map(Number)

const endHolder = async (home: string): Promise<void> => {
  for (const pid of holdersOf(home)) {
    process.kill(pid, "SIGTERM")
    await untilGone(pid)
  }
}

export const isAlive = (pid: number): boolean => {
  try {
    // A zombie of this process is not alive.
    return !/^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}

/** Waits for a state that nothing reports. */
export const until = async (isReached: () => boolean, what: string, millis = 20_000): Promise<void> => {
  const limit = performance.now() + millis
  while (!isReached()) {
    if (performance.now() > limit) throw new Error(`${what} did not come within ${millis} ms`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export const untilGone = (pid: number): Promise<void> => until(() => !isAlive(pid), `the end of ${pid}`)

export interface WatchedRun {
  readonly child: HeldProcess
  readonly connection: HeldRunConnection
  readonly output: () => Buffer
  readonly ended: Promise<ProcessEnd>
  readonly spawnError: Promise<NodeJS.ErrnoException>
  /** Waits until that many bytes have arrived. */
  readonly received: (bytes: number) => Promise<void>
  readonly events: ReadonlyArray<string>
}

const LIMITS = { maxBytes: 1_000_000_000, until: {} }

const watch = () => {
  const chunks: Array<Buffer> = []
  const events: Array<string> = []
  const ended = Promise.withResolvers<ProcessEnd>()
  const spawnError = Promise.withResolvers<NodeJS.ErrnoException>()
  let bytes = 0
  let waiting: Array<{ readonly bytes: number; readonly resolve: () => void }> = []
  return {
    handlers: {
      onChunk: (chunk: Buffer) => {
        chunks.push(chunk)
        bytes += chunk.length
        const reached = waiting.filter((each) => bytes >= each.bytes)
        waiting = waiting.filter((each) => bytes < each.bytes)
        for (const { resolve } of reached) resolve()
      },
      onGone: () => void events.push("gone"),
      onEnd: (end: ProcessEnd) => {
        events.push("end")
        ended.resolve(end)
      },
      onSpawnError: (error: NodeJS.ErrnoException) => {
        events.push("spawnError")
        spawnError.resolve(error)
      }
    },
    watched: {
      output: () => Buffer.concat(chunks),
      ended: ended.promise,
      spawnError: spawnError.promise,
      events,
      received: (count: number) =>
        bytes >= count
          ? Promise.resolve()
          : new Promise<void>((resolve) => waiting.push({ bytes: count, resolve }))
    }
  }
}

let counter = 0
export const newRun = (): string => `run_test${process.pid}x${++counter}`

export const specOf = (
  run: string,
  args: ReadonlyArray<string>,
  more: Partial<SubprocessSpec> = {}
): SubprocessSpec => ({
  file: "/bin/sh",
  args,
  cwd: tmpdir(),
  stdin: "pipe",
  ...more,
  env: { PATH: process.env.PATH ?? "", [RUN_MARK]: run, ...more.env }
})

/** Starts a program as a run does. */
export const startRun = async (
  { holder }: ConnectedEdge,
  spec: SubprocessSpec,
  run = newRun(),
  limits: Partial<HeldLimits> = {}
): Promise<WatchedRun> => {
  const { handlers, watched } = watch()
  const connection = await Effect.runPromise(holder.open(run))
  const child = HeldProcess.start(
    connection,
    spec,
    { mark: `${RUN_MARK}=${run}`, ...LIMITS, ...limits },
    handlers
  )
  return { child, connection, ...watched }
}

export const startShell = (
  edge: ConnectedEdge,
  script: string,
  { run = newRun(), ...limits }: Partial<HeldLimits> & { readonly run?: string } = {},
  more: Partial<SubprocessSpec> = {}
): Promise<WatchedRun> => startRun(edge, specOf(run, ["-c", script], more), run, limits)

/** Continues with a run that an earlier Edge started. */
export const adoptRun = async ({ holder }: ConnectedEdge, run: string, from = 0): Promise<WatchedRun> => {
  const { handlers, watched } = watch()
  const connection = await Effect.runPromise(holder.open(run))
  const child = HeldProcess.adopt(connection, { from, isConfined: false }, handlers)
  return { child, connection, ...watched }
}

export const outputFile = (home: string, run: string): string => join(home, "held", `${run}.out`)
