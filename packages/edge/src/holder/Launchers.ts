/** The launcher of the holder's next run, in a control group of the Edge that is connected. */
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import { Launcher } from "../process/Launcher.ts"
import { PreparedLauncher } from "../process/PreparedLauncher.ts"

export class Launchers {
  #folder: string | undefined
  #prepared: PreparedLauncher | undefined
  #closing: Promise<unknown> = Promise.resolve()

  /** The launcher, if it is ready and its group is in this folder. */
  take(folder: string): Launcher | undefined {
    if (folder !== this.#folder) void this.close()
    this.#folder = folder
    this.#prepared ??= new PreparedLauncher(() => Launcher.start(join(folder, `ready-${randomUUID()}`)))
    return this.#prepared.take()
  }

  /** Ends the launcher, and removes its group. Resolves when nothing is left of earlier ones either. */
  async close(): Promise<void> {
    const prepared = this.#prepared
    this.#prepared = undefined
    this.#closing = Promise.all([this.#closing, prepared?.close()])
    await this.#closing
  }
}
