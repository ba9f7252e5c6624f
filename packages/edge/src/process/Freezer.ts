/**
 * Freezer of one control group: stops all processes of a run between two instructions, and lets them continue.
 *
 * Guarantees: `freeze` succeeds only when the kernel reports that every process of the group is frozen; otherwise the processes continue. A thaw
 * while a freeze is in progress wins. After `release` no freeze succeeds.
 * Does not: freeze a process that moved itself into another group. SIGKILL and `cgroup.kill` end frozen processes; other signals wait for the thaw.
 */
import { Effect } from "effect"
import { isFrozen, setFrozen } from "./ControlGroup.ts"

const PAUSE = "1 millis"
/** Looks until a freeze has failed. A process that waits for a device or a network file system cannot be frozen. */
const MAX_LOOKS = 3_000

export class Freezer {
  readonly #group: string
  #isFreezing = false
  #isReleased = false

  constructor(group: string) {
    this.#group = group
  }

  /** Succeeds with whether all processes are frozen. */
  freeze(): Effect.Effect<boolean> {
    return Effect.gen({ self: this }, function* () {
      if (this.#isReleased || !setFrozen(this.#group, true)) return false
      this.#isFreezing = true
      for (let look = 0; look < MAX_LOOKS; look++) {
        if (!this.#isFreezing) return false
        if (isFrozen(this.#group)) return true
        yield* Effect.sleep(PAUSE)
      }
      this.thaw()
      return false
    })
  }

  thaw(): void {
    this.#isFreezing = false
    setFrozen(this.#group, false)
  }

  /** The last thaw: the run is ending. */
  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.thaw()
  }
}
