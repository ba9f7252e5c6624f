/** What differs between two states of a repository, and how an event describes it. Pure. */
import type { ChangeKind } from "@corral/domain/run/ProtectedChange"
import {
  MAX_LISTED_REFS,
  type RefChange,
  type RepositoryChanged,
  type RepositoryFileChange
} from "@corral/domain/run/RepositoryChange"
import type { RepositoryState } from "./RepositoryState.ts"

/** Without `from` it was created, without `to` deleted. */
export interface ValueChange {
  readonly from?: string
  readonly to?: string
}

/** Change of something that each state has. */
export interface Move {
  readonly from: string
  readonly to: string
}

export type NamedChange = readonly [name: string, change: ValueChange]

export interface RepositoryDifference {
  readonly refs: ReadonlyArray<NamedChange>
  readonly files: ReadonlyArray<NamedChange>
  readonly head: Move | undefined
  readonly index: Move | undefined
}

const changeOf = (from: string | undefined, to: string | undefined): ValueChange => ({
  ...(from === undefined ? {} : { from }),
  ...(to === undefined ? {} : { to })
})

/**
 * Change of one ref; `undefined` if there is none. A ref of the Edge may move to what the Edge has written, and to nothing else: it has changed as
 * well if it names again what it named before.
 */
const refChange = (before: RepositoryState, now: RepositoryState, name: string): ValueChange | undefined => {
  const [last, to] = [before.refs.get(name), now.refs.get(name)]
  const values = now.edge.get(name)
  const isWritten = values !== undefined && String(values) !== String(before.edge.get(name))
  if (values?.includes(to ?? "") === true || (!isWritten && last === to)) return undefined
  const from = isWritten ? values.at(-1) : last
  return changeOf(from === "" ? undefined : from, to)
}

const fileChange = (before: RepositoryState, now: RepositoryState, name: string): ValueChange | undefined => {
  const [from, to] = [before.files.get(name), now.files.get(name)]
  return from === to ? undefined : changeOf(from, to)
}

const changesOf = (
  names: Iterable<string>,
  isWhole: boolean,
  change: (name: string) => ValueChange | undefined
): ReadonlyArray<NamedChange> =>
  [...new Set(names)].toSorted().flatMap((name) => {
    const found = change(name)
    // A limit leaves names out: a name that only one state has may have been there.
    const isUnknown = !isWhole && (found?.from === undefined || found.to === undefined)
    return found === undefined || isUnknown ? [] : [[name, found] as const]
  })

/** `undefined` if nothing differs. */
export const repositoryDifference = (
  before: RepositoryState,
  now: RepositoryState
): RepositoryDifference | undefined => {
  const isWhole = before.isComplete && now.isComplete
  const refNames = [...before.refs.keys(), ...now.refs.keys(), ...now.edge.keys()]
  const refs = changesOf(refNames, isWhole, (name) => refChange(before, now, name))
  const fileNames = [...before.files.keys(), ...now.files.keys()]
  const files = changesOf(fileNames, isWhole, (name) => fileChange(before, now, name))
  const [isHead, isIndex] = [before.head !== now.head, before.index !== now.index]
  if (refs.length === 0 && files.length === 0 && !isHead && !isIndex) return undefined
  return {
    refs,
    files,
    head: isHead ? { from: before.head, to: now.head } : undefined,
    index: isIndex ? { from: before.index, to: now.index } : undefined
  }
}

const none: RepositoryDifference = { refs: [], files: [], head: undefined, index: undefined }

const kindOf = ({ from, to }: ValueChange): ChangeKind =>
  from === undefined ? "created" : to === undefined ? "deleted" : "modified"

/** The difference as an event has it. `isIncomplete`: some names were not compared. `discarded`: files that the run made and that were removed. */
export const repositoryChanged = (
  { files, head, index, refs }: RepositoryDifference = none,
  isIncomplete: boolean,
  discarded: ReadonlySet<string>
): RepositoryChanged => {
  const changed: ReadonlyArray<RepositoryFileChange> = [
    ...[...discarded].map((path) => ({ path, change: "created", discarded: true }) as const),
    ...files.flatMap(([path, change]) => (discarded.has(path) ? [] : [{ path, change: kindOf(change) }]))
  ]
  return {
    refs: refs.slice(0, MAX_LISTED_REFS).map(([name, change]): RefChange => ({ name, ...change })),
    count: refs.length,
    ...(head === undefined ? {} : { head }),
    ...(index === undefined ? {} : { index: true }),
    ...(changed.length === 0 ? {} : { files: changed.slice(0, MAX_LISTED_REFS), fileCount: changed.length }),
    ...(isIncomplete ? { incomplete: true } : {})
  }
}
