/**
 * `corral ahp` of the build as a process, signed in at a Hub: what an editor on another machine than the device connects to.
 *
 * Owns the process, its home and the folder in which it is started: `remove` ends all of them.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { type HubClient, storeSignIn } from "../hub/HubClient.ts"
import { noNetwork } from "../process/RegistryProgram.ts"
import { RunningProgram } from "../process/RunningProgram.ts"
import { within } from "../time/Until.ts"
import type { HostAddress } from "./Workbench.ts"

const program = fileURLToPath(new URL("../../../../dist/corral/main.mjs", import.meta.url))
const READY_MS = 30_000

export class CorralAhp {
  /** The folder that an editor opens. */
  readonly folder: string
  private readonly root = mkdtempSync(join(realpathSync(tmpdir()), "corral-ahp-"))
  private readonly process: RunningProgram

  /** Starts it with the sign-in of this user, for one workspace. */
  constructor(client: HubClient, workspace: string) {
    const home = join(this.root, "home")
    this.folder = join(this.root, "code")
    for (const folder of [home, this.folder]) mkdirSync(folder, { mode: 0o700 })
    storeSignIn(home, client)
    const flags = ["--port", "0", "--json", "--hub", client.url, "--workspace", workspace]
    this.process = new RunningProgram(process.execPath, [program, "ahp", ...flags], {
      cwd: this.folder,
      env: {
        ...noNetwork,
        PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
        HOME: this.root,
        CORRAL_HOME: home
      }
    })
  }

  /** Where it listens, once it does. */
  async address(): Promise<HostAddress> {
    const [line] = await within(this.process.line(/^\{.*\}$/), READY_MS, "the address of corral ahp")
    const { port, token } = JSON.parse(line) as HostAddress
    return { port, token }
  }

  async remove(): Promise<void> {
    this.process.child.kill("SIGKILL")
    await this.process.ended
    rmSync(this.root, { recursive: true, force: true })
  }
}
