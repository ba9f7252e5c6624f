/** What a process costs: its resident memory, and processor time of this one. */
import { readFileSync } from "node:fs"

/** Resident memory of a process, in bytes. Linux only: it reads /proc. */
export const residentMemory = (pid: number | undefined): number => {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
  return Number(kilobytes) * 1024
}

/** Processor time of this process during synchronous work, in milliseconds. Other programs of the machine do not count, as they do on a clock. */
export const cpuMillisOf = (work: () => void): number => {
  const before = process.cpuUsage()
  work()
  const { system, user } = process.cpuUsage(before)
  return (system + user) / 1_000
}
