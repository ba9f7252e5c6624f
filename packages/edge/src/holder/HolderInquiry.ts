/** What a start of this version would find at the holder of a home. Takes no run over from a running Edge. */
import { VERSION } from "@corral/service/Version"
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { connectControl } from "./HolderControl.ts"
import { type HolderFailed, holderPlaceOf } from "./HolderPlace.ts"
import { HOLDER_FORMAT } from "./HolderFrames.ts"

export interface HolderFound {
  /** Live runs. */
  readonly runs: number
  /** Version of the Edge that started the holder. */
  readonly build: string
  /** Whether this version can continue its runs. */
  readonly isCompatible: boolean
}

/** No holder has this format, so each one names its own and stays with its Edge. */
const INQUIRY = 0

const storedRuns = (folder: string): number => {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".out")).length
  } catch {
    return 0
  }
}

/** Asks the holder of a home; `undefined` without one: no run is live. */
export const inquireHolder = (home: string): Effect.Effect<HolderFound | undefined, HolderFailed> => {
  const place = holderPlaceOf(home)
  return connectControl(place, { build: VERSION, orphanMs: 0 }, INQUIRY).pipe(
    Effect.as(undefined),
    Effect.catchTag("HolderIncompatible", ({ holderBuild, holderFormat }) =>
      Effect.succeed({
        runs: storedRuns(place.folder),
        build: holderBuild,
        isCompatible: holderFormat === HOLDER_FORMAT
      })
    )
  )
}
