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

export interface KeptRun {
  readonly request: CreateRun
  readonly start: RunStart
  /** The command without its confinement. */
  readonly command: Omit<SubprocessSpec, "control">
}

export const encodeKeptRun = (run: KeptRun): Uint8Array =>
  Buffer.from(JSON.stringify({ format: FORMAT, ...run }))

/** `undefined` for what another version kept. */
export const decodeKeptRun = (bytes: Uint8Array): KeptRun | undefined => {
  try {
    // An Edge of this user wrote the bytes, and only such Edges reach the holder.
    const kept = JSON.parse(Buffer.from(bytes).toString()) as KeptRun & { readonly format: number }
    return kept.format === FORMAT ? kept : undefined
  } catch {
    return undefined
  }
}
