/**
 * Copies of the protected folders in the probe, as a run of an Edge has them, with an edit that a user would have approved (ADR 67).
 *
 * A program may change its copies, so its own results do not say whether they held. The workspace does, and the report of the changes.
 */
import type { RunMode } from "@corral/domain/run/Run"
import { workspacePathsAt } from "../../approval/PathTarget.ts"
import { canWrite } from "../ConfinedRoot.ts"
import { ProtectedCopies } from "../ProtectedCopies.ts"
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { NOT_TRIED, SUCCEEDED } from "./Attempts.ts"
import type { EscapeResults } from "./EscapeTargets.ts"
import { APPROVED_EDIT, COPIED_FILES } from "./FileAttempts.ts"
import { folderContents } from "./FolderContents.ts"

/** Kind of the attempts on copies. */
const COPIES = "copies"
const IN_COPY = "discarded with the copy"
/** The attempt that only the report decides. */
const UNREPORTED = "a change that is not reported"

/** Lines with what is in the folders of the attempts. */
const contentsIn = (workspace: string): ReadonlyArray<string> =>
  [...new Set(Object.values(COPIED_FILES).map((file) => join(workspace, dirname(file))))].flatMap((folder) =>
    existsSync(folder) ? folderContents(workspace, folder) : []
  )

export class ProbedCopies {
  /** `undefined` in modes that change nothing: their runs have none. */
  readonly copies: ProtectedCopies | undefined
  readonly #workspace: string
  readonly #before: ReadonlyArray<string>

  constructor(workspace: string, mode: RunMode, now: () => number) {
    if (canWrite(mode)) this.copies = new ProtectedCopies(workspacePathsAt(workspace), now)
    this.#workspace = workspace
    this.#before = contentsIn(workspace)
  }

  /** Approves an edit whose content the program does not write. Called when the copies are there. */
  approve(): void {
    const { content, file } = APPROVED_EDIT
    const request = {
      action: "write",
      risk: "low",
      title: `Write ${file}`,
      files: [file],
      input: { content },
      editable: false,
      scopes: ["once"]
    } as const
    this.copies?.allow(request, { decision: "allow", scope: "once" })
  }

  /** Makes the approved edits that the program has made, as at the end of a run. */
  settle(): void {
    this.copies?.settle()
  }

  /** The results, decided by what arrived in the workspace and what is reported. */
  judge(results: EscapeResults): EscapeResults {
    const tried = results[COPIES] ?? {}
    const before = new Set(this.#before)
    const arrived = contentsIn(this.#workspace).filter((line) => !before.has(line))
    const discarded = new Set(this.copies?.discarded().map(({ path }) => path))
    const outcomes: Record<string, string> = {}
    let isReported = true
    for (const [name, file] of Object.entries(COPIED_FILES)) {
      const hasArrived = arrived.some((line) => line.startsWith(`/${file} `))
      const isChanged = tried[name] === SUCCEEDED
      outcomes[name] = isChanged && !hasArrived ? IN_COPY : (tried[name] ?? NOT_TRIED)
      if (isChanged && !hasArrived && !discarded.has(file)) isReported = false
    }
    return { ...results, [COPIES]: { ...outcomes, [UNREPORTED]: isReported ? "none" : SUCCEEDED } }
  }
}
