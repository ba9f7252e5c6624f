/**
 * Whether a process has a huge file of a folder open, such as a file with a hole of a terabyte, which it would read for hours. Linux only.
 */
import { readdirSync, readlinkSync, statSync } from "node:fs"

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

/** `folder`: a real path. */
export const hasHugeFile = (pid: number, folder: string): boolean => {
  const descriptors = `/proc/${pid}/fd`
  try {
    return readdirSync(descriptors).some((name) => isHugeIn(folder, `${descriptors}/${name}`))
  } catch {
    return false
  }
}
