/**
 * The launcher of the holder's next run, in a control group of the Edge that is connected.
 *
 * Guarantees: one launcher at a time, for the folder of groups that was named last. It is prepared a moment after it is needed, because the run
 * that needs it starts then.
 */
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import { removeGroup } from "../process/ControlGroup.ts"
import { Launcher } from "../process/Launcher.ts"

/** Milliseconds from the start of a run to the preparation of the next launcher. */
const PREPARE_AFTER = 60

export class Launchers {
  #folder: string | undefined
  #next: Launcher | undefined
  #timer: NodeJS.Timeout | undefined

  /** The launcher, if it is ready and its group is in this folder. Prepares the next one. */
  take(folder: string): Launcher | undefined {
    if (folder !== this.#folder) void this.close()
    this.#folder = folder
    const launcher = this.#next
    this.#timer ??= setTimeout(() => this.#prepare(), PREPARE_AFTER).unref()
    if (launcher?.isReady !== true) return undefined
    this.#next = undefined
    return launcher
  }

  /** Ends the launcher, and removes its group. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const launcher = this.#next
    this.#next = undefined
    if (launcher !== undefined) await endLauncher(launcher)
  }

  #prepare(): void {
    this.#timer = undefined
    if (this.#folder === undefined || this.#next?.hasExited === false) return
    if (this.#next !== undefined) void endLauncher(this.#next)
    this.#next = Launcher.start(join(this.#folder, `ready-${randomUUID()}`))
  }
}

/** Ends a launcher without a program, and removes its group. */
export const endLauncher = async (launcher: Launcher): Promise<void> => {
  await launcher.discard()
  removeGroup(launcher.group)
}
