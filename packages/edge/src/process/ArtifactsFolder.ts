/** Folder of a run for files that its program publishes as artifacts, in the run's temporary folder. */
import { opendirSync } from "node:fs"
import { join } from "node:path"

/** Variable of the run's program with the path of the folder. */
export const ARTIFACTS_VARIABLE = "CORRAL_ARTIFACTS"

export const artifactsFolderIn = (temporary: string): string => join(temporary, "artifacts")

/** Whether the folder has an entry. */
export const hasArtifactFiles = (temporary: string): boolean => {
  try {
    const folder = opendirSync(artifactsFolderIn(temporary))
    const first = folder.readSync()
    folder.closeSync()
    return first !== null
  } catch {
    return false
  }
}
