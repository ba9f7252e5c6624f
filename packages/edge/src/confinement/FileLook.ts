/** Looks at files that a run may change meanwhile. A file that cannot be looked at counts as none. */
import { type Dir, lstatSync, opendirSync, type Stats } from "node:fs"

/** Does not follow a link. */
export const statOf = (path: string): Stats | undefined => {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

export const openFolder = (path: string, bufferSize: number): Dir | undefined => {
  try {
    return opendirSync(path, { bufferSize })
  } catch {
    return undefined
  }
}
