/** What the probe's program receives: where to try. */
import type { HostServers, VisiblePlaces } from "./NetworkAttempts.ts"
import type { HostPaths, HostProcess } from "./RightsAttempts.ts"

interface Place {
  readonly folder: string
  readonly file: string
}

export interface EscapeTargets {
  /** Files that the run does not see. */
  readonly hidden: Place
  /** Files that the run may read. */
  readonly shown: Place
  readonly workspace: { readonly path: string; readonly isWritable: boolean }
  /** Folders that the run may write, one for each kind of attempts. */
  readonly writable: {
    readonly hidden: string
    readonly shown: string
    readonly workspace: string
    readonly calls: string
  }
  /** Folder of the state of a runtime. */
  readonly state: string
  readonly host: HostProcess
  readonly servers: HostServers
  readonly visible: VisiblePlaces
  /** Socket file of the probe. */
  readonly socket: string
  /** Paths of the user and the system that no run reads or writes. */
  readonly read: HostPaths
  readonly opened: HostPaths
}

/** By kind, then by attempt. */
export type EscapeResults = Readonly<Record<string, Readonly<Record<string, string>>>>
