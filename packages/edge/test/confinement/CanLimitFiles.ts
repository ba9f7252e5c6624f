/** Whether setpriv of this machine limits files with Landlock. Without it, tests that need it are skipped. */
import { Effect } from "effect"
import { tryLandlock } from "../../src/confinement/Landlock.ts"
import { systemMounts } from "../../src/confinement/SystemFolders.ts"

const found = await Effect.runPromise(tryLandlock({ path: process.env["PATH"], system: systemMounts(false) }))

/** The means, if it works. */
export const landlock = "confine" in found ? found : undefined
