/**
 * Files of a run that its approvals name: files of a write, and words and redirections of a command. Each approval covers one change of a
 * file; one that is remembered covers all.
 *
 * Does not: know what a command writes besides the files that it names.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import type { RequestPaths, WorkspacePaths } from "../approval/PathTarget.ts"
import { inFolder, segmentsOf } from "../approval/ShellCommand.ts"

/** Files that are remembered. Beyond it, changes are reported although an approval names them. */
const MAX_FILES = 10_000

const namedByCommand = (command: string, cwd: string, look: RequestPaths): ReadonlyArray<string> =>
  segmentsOf(command).flatMap(({ cwd: inside, words, writes }) => {
    if (inside === undefined) return []
    const folder = inFolder(cwd, inside)
    return [...words, ...writes.map(({ file }) => file)].flatMap((word) => {
      const target = look.targetOf(word, folder)
      return target._tag === "Inside" ? [target.path] : []
    })
  })

export interface ApprovedFilesState {
  readonly once: ReadonlyArray<string>
  readonly always: ReadonlyArray<string>
}

export class ApprovedFiles {
  readonly #place: WorkspacePaths
  readonly #once = new Set<string>()
  readonly #always = new Set<string>()

  constructor(place: WorkspacePaths) {
    this.#place = place
  }

  get state(): ApprovedFilesState {
    return { once: [...this.#once], always: [...this.#always] }
  }

  restore({ always, once }: ApprovedFilesState): void {
    for (const path of once) this.#once.add(path)
    for (const path of always) this.#always.add(path)
  }

  /** Adds the files of an allowed request. */
  allow({ command, cwd = ".", files = [] }: ApprovalRequest, { decision, scope }: ApprovalAnswer): void {
    if (decision !== "allow" || this.#once.size + this.#always.size >= MAX_FILES) return
    const look = this.#place.look()
    const named = files.flatMap((file) => {
      const target = look.targetOf(file)
      return target._tag === "Inside" ? [target.path] : []
    })
    const ofCommand = command === undefined ? [] : namedByCommand(command, cwd, look)
    for (const path of [...named, ...ofCommand]) (scope === "once" ? this.#once : this.#always).add(path)
  }

  covers(path: string): boolean {
    return this.#once.has(path) || this.#always.has(path)
  }

  /** Files whose next change is covered once. */
  get once(): ReadonlySet<string> {
    return new Set(this.#once)
  }

  /** Their change was seen. */
  use(paths: Iterable<string>): void {
    for (const path of paths) this.#once.delete(path)
  }
}
