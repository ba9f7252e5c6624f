/**
 * What the holder keeps of a run for the next Edge: everything that this Edge read from the request, the configuration and its environment.
 *
 * Does not: touch the disk. The environment of the program has keys.
 */
import type { CreateRun } from "@corral/domain/run/Run"
import type { RunStart } from "@corral/domain/run/RuntimeAdapter"
import type { SubprocessSpec } from "../process/Subprocess.ts"

/** The next Edge may have another version. Another number means another shape. */
const FORMAT = 1

export interface RunStartState {
  readonly request: CreateRun
  readonly start: RunStart
  /** The command without its confinement. */
  readonly command: Omit<SubprocessSpec, "control">
}

export const encodeStartState = (run: RunStartState): Uint8Array =>
  Buffer.from(JSON.stringify({ format: FORMAT, ...run }))

/** `undefined` for the state of another version. */
export const decodeStartState = (bytes: Uint8Array): RunStartState | undefined => {
  try {
    // An Edge of this user wrote the bytes, and only such Edges reach the holder.
    const startState = JSON.parse(Buffer.from(bytes).toString()) as RunStartState & {
      readonly format: number
    }
    return startState.format === FORMAT ? startState : undefined
  } catch {
    return undefined
  }
}
