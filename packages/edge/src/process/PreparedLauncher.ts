/**
 * The launcher of the next program, prepared a moment after the last one was taken: the program that took it starts then.
 *
 * Guarantees: at most one launcher waits. The first one is prepared after the first program.
 */
import { removeGroup } from "./ControlGroup.ts"
import type { Launcher } from "./Launcher.ts"

/** Milliseconds. */
const PREPARE_AFTER = 25

export class PreparedLauncher {
  readonly #start: () => Launcher | undefined
  #next: Launcher | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(start: () => Launcher | undefined) {
    this.#start = start
  }

  /** The launcher, if one is ready. Prepares the next one. */
  take(): Launcher | undefined {
    if (this.#isClosed) return undefined
    const launcher = this.#next
    this.#timer ??= setTimeout(() => this.#prepare(), PREPARE_AFTER).unref()
    if (launcher?.isReady !== true) return undefined
    this.#next = undefined
    return launcher
  }

  /** Ends the launcher, and removes its group. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    if (this.#next !== undefined) await endLauncher(this.#next)
  }

  #prepare(): void {
    this.#timer = undefined
    if (this.#next?.hasExited === false) return
    if (this.#next !== undefined) void endLauncher(this.#next)
    this.#next = this.#start()
  }
}

/** Ends a launcher without a program, and removes its group. */
export const endLauncher = async (launcher: Launcher): Promise<void> => {
  await launcher.discard()
  if (launcher.group !== undefined) removeGroup(launcher.group)
}
