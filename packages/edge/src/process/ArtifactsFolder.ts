/** Folder of a run for files that its program publishes as artifacts, in the run's temporary folder. */
import { join } from "node:path"

/** Variable of the run's program with the path of the folder. */
export const ARTIFACTS_VARIABLE = "CORRAL_ARTIFACTS"

export const artifactsFolderIn = (temporary: string): string => join(temporary, "artifacts")
