/** Reads of files of /proc, of which a sweep reads two for each process: few system calls, and one buffer for all. */
import { closeSync, openSync, readSync } from "node:fs"

const buffer = Buffer.allocUnsafe(65_536)

const readAll = (file: number): string => {
  let text = ""
  for (;;) {
    const size = readSync(file, buffer)
    if (size === 0) return text
    text += buffer.toString("latin1", 0, size)
  }
}

/** Text of a file, one character for each byte; `undefined` if the process has ended or belongs to another user. */
export const readProc = (path: string): string | undefined => {
  let file: number | undefined
  try {
    file = openSync(path, "r")
    return readAll(file)
  } catch {
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
