/** Resident memory of a process, in bytes. Linux only: it reads /proc. */
import { readFileSync } from "node:fs"

export const residentMemory = (pid: number | undefined): number => {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
  return Number(kilobytes) * 1024
}
