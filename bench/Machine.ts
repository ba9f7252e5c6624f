/** What a figure was measured on: the facts without which it means nothing. */
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs"
import { cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import { median } from "./Statistics.ts"

export interface Machine {
  readonly cores: number
  readonly cpu: string
  readonly platform: string
  /** Median of 50 appends of 4 KiB with fdatasync, where the stores lie, in milliseconds. */
  readonly fsync: number
  /** One-minute load average before the start: what else the machine was doing. */
  readonly load: number
}

export const machine = (): Machine => ({
  cores: cpus().length,
  cpu: cpus()[0]?.model ?? "unknown",
  platform: `${process.platform} ${process.arch}`,
  fsync: Number(fsyncMillis().toPrecision(3)),
  load: loadavg()[0] ?? 0
})

const fsyncMillis = (): number => {
  const file = join(tmpdir(), `corral-bench-${process.pid}`)
  const descriptor = openSync(file, "w")
  const block = Buffer.alloc(4_096)
  const times = Array.from({ length: 50 }, () => {
    const begin = performance.now()
    writeSync(descriptor, block)
    fdatasyncSync(descriptor)
    return performance.now() - begin
  })
  closeSync(descriptor)
  rmSync(file)
  return median(times)
}
