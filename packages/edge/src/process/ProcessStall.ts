/**
 * Looks at processes that may never end: one that waits for something that may never come, such as the other end of a pipe, and one that has a huge
 * file of a folder open, such as a file with a hole of a terabyte, which it would read for hours. A process waits if all its threads sleep and none
 * uses the processor, in several looks in a row. Waiting for a disk is no sleep.
 *
 * Does not: tell what the process waits for. Where `/proc` does not exist, a process that runs longer than `WITHOUT_PROC_MS` counts as stalled, and
 * no huge file is found.
 */
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs"

const LOOK_MS = 100
/** Looks in a row without progress. */
const LOOKS = 3
const WITHOUT_PROC_MS = 5_000

/** Processor time of all threads if all of them sleep; `undefined` if one of them works, or the process has ended. */
const sleepingTime = (pid: number): number | undefined => {
  try {
    let time = 0
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const text = readFileSync(`/proc/${pid}/task/${thread}/stat`, "latin1")
      // The name of the program is in brackets and may contain anything.
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
      if (fields[0] !== "S") return undefined
      time += Number(fields[11]) + Number(fields[12])
    }
    return time
  } catch {
    return undefined
  }
}

/** Calls `onStall` once, also if `isStuck` says so. Returns a function that ends the watch. */
export const watchStall = (pid: number, onStall: () => void, isStuck: () => boolean): (() => void) => {
  const hasProc = existsSync("/proc/self/task")
  let before: number | undefined
  let looks = 0
  let elapsed = 0
  const timer = setInterval(() => {
    elapsed += LOOK_MS
    const time = hasProc ? sleepingTime(pid) : undefined
    looks = time !== undefined && time === before ? looks + 1 : 0
    before = time
    const isStalled = hasProc ? looks >= LOOKS : elapsed >= WITHOUT_PROC_MS
    if (!isStalled && !isStuck()) return
    clearInterval(timer)
    onStall()
  }, LOOK_MS).unref()
  return () => clearInterval(timer)
}

/** Bytes. */
const HUGE = 1_073_741_824
/** Packs of git are large, and git reads only parts of them. */
const PACKS = "/objects/pack/"

const isHugeIn = (folder: string, descriptor: string): boolean => {
  try {
    const path = readlinkSync(descriptor)
    return path.startsWith(`${folder}/`) && !path.includes(PACKS) && statSync(descriptor).size > HUGE
  } catch {
    // It was closed.
    return false
  }
}

/** Whether the process has a huge file of the folder open. Linux only. `folder`: a real path. */
export const hasHugeFile = (pid: number, folder: string): boolean => {
  const descriptors = `/proc/${pid}/fd`
  try {
    return readdirSync(descriptors).some((name) => isHugeIn(folder, `${descriptors}/${name}`))
  } catch {
    return false
  }
}
