/** Folder of held runs that is not a private folder of this user: it is moved away, so that the next holder can make its own. */
import { chmodSync, lstatSync, renameSync } from "node:fs"
import { isOurFolder } from "../process/PrivateFolder.ts"
import type { HolderPlace } from "./HolderPlace.ts"

/** A path with this beginning that does not exist. */
const freeName = (path: string): string => {
  for (let number = 1; ; number++) {
    const name = `${path}.damaged-${number}`
    if (lstatSync(name, { throwIfNoEntry: false }) === undefined) return name
  }
}

/** Where a damaged folder is now; `undefined` if there was none. A folder without permissions gets them back. */
export const setDamagedAside = ({ folder }: Pick<HolderPlace, "folder">): string | undefined => {
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) return undefined
  try {
    if (isOurFolder(folder)) return void chmodSync(folder, 0o700)
    const name = freeName(folder)
    renameSync(folder, name)
    return name
  } catch {
    // The home is not writable, which the Edge reports.
    return undefined
  }
}
