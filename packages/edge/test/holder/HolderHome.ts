/** Homes with a holder, and Edges that connect to it. Linux only: processes are found in /proc. */
import { until } from "@corral/testing/time/Until"
import { onTestFinished } from "@effect/vitest"
import { ManagedRuntime } from "effect"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Holder, type HolderOptions } from "../../src/holder/Holder.ts"
import { openFolder } from "../Folder.ts"

export interface ConnectedEdge {
  readonly holder: Holder["Service"]
  /** As an Edge that stops: its runs continue. */
  readonly close: () => Promise<void>
}

/** Variables of an Edge: with compiled code, its holder starts sooner. */
const compileCache = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) =>
    name === "NODE_COMPILE_CACHE" && value !== undefined ? [[name, value]] : []
  )
)

/** Connects as an Edge of that home does. Closed with the test. */
export const connectEdge = async (options: HolderOptions): Promise<ConnectedEdge> => {
  const runtime = ManagedRuntime.make(Holder.layerOf({ environment: compileCache, ...options }))
  const close = () => runtime.dispose()
  onTestFinished(close)
  return { holder: await runtime.runPromise(Holder), close }
}

const isHolderOf = (pid: string, home: string): boolean => {
  try {
    const args = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")
    return args.includes(home) && args.some((each) => /holder(\.cjs|\/main\.ts)$/.test(each))
  } catch {
    // It has ended.
    return false
  }
}

/** Processes of holders of a home. */
export const holdersOf = (home: string): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^[0-9]+$/.test(name) && isHolderOf(name, home))
    .map(Number)

/** Whether the process exists and is not a zombie. */
export const isRunning = (pid: number): boolean => {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"))
  } catch {
    return false
  }
}

export const untilGone = (pid: number): Promise<true> =>
  until(async () => (isRunning(pid) ? undefined : true), `the end of process ${pid}`)

/** A home whose holder ends with the test, and everything that it holds. */
export const openHome = (): string => {
  const home = openFolder()
  onTestFinished(() => endHolders(home))
  return home
}

export const endHolders = async (home: string): Promise<void> => {
  for (const pid of holdersOf(home)) {
    try {
      process.kill(pid, "SIGTERM")
    } catch (error) {
      // It has just ended by itself, as a holder without an Edge and runs does.
      if (isRunning(pid)) throw error
    }
    await untilGone(pid)
  }
}

export const outputFile = (home: string, run: string): string => join(home, "held", `${run}.out`)

/** Files of stored output. */
export const storedOutput = (home: string): ReadonlyArray<string> => {
  const folder = join(home, "held")
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".out")) : []
}
