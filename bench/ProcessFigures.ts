/** What a process costs, read from /proc. Linux only. */
import { readFileSync } from "node:fs"

/** CPU time of the process and all its threads so far, in microseconds; its children are not counted. */
export const cpuMicrosOf = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
  // The name may hold anything: the fields are read after its last parenthesis. A tick is 10 ms on every Linux.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

/** Kilobytes. `anonymous` is its own memory; the program's text, which its runtimes map too, is only in `resident`. */
export const memoryOf = (pid: number): { readonly resident: number; readonly anonymous: number } => {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "latin1")
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(rollup)?.[1])
  return { resident: field("Rss"), anonymous: field("Pss_Anon") }
}
