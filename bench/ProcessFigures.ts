/** What a process costs, read from /proc. Linux only. */
import { readdirSync, readFileSync } from "node:fs"

/**
 * CPU time of the process and all its threads so far, in microseconds; its children are not counted, nor are threads that have ended. The
 * time of each thread is exact; that of the whole process is counted in steps of 10 ms, as much as 500 events to 100 readers cost.
 */
export const cpuMicrosOf = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + threadNanosOf(pid, thread), 0) / 1_000

const threadNanosOf = (pid: number, thread: string): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ")[0])
  } catch {
    // It has just ended.
    return 0
  }
}

/** Kilobytes. `anonymous` is its own memory; the program's text, which its runtimes map too, is only in `resident`. */
export const memoryOf = (pid: number): { readonly resident: number; readonly anonymous: number } => {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "latin1")
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(rollup)?.[1])
  return { resident: field("Rss"), anonymous: field("Pss_Anon") }
}

/** Processes that the process started, and those that they started. */
export const descendantsOf = (pid: number): ReadonlyArray<number> =>
  readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    textOf(`/proc/${pid}/task/${thread}/children`)
      .split(" ")
      .filter((child) => child !== "")
      .flatMap((child) => [Number(child), ...descendantsOf(Number(child))])
  )

/** Kilobytes of a process. A page that several processes map is divided by their number. */
export const proportionalOf = (pid: number): number =>
  Number(/^Pss:\s+(\d+) kB/m.exec(textOf(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0)

const textOf = (path: string): string => {
  try {
    return readFileSync(path, "latin1")
  } catch {
    // It has just ended.
    return ""
  }
}
