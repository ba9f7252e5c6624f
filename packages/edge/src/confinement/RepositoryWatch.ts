/**
 * Watch over the repository of a workspace in which one confined run works. An approved command that names git explains what changes until the
 * next comparison, and a command that may run without a question and only reads changes nothing that counts.
 *
 * Does not: protect objects. A run in place can delete them; a run in a worktree cannot.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { RepositoryChanged } from "@corral/domain/run/RepositoryChange"
import type { ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { lstatSync } from "node:fs"
import { basename, join } from "node:path"
import { segmentsOf } from "../approval/ShellCommand.ts"
import type { EdgeRefs, RefValues } from "../workspace/EdgeRefs.ts"
import type { RepositoryRecord } from "./RepositoryRecord.ts"
import {
  repositoryChanged,
  repositoryDifference,
  type RepositoryState,
  repositoryState
} from "./RepositoryState.ts"

export interface RepositoryWatchState {
  readonly last: StoredState | undefined
  readonly isExplained: boolean
  readonly isAlwaysExplained: boolean
}

interface StoredState extends Omit<RepositoryState, "refs" | "edge"> {
  readonly refs: ReadonlyArray<readonly [string, string]>
  readonly edge?: ReadonlyArray<readonly [string, RefValues]>
}

const storedState = ({ edge, refs, ...state }: RepositoryState): StoredState => ({
  ...state,
  refs: [...refs],
  edge: [...edge]
})

const stateOf = ({ edge = [], refs, ...state }: StoredState): RepositoryState => ({
  ...state,
  refs: new Map(refs),
  edge: new Map(edge)
})

/** Whether a part of the command is git, under any path. */
const namesGit = (command: string): boolean =>
  segmentsOf(command).some(({ words }) => words.some((word) => /^git(?:\.exe)?$/.test(basename(word))))

export class RepositoryWatch {
  readonly #folder: string
  #last: RepositoryState | undefined
  #isExplained = false
  #isAlwaysExplained = false

  readonly #record: RepositoryRecord | undefined
  readonly #edgeRefs: EdgeRefs | undefined

  /** `root`: real path of the workspace. `record`: keeps what can be put back. `edgeRefs`: what the Edge writes meanwhile, in the same thread. */
  constructor(root: string, record?: RepositoryRecord, edgeRefs?: EdgeRefs) {
    this.#folder = join(root, ".git")
    this.#record = record
    this.#edgeRefs = edgeRefs
  }

  #read(): RepositoryState {
    return repositoryState(this.#folder, this.#edgeRefs?.of(this.#folder), this.#last)
  }

  /** Records the state at the start. */
  start(): void {
    if (this.#last !== undefined) return
    if (lstatSync(this.#folder, { throwIfNoEntry: false })?.isDirectory() !== true) return
    this.#last = this.#read()
    this.#record?.keepIndex(this.#folder)
  }

  get state(): RepositoryWatchState {
    const last = this.#last
    return {
      last: last && storedState(last),
      isExplained: this.#isExplained,
      isAlwaysExplained: this.#isAlwaysExplained
    }
  }

  restore({ isAlwaysExplained, isExplained, last }: RepositoryWatchState): void {
    this.#last = last && stateOf(last)
    this.#isExplained = isExplained
    this.#isAlwaysExplained = isAlwaysExplained
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
    if (!isFinal) this.#last = now
    if (difference === undefined) return undefined
    const isExplained = this.#isExplained || this.#isAlwaysExplained
    if (!isFinal) this.#isExplained = false
    if (!isExplained) this.#record?.add(this.#folder, difference)
    else if (!isFinal && difference.index !== undefined) this.#record?.keepIndex(this.#folder)
    return isExplained ? undefined : repositoryChanged(difference)
  }

  /** The run is over. What can be put back stays. */
  close(): void {
    if (this.#record?.hasChanges === false) this.#record.remove()
  }
}
