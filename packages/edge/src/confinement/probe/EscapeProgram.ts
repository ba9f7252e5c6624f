/**
 * Program of `corral doctor --probe`: tries to go beyond the limits of its run, and prints what happened to each attempt as JSON. Its argument
 * is the file with its targets.
 *
 * Guarantees: it writes files of the probe only, and says nothing about what it read.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { resultsOf } from "./Attempts.ts"
import {
  callAttempts,
  openAttempts,
  processAttempts,
  readAttempts,
  rightsAttempts
} from "./RightsAttempts.ts"
import type { EscapeTargets } from "./EscapeScene.ts"
import { copyAttempts, plantState, protectedAttempts, stateAttempts, writeAttempts } from "./FileAttempts.ts"
import { networkAttempts, reached, visibleAttempts } from "./NetworkAttempts.ts"

const targets: EscapeTargets = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"))
const { hidden, host, opened, read, servers, shown, socket, state, visible, workspace, writable } = targets

// Without a folder that it may write, every attempt would fail.
writeFileSync(join(writable.hidden, "note"), "x")

const results = {
  hidden: await resultsOf(writeAttempts({ ...hidden, writable: writable.hidden })),
  readable: await resultsOf(writeAttempts({ ...shown, writable: writable.shown })),
  ...(workspace.isWritable
    ? {}
    : {
        workspace: await resultsOf(
          writeAttempts({
            folder: workspace.path,
            file: join(workspace.path, "file.txt"),
            writable: writable.workspace
          })
        )
      }),
  protected: await resultsOf(protectedAttempts(workspace.path, writable.workspace)),
  // After those that find the permissions closed.
  copies: await resultsOf(copyAttempts(workspace.path)),
  state: await resultsOf(stateAttempts(state)),
  opened: await resultsOf(openAttempts(opened)),
  read: await resultsOf(readAttempts(read)),
  processes: await resultsOf(processAttempts(host)),
  rights: await resultsOf(rightsAttempts),
  visible: await resultsOf(visibleAttempts(visible)),
  calls: await resultsOf(callAttempts(writable.calls)),
  network: await resultsOf({
    "a socket file of the host": () => reached({ path: socket }),
    ...networkAttempts(servers)
  })
}
plantState(state)
process.stdout.write(`${JSON.stringify(results)}\n`)
