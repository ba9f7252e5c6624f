/**
 * Watch over the repository of a workspace in which one confined run works. An approved command that names git explains what changes until the next
 * comparison, and a command that may run without a question and only reads changes nothing that counts.
 *
 * A repository that a run has made loses its lists of further objects: git reads objects from the folders that they name, and so would later runs
 * in worktrees of it. A repository that exists when a run starts has read-only lists.
 *
 * Guarantees: no list is removed through a link, also if a process of the run is still alive.
 * Does not: protect objects. A run in place can delete them; a run in a worktree cannot.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { RepositoryChanged } from "@corral/domain/run/ProtectedChange"
import type { ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { basename, join } from "node:path"
import { segmentsOf } from "../approval/ShellCommand.ts"
import type { EdgeRefs, RefValues } from "../workspace/EdgeRefs.ts"
import { endNewRepository, newRepositories } from "../workspace/WorkspaceRepository.ts"
import { OpenedFolder } from "./OpenedFolder.ts"
import type { RepositoryRecord } from "./RepositoryRecord.ts"
import {
  repositoryChanged,
  repositoryDifference,
  type RepositoryDifference,
  repositoryPlace,
  repositoryState,
  type RepositoryState
} from "./RepositoryState.ts"

const FOLDERS = [".git", "objects", "info"]
const LISTS = new Set(["alternates", "http-alternates"])

/** Removes the lists of the repository of the folder `root`. Returns their names in the repository. */
const removeForeignLists = (root: string): ReadonlyArray<string> =>
  OpenedFolder.with(root, FOLDERS, (folder) =>
    folder.entries().flatMap(({ kind, name }) => {
      const isList = LISTS.has(name) && (kind === "file" || kind === "link")
      const found = isList && kind === "file" ? folder.readBytes(name, 0) : undefined
      // A confined run in an existing repository has an empty one.
      if (!isList || typeof found === "object") return []
      folder.remove(name)
      return [join("objects/info", name)]
    })
  ) ?? []

/** Removes the lists of repositories whose runs ended with their Edge. */
export const removeLeftLists = (home: string, live: ReadonlySet<string>): void => {
  for (const { root, runId } of newRepositories(home))
    if (!live.has(runId)) {
      removeForeignLists(root)
      endNewRepository(home, runId)
    }
}

export interface RepositoryWatchState {
  readonly last: StoredState | undefined
  readonly isExplained: boolean
  readonly isAlwaysExplained: boolean
  readonly isMade?: boolean
  readonly isIncompleteReported?: boolean
}

interface StoredState extends Omit<RepositoryState, "refs" | "edge" | "files" | "isComplete"> {
  readonly refs: ReadonlyArray<readonly [string, string]>
  readonly edge?: ReadonlyArray<readonly [string, RefValues]>
  readonly files?: ReadonlyArray<readonly [string, string]>
  readonly isComplete?: boolean
}

const storedState = ({ edge, files, refs, ...state }: RepositoryState): StoredState => ({
  ...state,
  refs: [...refs],
  edge: [...edge],
  files: [...files]
})

/** An earlier version stored no files: they were not compared. */
const stateOf = ({
  edge = [],
  files = [],
  isComplete = false,
  refs,
  ...state
}: StoredState): RepositoryState => ({
  ...state,
  refs: new Map(refs),
  edge: new Map(edge),
  files: new Map(files),
  isComplete
})

/** Whether a part of the command is git, under any path. */
const namesGit = (command: string): boolean =>
  segmentsOf(command).some(({ words }) => words.some((word) => /^git(?:\.exe)?$/.test(basename(word))))

export class RepositoryWatch {
  readonly #root: string
  #last: RepositoryState | undefined
  #isExplained = false
  #isAlwaysExplained = false
  /** Whether there was no repository at the start. */
  #isMade = false
  #isIncompleteReported = false
  /** Lists of further objects that were removed. */
  readonly #discarded = new Set<string>()

  readonly #record: RepositoryRecord | undefined
  readonly #edgeRefs: EdgeRefs | undefined

  /** `root`: real path of the workspace. `record`: keeps what can be put back. `edgeRefs`: what the Edge writes meanwhile, in the same thread. */
  constructor(root: string, record?: RepositoryRecord, edgeRefs?: EdgeRefs) {
    this.#root = root
    this.#record = record
    this.#edgeRefs = edgeRefs
  }

  /** Records the state at the start. */
  start(): void {
    if (this.#last !== undefined) return
    this.#isMade = repositoryPlace(this.#root) === undefined
    if (this.#isMade) this.#record?.startNew(this.#root)
    this.#last = this.#read()
    this.#record?.keep(this.#root, this.#last)
  }

  get state(): RepositoryWatchState {
    const last = this.#last
    return {
      last: last && storedState(last),
      isExplained: this.#isExplained,
      isAlwaysExplained: this.#isAlwaysExplained,
      isMade: this.#isMade,
      isIncompleteReported: this.#isIncompleteReported
    }
  }

  restore({
    isAlwaysExplained,
    isExplained,
    isIncompleteReported = false,
    isMade = false,
    last
  }: RepositoryWatchState): void {
    this.#last = last && stateOf(last)
    this.#isExplained = isExplained
    this.#isAlwaysExplained = isAlwaysExplained
    this.#isMade = isMade
    this.#isIncompleteReported = isIncompleteReported
  }

  allow({ command }: ApprovalRequest, { decision, scope }: ApprovalAnswer): void {
    if (decision !== "allow" || command === undefined || !namesGit(command)) return
    this.#isExplained = true
    this.#isAlwaysExplained ||= scope !== "once"
  }

  /** What changed since the last comparison without an explanation. A comparison that is `final` may be repeated. */
  compare(isFinal: boolean): RepositoryChanged | undefined {
    const last = this.#last
    if (last === undefined) return undefined
    const now = this.#read()
    const difference = repositoryDifference(last, now)
    const isIncomplete = !(last.isComplete && now.isComplete) && !this.#isIncompleteReported
    const reported = this.#unexplained(difference, now, isFinal)
    if (!isFinal) {
      this.#last = now
      this.#isExplained &&= difference === undefined
      this.#isIncompleteReported ||= isIncomplete
    }
    if (isFinal && this.#isMade) for (const name of removeForeignLists(this.#root)) this.#discarded.add(name)
    return reported === undefined && !isIncomplete && this.#discarded.size === 0
      ? undefined
      : repositoryChanged(reported, isIncomplete, this.#discarded)
  }

  /** The run is over. What can be put back stays. */
  close(): void {
    this.#record?.endNew()
    if (this.#record?.hasChanges === false) this.#record.remove()
  }

  #read(): RepositoryState {
    return repositoryState(this.#root, this.#edgeRefs, this.#last)
  }

  /** Records a difference, unless an approval explains it. */
  #unexplained(
    difference: RepositoryDifference | undefined,
    now: RepositoryState,
    isFinal: boolean
  ): RepositoryDifference | undefined {
    if (difference === undefined) return undefined
    if (!this.#isExplained && !this.#isAlwaysExplained) {
      this.#record?.add(this.#root, this.#isMade, difference)
      return difference
    }
    if (!isFinal) this.#record?.keep(this.#root, now)
    return undefined
  }
}
