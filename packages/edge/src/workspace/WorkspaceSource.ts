/**
 * Source of the folders that runs may work in; the configuration's list by default. Replaceable, and may change at any time.
 *
 * Guarantees: an entry that breaks the rules of the configuration is not offered, and none of the entries that share an id. A source that
 * throws offers nothing. A change applies to the next run, list or file; runs that were admitted before continue. A Hub learns of it with
 * the next heartbeat.
 */
import { Context, Data, Effect, Schema } from "effect"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { WorkspaceEntries, type WorkspaceEntry } from "../config/WorkspaceEntries.ts"

export interface WorkspaceSource {
  /** The entries now. Synchronous; return the same array while nothing changes. */
  readonly entries: () => ReadonlyArray<WorkspaceEntry>
}

/** `undefined`: the configuration's list. */
export const WorkspaceSource = Context.Reference<WorkspaceSource | undefined>("corral/edge/WorkspaceSource", {
  defaultValue: () => undefined
})

/** Entries of a source that can be offered. */
export interface OfferedWorkspaces {
  readonly byId: ReadonlyMap<string, WorkspaceEntry>
  /** Reason why entries are left out. */
  readonly problem?: string | undefined
}

const isUsable = Schema.is(WorkspaceEntries)

const offeredOf = (entries: ReadonlyArray<WorkspaceEntry>): OfferedWorkspaces => {
  const byId = new Map<string, WorkspaceEntry>()
  for (const [id, [entry, ...others]] of Map.groupBy(entries, ({ id }) => id))
    if (entry !== undefined && others.length === 0 && isUsable([entry])) byId.set(id, entry)
  const left = entries.length - byId.size
  return {
    byId,
    problem: left === 0 ? undefined : `${left} entries need a valid, unique id and an absolute path`
  }
}

const NOTHING: ReadonlyMap<string, WorkspaceEntry> = new Map()

/** Reads a source. Entries are checked again only when the source returns another array. */
const readerOf = ({ entries }: WorkspaceSource): (() => OfferedWorkspaces) => {
  let checked: ReadonlyArray<WorkspaceEntry> | undefined
  let offered: OfferedWorkspaces = { byId: NOTHING }
  return () => {
    try {
      const current = entries()
      if (current !== checked) {
        offered = offeredOf(current)
        checked = current
      }
    } catch (error) {
      checked = undefined
      offered = { byId: NOTHING, problem: `the source failed: ${String(error)}` }
    }
    return offered
  }
}

/** Reads the workspaces of the Edge. */
export const workspaceReader = Effect.gen(function* () {
  const { workspaces } = yield* EdgeConfig
  const source = yield* WorkspaceSource
  return readerOf(source ?? { entries: () => workspaces })
})

/** The entry cannot be offered, or its id is taken. */
export class WorkspaceRefused extends Data.TaggedError("WorkspaceRefused")<{ readonly message: string }> {}

/** A list that a program changes while the Edge runs. */
export interface WorkspaceList extends WorkspaceSource {
  readonly add: (entry: WorkspaceEntry) => Effect.Effect<void, WorkspaceRefused>
  /** Has no effect on runs that were admitted, or if no entry has this id. */
  readonly remove: (id: string) => Effect.Effect<void>
}

export const makeWorkspaceList = (initial: ReadonlyArray<WorkspaceEntry> = []): WorkspaceList => {
  let entries = initial
  return {
    entries: () => entries,
    add: (entry) =>
      Effect.suspend(() => {
        if (!isUsable([...entries, entry])) {
          const message = `The workspace "${entry.id}" needs a valid id that no other has, and an absolute path.`
          return Effect.fail(new WorkspaceRefused({ message }))
        }
        entries = [...entries, entry]
        return Effect.void
      }),
    remove: (id) =>
      Effect.sync(() => {
        entries = entries.filter((entry) => entry.id !== id)
      })
  }
}
