/** Whether this machine has the means to confine programs. Without them, tests that need them are skipped. */
import { Effect } from "effect"
import { probeBubblewrap } from "../../src/confinement/Bubblewrap.ts"
import { systemMounts } from "../../src/confinement/SystemFolders.ts"

const found = await Effect.runPromise(probeBubblewrap(process.env["PATH"], systemMounts(false)))

export const canConfine = "program" in found
